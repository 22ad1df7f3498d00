"""Writes a trace, one whole record at a time, within the chosen level of privacy."""

import zlib
from collections.abc import Callable, Iterable
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Literal, Self

import msgspec

from engine.errors import TraceError
from engine.records import Check, End, Event, Header, Index, Prefill, Record, Round, Tokens
from engine.trace.contents import Contents
from engine.trace.decoding import Unknown
from engine.trace.framing import TRAILER_HEAD
from engine.trace.progress import Progress
from engine.trace.sink import Sink

CHECK_EVERY = 256
"""Rounds between two ``check`` records."""

Text = Literal["full", "ids", "none"]
Lookup = Callable[[int], bytes | None]


class TraceWriter:
    """Writes records in the order given and adds ``tokens``, ``check`` and ``index`` records of its own.

    ``text`` "ids" leaves out ``tokens`` records, "none" the prompt too. Each record is with the operating system when
    ``write`` returns, so a killed process loses none. With ``index`` the ``end`` record completes the file: the index
    and its trailer follow, and nothing can be written after it. Give False for a stream that somebody watches.

    A full disk or a closed pipe is a ``TraceError`` for this and every further record; what was written before it
    stands, and the run need not care.
    """

    def __init__(
        self, target: Path | str | BinaryIO, *, text: Text = "full", index: bool = True, checks: bool = True
    ) -> None:
        self._sink = Sink(target)
        self._text = text
        self._index = index
        self._checks = checks
        self._encode = msgspec.msgpack.Encoder().encode
        self._contents = Contents()
        self._progress = Progress()
        self._lookup: Lookup | None = None
        self._known: set[int] = set()
        self._wanted: set[int] = set()
        self._crc = 0
        self._checked = 0
        self._begun = False
        self._ended = False
        self._failure: TraceError | None = None

    @property
    def size(self) -> int:
        """Bytes written so far, all of them in whole records."""
        return self._sink.size

    def pieces(self, lookup: Lookup) -> None:
        """Look up a token's bytes (``None`` if it has none); each is written once, before the token's first use."""
        self._lookup = lookup

    def write(self, record: Record | Unknown) -> None:
        """Write one record; the first must be the header. ``check`` and ``index`` are skipped: it makes its own."""
        if self._failure is not None:
            raise self._failure
        self._refuse_out_of_order(record)
        try:
            self._write(record)
        except TraceError as error:
            self._failure = error
            raise

    def close(self) -> None:
        """Close the file. A trace without its ``end`` stays without: its writer stopped early."""
        self._sink.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def _refuse_out_of_order(self, record: Record | Unknown) -> None:
        if self._ended and self._index:
            raise TraceError(f"{self._sink.name}: the trace has its end; nothing can follow it", self.size)
        if not self._begun and not isinstance(record, Header):
            raise TraceError(f"{self._sink.name}: a trace begins with its header", self.size)

    def _write(self, record: Record | Unknown) -> None:
        match record:
            case Round():
                self._write_pieces(_round_ids(record))
                self._contents.note_rounds([self._put(record)], [record.count])
                self._progress.note(record)
                if self._progress.rounds % CHECK_EVERY == 0:
                    self._check()
            case Header():
                self._begun = True
                prompt = None if self._text == "none" else record.prompt
                self._put(msgspec.structs.replace(record, prompt=prompt))
                self._write_pieces(prompt or ())
            case Prefill():
                self._write_pieces(_prefill_ids(record))
                self._put(record)
            case Tokens():
                self._write_tokens(dict(record.pieces))
            case Event():
                self._contents.note_other("event", self._put(record))
            case End():
                self._check()
                self._put(record)
                self._finish()
            case Check() | Index():
                pass
            case Unknown():
                self._put(record.fields)

    def _put(self, record: object) -> int:
        at = self._sink.size
        data = self._encode(record)
        self._sink.write(data)
        self._crc = zlib.crc32(data, self._crc)
        return at

    def _write_pieces(self, ids: Iterable[int]) -> None:
        if self._text != "full":
            return
        new = set(ids) - self._known
        if not new and not self._wanted:
            return
        self._wanted |= new
        if self._lookup is not None:
            found = ((token, self._lookup(token)) for token in sorted(self._wanted))
            self._known |= self._wanted
            self._wanted = set()
            self._write_tokens({token: piece for token, piece in found if piece is not None})

    def _write_tokens(self, pieces: dict[int, bytes]) -> None:
        if pieces and self._text == "full":
            self._known |= pieces.keys()
            self._contents.note_other("tokens", self._put(Tokens(pieces=pieces)))

    def _check(self) -> None:
        if self.size == self._checked or not self._checks:
            return
        so_far = self._progress
        record = Check(
            round=so_far.rounds,
            bytes=self.size - self._checked,
            crc32=self._crc,
            tokens=so_far.emitted,
            pos=so_far.pos,
            window=so_far.window,
            off=so_far.off,
            fell_back_at=so_far.fell_back_at,
        )
        self._put(record)
        self._checked, self._crc = self.size, 0

    def _finish(self) -> None:
        self._ended = True
        if self._index:
            at = self._put(self._contents.index())
            self._sink.write(TRAILER_HEAD + at.to_bytes(8, "big"))


def _prefill_ids(prefill: Prefill) -> set[int]:
    ids = {token for token, _ in prefill.top or ()}
    return ids if prefill.next is None else ids | {prefill.next}


def _round_ids(round_: Round) -> set[int]:
    ids = {*(round_.drafts or ()), *(round_.targets or ()), *(round_.emitted or ())}
    ids.update(token for token in (round_.t1, round_.next) if token is not None)
    for rows in (round_.top, round_.draft_top):
        if rows is not None:
            ids.update(token for row in rows for token, _ in row)
    return ids
