"""Reads only some keys of many rounds: what is skipped costs next to nothing."""

from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import pairwise
from typing import Any, cast, get_type_hints

import msgspec

from engine.records import Round
from engine.trace.contents import Contents
from engine.trace.decoding import decode_as, glance_at
from engine.trace.framing import Cut, Framer
from engine.trace.pread import ReadAt

_AT_ONCE = 16 * 1024 * 1024
"""Bytes that are read in one go."""
_OTHERS = 3
"""Records that are no rounds, among those between two noted offsets."""
_DERIVED = {name: vars(Round)[name] for name in ("drafted", "in_batch", "count")}


class Outlines:
    """Reads rounds with nothing but ``keys``, and those of ``drafted``, ``in_batch`` and ``count`` that follow of them.

    What it gives has the attributes of a ``Round`` as far as they were asked for.
    """

    def __init__(self, keys: Iterable[str]) -> None:
        self._decoder = _decoder(frozenset(keys))

    def read(self, file: ReadAt, contents: Contents, start: int, stop: int, end: int) -> list[Round] | None:
        """Rounds ``start`` to ``stop``, all before byte ``end``; ``None`` where ``contents`` does not fit the file.

        Raises:
            TraceError: a record cannot be read.
        """
        every, offsets = contents.every, contents.offsets
        first, last = start // every, -(-stop // every)
        until = offsets[last] if last < len(offsets) else end
        promised = min(last * every, len(contents.counts)) - first * every
        found = self._between(file, [*offsets[first:last], until], every, promised)
        if found is None:
            found = []
            framer = Framer(offsets[first])
            for cut in file.cuts(framer, until):
                found += self._rounds(cut)
            if framer.torn() is not None or len(found) != promised:
                return None
        return found[start - first * every : stop - first * every]

    def _between(self, file: ReadAt, bounds: list[int], every: int, promised: int) -> list[Round] | None:
        """All rounds between noted offsets, without a look for where each record ends, which costs more than the rest.

        ``None`` where that does not come out even: what stands there must be cut into records.
        """
        size = bounds[-1] - bounds[0]
        data = file.read(bounds[0], bounds[-1]) if size <= _AT_ONCE else b""
        if len(data) != size:
            return None
        found: list[Round] = []
        for start, stop in pairwise(bounds):
            rows = self._even(data[start - bounds[0] : stop - bounds[0]], min(every, promised - len(found)))
            if rows is None:
                return None
            found += rows
        return found

    def _even(self, data: bytes, rounds: int) -> list[Round] | None:
        """The rounds, if ``data`` is so many and a few other records, and nothing behind them."""
        for others in range(_OTHERS + 1):
            try:
                rows = self._decoder.decode(b"\xdd" + (rounds + others).to_bytes(4, "big") + data)
            except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError):
                continue
            found = [cast(Round, row) for row in rows if row.type == "round"]
            return found if len(found) == rounds else None
        return None

    def _rounds(self, cut: Cut) -> Iterator[Round]:
        try:
            rows = self._decoder.decode(b"\xdd" + len(cut.ends).to_bytes(4, "big") + cut.data)
        except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError):
            for byte, data in cut.spans():
                if glance_at(data).type == "round":
                    yield decode_as(Round, data, byte)
            return
        yield from (cast(Round, row) for row in rows if row.type == "round")


@lru_cache(maxsize=64)
def _decoder(keys: frozenset[str]) -> "msgspec.msgpack.Decoder[list[Any]]":
    hints = get_type_hints(Round, include_extras=True)
    fields: list[Any] = [("type", str, "")]
    for field in msgspec.structs.fields(Round):
        if field.name in keys:
            absent = field.default is msgspec.NODEFAULT
            default = msgspec.field(default_factory=field.default_factory) if absent else field.default
            required = absent and field.default_factory is msgspec.NODEFAULT
            optional = (field.name, hints[field.name] | None, None)
            fields.append(optional if required else (field.name, hints[field.name], default))
    outline = msgspec.defstruct("Outline", fields, namespace=dict(_DERIVED), gc=False, kw_only=True)
    return msgspec.msgpack.Decoder(list[outline])  # type: ignore[valid-type]
