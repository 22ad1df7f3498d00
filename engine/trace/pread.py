"""Reads a regular file at any offset without mapping it, so that memory stays small however large the trace."""

import os
import stat
import threading
import weakref
from collections.abc import Iterator
from pathlib import Path

from engine.errors import TraceError
from engine.trace.framing import Cut, Framer

CHUNK = 1024 * 1024
_SMALL = 16 * 1024


class ReadAt:
    """An open file; closed with the object."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            self._fd = os.open(path, os.O_RDONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_NONBLOCK", 0))
        except OSError as error:
            raise TraceError(f"{path}: {(error.strerror or str(error)).lower()}") from error
        self.close = weakref.finalize(self, os.close, self._fd)
        self._lock = threading.Lock()
        if not stat.S_ISREG(os.fstat(self._fd).st_mode):
            self.close()
            raise TraceError(f"{path}: not a regular file; a pipe can be followed, not opened")

    @property
    def size(self) -> int:
        """Bytes in the file now."""
        self._require_open()
        return os.fstat(self._fd).st_size

    def read(self, start: int, stop: int) -> bytes:
        """The bytes from ``start`` up to ``stop`` or the file's end, at most one system call's worth."""
        self._require_open()
        try:
            if hasattr(os, "pread"):
                return os.pread(self._fd, max(0, stop - start), start)
            with self._lock:
                os.lseek(self._fd, start, os.SEEK_SET)
                return os.read(self._fd, max(0, stop - start))
        except OSError as error:
            raise TraceError(f"{self.path}: {(error.strerror or str(error)).lower()} at byte {start}", start) from error

    def _require_open(self) -> None:
        if not self.close.alive:
            raise TraceError(f"{self.path}: the trace is closed")

    def cuts(self, framer: Framer, stop: int, chunk: int = CHUNK) -> Iterator[Cut]:
        """Whole records from where ``framer`` stands up to ``stop``, or to the first damage."""
        at = framer.byte + framer.pending
        while at < stop and framer.damage is None:
            data = self.read(at, min(at + chunk, stop))
            if not data:
                return
            at += len(data)
            yield from framer.feed(data)

    def first_record(self, byte: int, stop: int) -> bytes | None:
        """The whole record at ``byte``, if there is one before ``stop``."""
        for cut in self.cuts(Framer(byte), stop, _SMALL):
            return cut.data[: cut.ends[0]]
        return None
