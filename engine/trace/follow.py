"""Watches a trace that is still being written, in a file or a pipe: each whole record soon, a torn one never."""

import os
import select
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO, NamedTuple

from engine.errors import TraceError
from engine.records import AnyRecord, End
from engine.trace.decoding import Unknown, decode, decode_header, glance_at
from engine.trace.framing import Framer, Torn
from engine.trace.pread import CHUNK, ReadAt

POLL = 0.1
"""Seconds between two looks at a file."""


class Quiet(NamedTuple):
    """Nothing has come for ``seconds``; said once for each silence. ``pending`` bytes of a record have arrived."""

    seconds: float
    pending: int


class Closed(NamedTuple):
    """The pipe was closed without an ``end``; ``torn`` is the record that its writer did not finish, if any."""

    torn: Torn | None


Seen = AnyRecord | Unknown | Quiet | Closed


class RecordStream:
    """Turns bytes in pieces of any size into records. Pure.

    Before its header, the stream of an engine that runs as a process of its own (``recordings/PROTOCOL.md``) says
    hello, and may go on with records of other types.
    """

    def __init__(self) -> None:
        self.framer = Framer()
        self.ended = False
        self.greeted = False
        self._begun = False

    def feed(self, data: bytes) -> Iterator[AnyRecord | Unknown]:
        """The records that are whole by now. Damage is a ``TraceError``, raised behind the records before it."""
        for cut in self.framer.feed(data):
            for byte, record in cut.spans():
                yield self._decode(record, byte)
        if self.framer.damage is not None:
            raise TraceError(f"the trace breaks off: {self.framer.damage}", self.framer.damage.byte)

    def _decode(self, data: bytes, byte: int) -> AnyRecord | Unknown:
        if not self._begun:
            type_ = glance_at(data).type
            self.greeted = self.greeted or (byte == 0 and type_ == "hello")
            if not self.greeted or type_ == "header":
                self._begun = True
                return decode_header(data, byte)
        record = decode(data, byte)
        self.ended = self.ended or isinstance(record, End)
        return record


def follow(
    source: Path | str | BinaryIO,
    *,
    quiet_after: float = 2.0,
    poll: float = POLL,
    clock: Callable[[], float] = time.monotonic,
    wait: Callable[[float], None] = time.sleep,
) -> Iterator[Seen]:
    """Yield records as they come. A file is followed up to its ``end``, a pipe until it is closed.

    A file's writer may have died or may only be slow: after ``quiet_after`` seconds without a byte a ``Quiet`` says so,
    once, and the caller decides whether to go on. ``poll`` is in seconds too. A pipe must not have been read from
    before. Raises ``TraceError``.
    """
    if isinstance(source, Path | str):
        return _silences(_file_bytes(Path(source), poll, wait), quiet_after, clock, to_end=True)
    return _silences(_pipe_bytes(source, poll), quiet_after, clock, to_end=False)


def _silences(
    arriving: Iterator[bytes], quiet_after: float, clock: Callable[[], float], *, to_end: bool
) -> Iterator[Seen]:
    """Records out of ``arriving``, where ``b""`` means that nothing came for one look."""
    stream = RecordStream()
    last, said = clock(), False
    for data in arriving:
        if data:
            last, said = clock(), False
            for record in stream.feed(data):
                yield record
                if to_end and isinstance(record, End):
                    return
        elif not said and (silent := clock() - last) >= quiet_after:
            said = True
            yield Quiet(silent, stream.framer.pending)
    torn = stream.framer.torn()
    if torn is not None or not stream.ended:
        yield Closed(torn)


def _file_bytes(path: Path, poll: float, wait: Callable[[float], None]) -> Iterator[bytes]:
    file, at = ReadAt(path), 0
    try:
        while True:
            size = file.size
            if size < at:
                raise TraceError(f"{path}: the file was cut or replaced while it was followed", at)
            data = file.read(at, min(size, at + CHUNK))
            at += len(data)
            if not data:
                wait(poll)
            yield data
    finally:
        file.close()


def _pipe_bytes(pipe: BinaryIO, poll: float) -> Iterator[bytes]:
    try:
        number = pipe.fileno()
    except OSError:
        yield from iter(lambda: pipe.read(CHUNK), b"")
        return
    while True:
        ready, _, _ = select.select([number], [], [], poll)
        data = os.read(number, CHUNK) if ready else b""
        if ready and not data:
            return
        yield data
