"""What one whole record is: its type at a glance, the typed value, and the map with every key."""

from typing import Any, TypeVar

import msgpack
import msgspec

from engine.errors import TraceError
from engine.records import FORMAT, VERSION, AnyRecord, Check, End, Event, Header, Index, Prefill, Record, Round, Tokens
from engine.trace.framing import MAX_DEPTH, Cut


class Unknown(msgspec.Struct, frozen=True, kw_only=True):
    """A record of a type that this version does not know; ``fields`` is the whole map, ``type`` included."""

    type: str
    fields: dict[Any, Any]


class Glance(msgspec.Struct, gc=False):
    """The few keys that say what a record is and how many tokens it emitted; the rest is skipped, not built."""

    type: str = ""
    index: int | None = None
    take: int | None = None
    emitted: list[int] | None = None
    n_emitted: int | None = None

    @property
    def count(self) -> int:
        """Tokens emitted, by the same rule as ``Round.count``."""
        if self.emitted is not None:
            return len(self.emitted)
        return (self.take or 0) + 1 if self.n_emitted is None else self.n_emitted


R = TypeVar("R", bound=Record)


class _Claim(msgspec.Struct):
    type: Any = None
    format: Any = None
    version: Any = None


_TYPES = (Header, Tokens, Prefill, Round, Event, Check, End, Index)
_KNOWN = {cls.__struct_config__.tag for cls in _TYPES}
_ANY = msgspec.msgpack.Decoder(AnyRecord)
_GLANCE = msgspec.msgpack.Decoder(Glance)
_GLANCES = msgspec.msgpack.Decoder(list[Glance])
_CLAIM = msgspec.msgpack.Decoder(_Claim)
_CONTAINERS = (dict, list, tuple)


def glances(cut: Cut) -> list[Glance]:
    """One for each record of ``cut``. A record that cannot be read even so far has the type that it claims, no more."""
    try:
        return _GLANCES.decode(b"\xdd" + len(cut.ends).to_bytes(4, "big") + cut.data)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError):
        return [glance_at(data) for _, data in cut.spans()]


def glance_at(data: bytes) -> Glance:
    """One whole record at a glance; see ``glances``."""
    try:
        return _GLANCE.decode(data)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError):
        return Glance(type=_claimed_type(data), n_emitted=0)


def decode(data: bytes, byte: int) -> AnyRecord | Unknown:
    """The typed value of one whole record that stands at ``byte``. Raises ``TraceError``."""
    try:
        record: AnyRecord = _ANY.decode(data)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError) as error:
        type_ = _claimed_type(data)
        if type_ not in _KNOWN:
            return Unknown(type=type_, fields=fields(data, byte))
        raise TraceError(f"the {type_} record at byte {byte} cannot be read: {error}", byte) from error
    match record:
        case Round():
            if record.state is not None:
                check_depth(record.state, byte)
        case Tokens() | Index():
            pass
        case _:
            fields(data, byte)
    return record


def decode_as(cls: type[R], data: bytes, byte: int) -> R:
    """The record at ``byte``, which must be of this type (a map can name its type twice). Raises ``TraceError``."""
    record = decode(data, byte)
    if not isinstance(record, cls):
        raise TraceError(f"the record at byte {byte} is not a {cls.__struct_config__.tag} record", byte)
    return record


def decode_header(data: bytes, byte: int = 0) -> Header:
    """The header of a trace. Raises ``TraceError`` for anything else, and for a version that is not known here."""
    claim = _claim(data)
    if claim.type == "hello":
        what = f"what an engine sent to a debugger is no trace (hello at byte {byte}): specstep watch follows it"
        raise TraceError(what, byte)
    if claim.type == "header" and claim.format != FORMAT:
        what = f"not a {FORMAT} trace: the header at byte {byte} has no key format that says {FORMAT!r}"
        raise TraceError(what, byte)
    if claim.type != "header":
        raise TraceError(f"not a {FORMAT} trace: no header at byte {byte}", byte)
    if isinstance(claim.version, int) and claim.version > VERSION:
        what = f"the trace is of version {claim.version} (header at byte {byte}), this program reads up to {VERSION}"
        raise TraceError(f"{what}: use a newer one", byte)
    return decode_as(Header, data, byte)


def fields(data: bytes, byte: int) -> dict[Any, Any]:
    """The record at ``byte`` as a map with every key, known or not. Raises ``TraceError``."""
    try:
        value = msgpack.unpackb(data, strict_map_key=False, unicode_errors="surrogateescape")
    except (ValueError, TypeError, RecursionError) as error:
        raise TraceError(f"the record at byte {byte} cannot be read: {error}", byte) from error
    if not isinstance(value, dict):
        raise TraceError(f"what stands at byte {byte} is not a record (not a map)", byte)
    check_depth(value, byte, MAX_DEPTH)
    return value


def check_depth(value: dict[Any, Any] | list[Any] | tuple[Any, ...], byte: int, left: int = MAX_DEPTH - 1) -> None:
    """Raises ``TraceError`` for a value in the record at ``byte`` that is more than ``left`` containers deep."""
    if left == 0:
        raise TraceError(f"the record at byte {byte} is nested deeper than {MAX_DEPTH}", byte)
    for item in value.values() if isinstance(value, dict) else value:
        if isinstance(item, _CONTAINERS):
            check_depth(item, byte, left - 1)


def _claimed_type(data: bytes) -> str:
    type_ = _claim(data).type
    return type_ if isinstance(type_, str) else ""


def _claim(data: bytes) -> _Claim:
    try:
        return _CLAIM.decode(data)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError):
        return _Claim()
