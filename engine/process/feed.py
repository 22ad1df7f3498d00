"""Where the bytes of somebody else's engine come from: a file that grows, a pipe, or a socket."""

import os
import select
import socket
import stat
from contextlib import suppress
from pathlib import Path
from typing import Protocol

from engine.errors import Refused, TraceError

CHUNK = 1 << 20
UNIX = "unix:"


class Feed(Protocol):
    """A stream of bytes that may break off and begin again. Nothing here waits.

    ``again``: another stream may begin when this one has broken off. ``one_run``: behind a run's end comes nothing.
    """

    name: str
    again: bool
    one_run: bool

    def read(self) -> bytes | None:
        """What has come since, ``b""`` for nothing so far, ``None`` once the stream has broken off.

        Raises:
            TraceError: it cannot be read.
        """

    def close(self) -> None: ...


class FileFeed:
    """A file, which need not be there yet. One that is cut or replaced begins again."""

    again = one_run = True

    def __init__(self, path: Path) -> None:
        self.name = str(path)
        self._path = path
        self._fd: int | None = None

    def read(self) -> bytes | None:
        try:
            if self._fd is None:
                self._fd = os.open(self._path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
                if not stat.S_ISREG(os.fstat(self._fd).st_mode):
                    raise TraceError(f"{self.name}: not a regular file; give - and redirect stdin to watch a pipe")
            data = os.read(self._fd, CHUNK)
            if data or not self._replaced():
                return data
        except FileNotFoundError:
            if self._fd is None:
                return b""
        except OSError as error:
            raise TraceError(f"{self.name}: {(error.strerror or str(error)).lower()}") from error
        self.close()
        return None

    def close(self) -> None:
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None

    def _replaced(self) -> bool:
        assert self._fd is not None
        ours, there = os.fstat(self._fd), os.stat(self._path)
        return (ours.st_ino, ours.st_dev) != (there.st_ino, there.st_dev) or there.st_size < os.lseek(
            self._fd, 0, os.SEEK_CUR
        )


class PipeFeed:
    """The file descriptor of a pipe, or of whatever stdin is."""

    again = one_run = False

    def __init__(self, fd: int, name: str) -> None:
        self.name = name
        self._fd = fd

    def read(self) -> bytes | None:
        ready, _, _ = select.select([self._fd], [], [], 0)
        if not ready:
            return b""
        try:
            return os.read(self._fd, CHUNK) or None
        except OSError as error:
            raise TraceError(f"{self.name}: {(error.strerror or str(error)).lower()}") from error

    def close(self) -> None:
        pass


class SocketFeed:
    """A Unix socket at which an engine lets others watch. Where nobody listens, it tries again."""

    again, one_run = True, False

    def __init__(self, path: Path) -> None:
        self.name = f"{UNIX}{path}"
        self._path = path
        self._socket: socket.socket | None = None

    def read(self) -> bytes | None:
        if self._socket is None:
            self._socket = _connected(self._path)
            if self._socket is None:
                return b""
        try:
            data = self._socket.recv(CHUNK)
        except BlockingIOError:
            return b""
        except OSError:
            data = b""
        if data:
            return data
        self.close()
        return None

    def close(self) -> None:
        if self._socket is not None:
            self._socket.close()
            self._socket = None


def feed_of(target: str) -> Feed:
    """``-`` is stdin, ``unix:PATH`` a socket, anything else a file.

    Raises:
        Refused: it names nothing.
    """
    if target == "-":
        return PipeFeed(0, "stdin")
    if target.startswith(UNIX):
        path = target.removeprefix(UNIX)
        if not path:
            raise Refused("unix: names no socket: give unix:PATH")
        return SocketFeed(Path(path))
    return FileFeed(Path(target))


def _connected(path: Path) -> socket.socket | None:
    there = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    with suppress(OSError):
        there.connect(str(path))
        there.setblocking(False)
        return there
    there.close()
    return None
