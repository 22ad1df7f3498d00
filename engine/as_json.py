"""Any value of a trace as JSON text, whatever a program of somebody else's put into it."""

from typing import Any

import msgpack
import msgspec


def as_json(value: Any) -> str:
    """On one line, with null for a number that JSON does not have (NaN, infinity) and base64 for bytes.

    Bytes of a text that were no UTF-8 are written as escapes, a MessagePack extension as its code and its bytes, a key
    that is neither text nor a number as the text that it would be as a value.
    """
    try:
        return msgspec.json.encode(value, enc_hook=_foreign).decode()
    except UnicodeEncodeError:
        return msgspec.json.encode(_mended(value), enc_hook=_foreign).decode()


def _foreign(value: Any) -> Any:
    match value:
        case msgspec.msgpack.Ext():
            return value.code, value.data
        case msgpack.Timestamp():
            try:
                return value.to_datetime()
            except (OverflowError, ValueError):
                return -1, value.to_bytes()
        case None | bool() | tuple():
            # No values, which JSON has, but keys.
            return as_json(value)
        case _:
            raise NotImplementedError(type(value).__name__)


def _mended(value: Any) -> Any:
    match value:
        case str():
            return value.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
        case list() | tuple():
            return [_mended(each) for each in value]
        case dict():
            return {_mended(key) if isinstance(key, str) else key: _mended(each) for key, each in value.items()}
        case msgspec.Struct():
            return _mended(msgspec.to_builtins(value, builtin_types=(bytes,), enc_hook=_foreign))
        case _:
            return value
