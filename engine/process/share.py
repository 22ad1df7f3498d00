"""A Unix socket at which any number of readers get a stream from its beginning, each at its own pace."""

import os
import socket
import threading
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self

from engine.errors import Refused
from engine.kept import Tape

_CHUNK = 1 << 18
_STALLED = 30.0
"""Seconds that a reader may take nothing; then its connection is closed."""


class Share:
    """Listens at ``path``, which is made (mode 0600) and removed. A slow or broken reader holds up nobody else.

    Raises:
        Refused: somebody listens there, or no socket can be made there.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._tape = Tape()
        self._grown = threading.Condition()
        self._closed = False
        self._readers: list[threading.Thread] = []
        self._server = _listening(path)
        threading.Thread(target=self._accept, name="share", daemon=True).start()

    def append(self, data: bytes) -> None:
        """Let the readers have ``data``."""
        with self._grown:
            self._tape.append(data)
            self._grown.notify_all()

    def close(self, grace: float = 2.0) -> None:
        """Let the readers have what is still theirs for ``grace`` seconds, and end."""
        with self._grown:
            if self._closed:
                return
            self._closed = True
            self._grown.notify_all()
        self._path.unlink(missing_ok=True)
        with suppress(OSError):
            self._server.shutdown(socket.SHUT_RDWR)
        self._server.close()
        for reader in self._readers:
            reader.join(grace)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def _accept(self) -> None:
        while not self._closed:
            try:
                reader, _ = self._server.accept()
            except OSError:
                return
            thread = threading.Thread(target=self._serve, args=(reader,), name="reader", daemon=True)
            self._readers = [other for other in self._readers if other.is_alive()]
            self._readers.append(thread)
            thread.start()

    def _serve(self, reader: socket.socket) -> None:
        at = 0
        with reader, suppress(OSError):
            reader.settimeout(_STALLED)
            while data := self._after(at):
                reader.sendall(data)
                at += len(data)

    def _after(self, at: int) -> bytes:
        """The bytes from ``at`` on, once there are any; none when there will be no more."""
        with self._grown:
            while len(self._tape) == at and not self._closed:
                self._grown.wait(1.0)
            return self._tape.read(at, at + _CHUNK)


def _listening(path: Path) -> socket.socket:
    server = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        if path.is_socket():
            _refuse_live(path)
            path.unlink()
        before = os.umask(0o177)
        try:
            server.bind(str(path))
        finally:
            os.umask(before)
        server.listen()
    except (OSError, Refused) as error:
        server.close()
        if isinstance(error, Refused):
            raise
        raise Refused(f"{path}: no socket can be made there: {(error.strerror or str(error)).lower()}") from error
    return server


def _refuse_live(path: Path) -> None:
    """A socket that nobody listens at is what a killed engine left."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe, suppress(OSError):
        probe.connect(str(path))
        raise Refused(f"{path}: an engine is watched there already: give another path")
