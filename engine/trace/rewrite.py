"""Makes a new trace out of a finished or a torn one: redacted, recovered, or with a new index.

Records are copied as they stand, so that keys and types unknown to this version survive.
"""

import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, BinaryIO, Literal, NamedTuple

import msgpack
import msgspec

from engine.beside import beside, is_replaced
from engine.errors import NotWritten, TraceError
from engine.records import Check, End, Event, Record, Round
from engine.trace.contents import Contents
from engine.trace.decoding import decode, decode_as, glance_at
from engine.trace.framing import TRAILER_HEAD
from engine.trace.progress import Progress
from engine.trace.reader import RawRecord, Trace, open_trace
from engine.trace.sink import Sink


class Rewritten(NamedTuple):
    """The new trace: its rounds and bytes, and what of the old one is not in it, if anything was lost."""

    rounds: int
    size: int
    lost: str | None


class _Item(NamedTuple):
    type: str
    data: bytes


def redact(source: Path, target: Path | BinaryIO, text: Literal["ids", "none"]) -> Rewritten:
    """Leave out what tokens stand for, and with "none" the prompt too; the token ids of the rounds stay in both.

    ``target`` may be ``source``, or a link to it: the file is replaced, and only once the new trace is whole. A device
    and a stream are written to. Raises ``TraceError``.
    """
    with open_trace(source) as trace:
        return _write(target, (item for raw in _whole(trace) for item in _redacted(raw, text)))


def recover(source: Path, target: Path | BinaryIO) -> Rewritten:
    """Complete a torn trace: its whole records, an event that says what is lost, an "aborted" ``end`` if it had none.

    A whole trace only gets a new index. ``target`` as in ``redact``. Raises ``TraceError``.
    """
    with open_trace(source, salvage=True) as trace:
        recovery = _Recovery(trace)
        return _write(target, recovery)._replace(lost=recovery.lost)


def reindex(source: Path, target: Path | BinaryIO) -> Rewritten:
    """Copy a whole trace and index it anew. ``target`` as in ``redact``. Raises ``TraceError``."""
    with open_trace(source) as trace:
        return _write(target, map(_as_it_is, _whole(trace)))


def _whole(trace: Trace) -> Iterator[RawRecord]:
    """All records; damage, which an index may have hidden until now, is an error."""
    yield from trace.raw_records()
    if trace.torn is not None:
        raise TraceError(f"{trace.path}: {trace.torn}; recover the trace first", trace.torn.byte)


def _as_it_is(raw: RawRecord) -> _Item:
    return _Item(glance_at(raw.data).type, raw.data)


def _encoded(record: Record) -> _Item:
    return _Item(str(record.__struct_config__.tag), msgspec.msgpack.encode(record))


def _repacked(fields: dict[Any, Any]) -> bytes:
    packed: bytes = msgpack.packb(fields, unicode_errors="surrogateescape")
    return packed


def _redacted(raw: RawRecord, text: Literal["ids", "none"]) -> Iterator[_Item]:
    item = _as_it_is(raw)
    if item.type == "header" and text == "none":
        yield item._replace(data=_repacked({key: value for key, value in raw.fields.items() if key != "prompt"}))
    elif item.type != "tokens":
        yield item


class _Recovery:
    """The records of ``trace`` up to where it breaks, and what completes it. ``lost`` is known at the end."""

    def __init__(self, trace: Trace) -> None:
        self.lost = None if trace.torn is None else str(trace.torn)
        self._trace = trace
        self._progress = Progress()

    def __iter__(self) -> Iterator[_Item]:
        ended = False
        try:
            for raw in self._trace.raw_records():
                item = _as_it_is(raw)
                self._note(raw, item.type)
                if item.type == "end" and self.lost is not None and not ended:
                    yield _encoded(self._event())
                ended = ended or item.type == "end"
                yield item
        except TraceError as error:
            self.lost = str(error)
        if self.lost is None and self._trace.torn is not None:
            self.lost = str(self._trace.torn)
        if not ended:
            so_far = self._progress
            yield _encoded(self._event())
            yield _encoded(Check(round=so_far.rounds, bytes=0, crc32=0, tokens=so_far.emitted, pos=so_far.pos))
            yield _encoded(
                End(reason="aborted", rounds=so_far.rounds, emitted=so_far.emitted, fell_back_at=so_far.fell_back_at)
            )

    def _note(self, raw: RawRecord, type_: str) -> None:
        """Take in a record; one that no reader could read is the place where the trace breaks."""
        if type_ == "round":
            self._progress.note(decode_as(Round, raw.data, raw.byte))
        else:
            decode(raw.data, raw.byte)

    def _event(self) -> Event:
        rounds = self._progress.rounds
        why = "the trace has no end: its writer stopped" if self.lost is None else self.lost
        message = f"recovered: {why}; {rounds} rounds before it were kept"
        return Event(round=rounds - 1 if rounds else None, level="warning", code="recovered", message=message)


class _Copy:
    """A trace in the making: it gives each ``check`` its new sum and ends with a new index."""

    def __init__(self, target: Path | BinaryIO) -> None:
        self.sink = Sink(target)
        self.contents = Contents()
        self._checked = 0
        self._crc = 0

    def put(self, item: _Item) -> None:
        """Copy one record; an old index is left out."""
        match item.type:
            case "index":
                return
            case "check":
                self._put_check(item.data)
                return
            case "round":
                self.contents.note_rounds([self.sink.size], [glance_at(item.data).count])
            case _:
                self.contents.note_other(item.type, self.sink.size)
        self._put(item.data)

    def finish(self) -> None:
        """Write the index and its trailer."""
        at = self.sink.size
        self.sink.write(msgspec.msgpack.encode(self.contents.index()))
        self.sink.write(TRAILER_HEAD + at.to_bytes(8, "big"))

    def _put(self, data: bytes) -> None:
        self.sink.write(data)
        self._crc = zlib.crc32(data, self._crc)

    def _put_check(self, data: bytes) -> None:
        fields = msgpack.unpackb(data, strict_map_key=False, unicode_errors="surrogateescape")
        self._put(_repacked(fields | {"bytes": self.sink.size - self._checked, "crc32": self._crc}))
        self._checked, self._crc = self.sink.size, 0


def _write(target: Path | BinaryIO, items: Iterable[_Item]) -> Rewritten:
    if not isinstance(target, Path):
        return _copied(target, items, "stdout")
    if not is_replaced(target):
        return _copied(target, items, str(target))
    try:
        with beside(target) as new:
            return _copied(new, items, str(target))
    except OSError as error:
        raise NotWritten(f"{target}: {(error.strerror or str(error)).lower()}; it is as it was") from error


def _copied(to: Path | BinaryIO, items: Iterable[_Item], name: str) -> Rewritten:
    copy = _Copy(to)
    copy.sink.name = name
    try:
        for item in items:
            copy.put(item)
        copy.finish()
    finally:
        copy.sink.close()
    return Rewritten(len(copy.contents.counts), copy.sink.size, None)
