"""Hands whole records to the operating system, one write each, and says clearly when it no longer takes them."""

import os
import stat
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

from engine.errors import NotWritten


class Sink:
    """A file that it makes itself (mode 0600, an older one replaced), or an open binary stream that it does not close.

    ``size`` is the number of bytes in whole writes. Every failure is a ``NotWritten`` that names the target and that
    byte; a regular file is cut back to it, so that what stands there is whole.
    """

    def __init__(self, target: Path | str | BinaryIO) -> None:
        self.size = 0
        self._fd: int | None = None
        self._stream: BinaryIO | None = None
        if isinstance(target, Path | str):
            self.name = os.fspath(target)
            self._fd = _create(self.name)
        else:
            self.name = str(getattr(target, "name", "the stream"))
            self._stream = target

    def write(self, data: bytes) -> None:
        """Write ``data`` whole."""
        try:
            if self._fd is not None:
                rest = memoryview(data)
                while rest:
                    rest = rest[os.write(self._fd, rest) :]
            elif self._stream is not None:
                self._to_stream(self._stream, data)
            else:
                raise NotWritten(f"{self.name}: the trace is closed", self.size)
        except OSError as error:
            self._cut_back()
            raise NotWritten(f"{self.name}: {_why(error)}; the trace stops at byte {self.size}", self.size) from error
        self.size += len(data)

    def close(self) -> None:
        """Close the file, if it is ours. A second call does nothing."""
        fd, self._fd, self._stream = self._fd, None, None
        if fd is not None:
            try:
                os.close(fd)
            except OSError as error:
                raise NotWritten(f"{self.name}: {_why(error)} on closing", self.size) from error

    def _to_stream(self, stream: BinaryIO, data: bytes) -> None:
        if stream.closed:
            raise NotWritten(f"{self.name}: the stream is closed", self.size)
        rest = memoryview(data)
        while rest:
            written = stream.write(rest)
            if written is None:
                raise BlockingIOError("the stream takes no more now")
            rest = rest[written:]
        stream.flush()

    def _cut_back(self) -> None:
        if self._fd is not None and stat.S_ISREG(os.fstat(self._fd).st_mode):
            with suppress(OSError):
                os.ftruncate(self._fd, self.size)


def _create(name: str) -> int:
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | getattr(os, "O_BINARY", 0)
    try:
        fd = os.open(name, flags, 0o600)
    except OSError as error:
        raise NotWritten(f"{name}: {_why(error)}; no trace is written") from error
    if stat.S_ISREG(os.fstat(fd).st_mode) and hasattr(os, "fchmod"):
        with suppress(OSError):
            os.fchmod(fd, 0o600)
    return fd


def _why(error: OSError) -> str:
    match error:
        case BrokenPipeError():
            return "the reader of the pipe has gone"
        case _:
            return (error.strerror or str(error)).lower()
