"""Opens a trace: the header, the end and where the rounds stand at once, the rounds themselves on demand."""

import os
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from engine.errors import TraceError
from engine.records import AnyRecord, End, Event, Header, Prefill, Round, Tokens
from engine.trace.blocks import Block, load
from engine.trace.contents import WIDE, Contents
from engine.trace.decoding import Unknown, decode, decode_as, decode_header, fields, glances
from engine.trace.framing import Cut, Framer, Torn
from engine.trace.index import read_index
from engine.trace.outline import Outlines
from engine.trace.pread import ReadAt

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

_BLOCKS_KEPT = 8
_AT_ONCE = 256
"""Rounds that are read in one go where all are wanted; many more of them leave the processor's cache."""

Decode = Callable[[bytes, int], AnyRecord | Unknown]
"""Makes a value of a record's bytes and of the offset at which they stand; may raise ``TraceError``."""


class RawRecord(NamedTuple):
    """One whole record as it stands in the file: its offset, its bytes, and its map with every key."""

    byte: int
    data: bytes
    fields: dict[Any, Any]


class _Naming:
    """Gives the errors of a block the name of the file that they are about."""

    def __init__(self, file: str) -> None:
        self._file = file

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if isinstance(error, TraceError):
            error.file = self._file


class Trace:
    """A trace file as a ``RoundSource``. Rounds are counted in the order of the file, whatever their ``index`` says.

    ``torn`` says where and why the file stops making sense, if it does: the records before it are all here. ``indexed``
    tells whether the offsets come from the file's own index; it is held against every part that is read, and dropped
    for a scan at the first contradiction. Reading a record may raise ``TraceError`` (with the byte).

    With ``follow`` the file may still grow: ``refresh`` takes in what is whole by then. With ``salvage`` a record that
    claims more than a reader grants ends the trace (``torn``), and an unreadable ``prefill`` or ``end`` counts as none,
    where either would be an error.
    """

    def __init__(self, path: Path, *, follow: bool = False, salvage: bool = False) -> None:
        self.path = path
        self.prefill: Prefill | None = None
        self.end: End | None = None
        self.torn: Torn | None = None
        self.indexed = False
        self._follow = follow
        self._salvage = salvage
        self._naming = _Naming(os.fspath(path))
        self._file = ReadAt(path)
        self._framer = Framer()
        self._contents = Contents()
        self._stop = 0
        self._blocks: OrderedDict[int, Block] = OrderedDict()
        self._counts: npt.NDArray[np.uint32] | None = None
        self._pieces: dict[int, bytes] = {}
        self._pieces_read = 0
        self._events: list[Event] = []
        self.header: Header = self._read_header()
        if not self._open_by_index():
            self._scan()

    @property
    def live(self) -> bool:
        """Whether more may come."""
        return self._follow and self.end is None and self.torn is None

    @property
    def end_missing(self) -> bool:
        """Whether there is no ``end``: the writer died, or is still at it."""
        return self.end is None

    @property
    def size(self) -> int:
        """Bytes in whole records, the index and its trailer included."""
        return self._framer.byte

    @property
    def counts(self) -> "npt.NDArray[np.uint32]":
        """Tokens emitted by each round, shape (rounds,), read-only. Computed anew only when the trace has grown."""
        if self._counts is None or len(self._counts) != len(self):
            import numpy as np  # noqa: PLC0415 (a trace is opened and read without it)

            counts = np.frombuffer(bytes(self._contents.counts), np.uint8).astype(np.uint32)
            for wide in np.flatnonzero(counts == WIDE):
                counts[wide] = self.round(int(wide)).count
            counts.flags.writeable = False
            self._counts = counts
        return self._counts

    def most(self, start: int, stop: int) -> int:
        """The most tokens that one of rounds ``start`` to ``stop`` emitted."""
        noted = max(self._contents.counts[start:stop])
        return noted if noted < WIDE else int(self.counts[start:stop].max())

    def __len__(self) -> int:
        return len(self._contents.counts)

    def round(self, index: int) -> Round:
        """The round at ``index``, 0 .. len - 1; ``IndexError`` outside of it."""
        if not 0 <= index < len(self):
            raise IndexError(f"round {index} of {len(self)}")
        with self._naming:
            block = self._block(index // self._contents.every)
            row = block.rounds[index % self._contents.every]
            return decode_as(Round, row.data, row.byte)

    def rounds(self, keys: Iterable[str], start: int, stop: int) -> list[Round]:
        """Rounds ``start`` to ``stop`` with nothing but ``keys`` and what follows of them; see ``Outlines``."""
        if not 0 <= start < stop <= len(self):
            raise IndexError(f"rounds {start} to {stop} of {len(self)}")
        with self._naming:
            found = Outlines(keys).read(self._file, self._contents, start, stop, self._stop)
        if found is None:
            self._contradicted()
            if stop > len(self):
                raise TraceError(f"{self.path}: the index claims rounds that are not there, {len(self)} are")
            return self.rounds(keys, start, stop)
        return found

    def each(self, keys: Iterable[str]) -> Iterator[Round]:
        """All rounds, with nothing but ``keys`` as by ``rounds``; one that cannot be read is an error in its turn."""
        wanted = frozenset(keys)
        start = 0
        while start < len(self):
            stop = min(start + _AT_ONCE, len(self))
            try:
                yield from self.rounds(wanted, start, stop)
            except TraceError:
                yield from map(self.round, range(start, min(stop, len(self))))
            start = stop

    def events(self) -> tuple[Event, ...]:
        """All events, in the order of the file."""
        if self._contents.events_at is None:
            self._scan()
        while (offsets := self._contents.events_at) is not None and len(self._events) < len(offsets):
            record = self._record_at(offsets[len(self._events)])
            if isinstance(record, Event):
                self._events.append(record)
            else:
                self._contradicted()
        return tuple(self._events)

    def piece(self, token: int) -> bytes | None:
        """The bytes that ``token`` stands for, where the trace says so."""
        while token not in self._pieces and self._pieces_read < len(self._contents.tokens_at):
            record = self._record_at(self._contents.tokens_at[self._pieces_read])
            if isinstance(record, Tokens):
                self._pieces_read += 1
                self._pieces.update(record.pieces)
            else:
                self._contradicted()
        return self._pieces.get(token)

    def records(self, decode: Decode = decode) -> Iterator[AnyRecord | Unknown]:
        """Every record in the order of the file, up to ``torn`` (which is exact once the iterator has ended)."""
        with self._naming:
            for byte, data, ends in self._cuts():
                start = 0
                for end in ends:
                    yield decode(data[start:end], byte + start)
                    start = end

    def raw_records(self) -> Iterator[RawRecord]:
        """The same as they stand in the file, with the keys and types that this version does not know."""
        with self._naming:
            for cut in self._cuts():
                for byte, data in cut.spans():
                    yield RawRecord(byte, data, fields(data, byte))

    def types(self) -> Iterator[str]:
        """The type of every record in the order of the file, with no more of it read than that takes."""
        with self._naming:
            for cut in self._cuts():
                for glance, start, stop in zip(glances(cut), cut.starts, cut.ends, strict=True):
                    yield glance.type or str(fields(cut.data[start:stop], cut.byte + start).get("type"))

    def refresh(self) -> int:
        """Take in what was appended since; the number of new rounds. A torn tail waits until it is whole."""
        before = len(self)
        if self._file.size < self.size:
            raise TraceError(f"{self.path}: the file was cut or replaced while it was open", self.size)
        self._advance()
        return len(self) - before

    def close(self) -> None:
        """Close the file; rounds can no longer be read. Happens by itself with the object's end."""
        self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def _read_header(self) -> Header:
        framer = Framer()
        for cut in self._file.cuts(framer, self._file.size):
            try:
                return decode_header(cut.data[: cut.ends[0]])
            except TraceError as error:
                raise TraceError(f"{self.path}: {error}", error.byte) from error
        torn = framer.torn()
        if torn is None:
            raise TraceError(f"{self.path}: the trace is empty", 0)
        raise TraceError(f"{self.path}: not a trace, or one that ends before its header is whole: {torn}", torn.byte)

    def _open_by_index(self) -> bool:
        found = read_index(self._file)
        if found is None:
            return False
        self._contents, self.prefill, self.end = found.contents, found.prefill, found.end
        self._stop, self._framer, self.indexed = found.stop, found.framer, True
        return True

    def _scan(self) -> None:
        self._contents, self._framer, self.indexed = Contents(), Framer(), False
        self.prefill = self.end = None
        self._counts = None
        self._pieces_read = 0
        for derived in (self._blocks, self._pieces, self._events):
            derived.clear()
        self._advance()

    def _advance(self) -> None:
        self._blocks.pop(len(self) // self._contents.every, None)
        for cut in self._file.cuts(self._framer, self._file.size):
            self._take(cut)
            self._stop = self._framer.byte
        self.torn = self._framer.damage if self._follow else self._framer.torn()
        if self.torn is not None and self.torn.over_limit and not self._salvage:
            raise TraceError(f"{self.path}: {self.torn}", self.torn.byte)

    def _take(self, cut: Cut) -> None:
        found, starts = glances(cut), cut.starts
        places = [cut.byte + start for start, glance in zip(starts, found, strict=True) if glance.type == "round"]
        self._contents.note_rounds(places, [glance.count for glance in found if glance.type == "round"])
        if len(places) == len(found):
            return
        for glance, start, stop in zip(found, starts, cut.ends, strict=True):
            self._contents.note_other(glance.type, cut.byte + start)
            if glance.type in ("prefill", "end"):
                self._set(cut.data[start:stop], cut.byte + start)

    def _set(self, data: bytes, byte: int) -> None:
        try:
            with self._naming:
                record = decode(data, byte)
        except TraceError:
            if self._salvage:
                return
            raise
        match record:
            case Prefill() if self.prefill is None:
                self.prefill = record
            case End():
                self.end = record

    def _block(self, which: int) -> Block:
        block = self._blocks.get(which)
        if block is None:
            block = load(self._file, self._contents, which, self._stop)
            if block is None:
                self._contradicted()
                return self._block(which)
            self._blocks[which] = block
            if len(self._blocks) > _BLOCKS_KEPT:
                self._blocks.popitem(last=False)
        return block

    def _record_at(self, byte: int) -> AnyRecord | Unknown | None:
        with self._naming:
            data = self._file.first_record(byte, self._stop)
            return None if data is None else decode(data, byte)

    def _contradicted(self) -> None:
        """The offsets do not fit the file: scan if they were the index's, give up if they were our own."""
        if not self.indexed:
            raise TraceError(f"{self.path}: the file was changed while it was open")
        self._scan()

    def _cuts(self) -> Iterator[Cut]:
        framer = Framer()
        yield from self._file.cuts(framer, self._stop if self._follow else self._file.size)
        if self.indexed and framer.torn() is not None:
            self._scan()


def open_trace(path: Path | str, *, follow: bool = False, salvage: bool = False) -> Trace:
    """Open the trace at ``path``; see ``Trace``.

    Raises ``TraceError`` for a file that cannot be read or is no trace, for a version that is not known, and for a
    record over 64 MiB or nested deeper than 16.
    """
    return Trace(Path(os.fspath(path)), follow=follow, salvage=salvage)
