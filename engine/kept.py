"""Rounds and bytes kept on disk while they can still be asked for, so that a long run does not fill the memory."""

import os
import tempfile
import weakref
from array import array
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any, overload

import msgspec

from engine.records import Round

IN_MEMORY = 1 << 18
"""Bytes that are collected before they are written to the disk."""


class Tape:
    """Bytes that are appended and read back: a few in memory, many in a nameless temporary file.

    What the disk does not take stays in memory: a full disk costs memory and nothing else.
    """

    def __init__(self, in_memory: int = IN_MEMORY) -> None:
        self._file: Any = None
        self._on_disk = 0
        self._in_memory = in_memory
        self._full = False
        self._rest = bytearray()

    def __len__(self) -> int:
        return self._on_disk + len(self._rest)

    def append(self, data: bytes) -> int:
        """Add ``data``; the offset where it begins."""
        at = len(self)
        self._rest += data
        if len(self._rest) > self._in_memory and not self._full:
            self._write_out()
        return at

    def read(self, start: int, stop: int) -> bytes:
        """The bytes from ``start`` up to ``stop`` or the end."""
        edge = self._on_disk
        data = b""
        while start + len(data) < min(stop, edge):
            part = os.pread(self._file.fileno(), min(stop, edge) - start - len(data), start + len(data))
            assert part, "a nameless file is cut by nobody else"
            data += part
        return data + bytes(self._rest[max(0, start - edge) : max(0, stop - edge)])

    def cut(self, size: int) -> None:
        """Forget all but the first ``size`` bytes."""
        del self._rest[max(0, size - self._on_disk) :]
        if size < self._on_disk:
            self._on_disk = size
            with suppress(OSError):
                os.ftruncate(self._file.fileno(), size)

    def _write_out(self) -> None:
        try:
            if self._file is None:
                self._file = tempfile.TemporaryFile(buffering=0)  # noqa: SIM115 (it ends with this object)
                weakref.finalize(self, self._file.close)
            written = os.pwrite(self._file.fileno(), self._rest, self._on_disk)
        except OSError:
            written = 0
        self._full = written < len(self._rest)
        self._on_disk += written
        del self._rest[:written]


class KeptRounds(Sequence[Round]):
    """The rounds of a run so far. Each access decodes a round anew."""

    def __init__(self) -> None:
        self._tape = Tape()
        self._starts = array("Q")
        self._encode = msgspec.msgpack.Encoder().encode
        self._decode = msgspec.msgpack.Decoder(Round).decode

    def __len__(self) -> int:
        return len(self._starts)

    @overload
    def __getitem__(self, index: int) -> Round: ...
    @overload
    def __getitem__(self, index: slice) -> list[Round]: ...
    def __getitem__(self, index: int | slice) -> Round | list[Round]:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        at = index + len(self) if index < 0 else index
        if not 0 <= at < len(self):
            raise IndexError(f"round {index} of {len(self)}")
        return self._decode(self._tape.read(self._starts[at], self._stop(at)))

    def __iter__(self) -> Iterator[Round]:
        return (self[i] for i in range(len(self)))

    def append(self, round_: Round) -> None:
        """Take in the next round."""
        self._starts.append(self._tape.append(self._encode(round_)))

    def cut(self, count: int) -> None:
        """Forget all but the first ``count``."""
        if count < len(self):
            self._tape.cut(self._starts[count])
            del self._starts[count:]

    def first(self, count: int) -> "KeptRounds":
        """The first ``count`` rounds, kept on their own."""
        copy = KeptRounds()
        if count:
            copy._tape.append(self._tape.read(0, self._stop(count - 1)))
            copy._starts = self._starts[:count]
        return copy

    def _stop(self, at: int) -> int:
        return self._starts[at + 1] if at + 1 < len(self._starts) else len(self._tape)
