"""A process of ours: bytes in, bytes out, its last words, and how it ended. Nothing here waits longer than told."""

import os
import select
import signal
import subprocess
import threading
import time
from collections import deque
from collections.abc import Mapping, Sequence
from contextlib import suppress

from engine.errors import Refused

CHUNK = 1 << 16
WORDS, LONGEST_WORD = 200, 300
"""Lines of stderr that are remembered, and the length of one."""
ENDING = 5.0
"""Seconds that a process which closed its stdout is given to end: on a busy machine an interpreter takes its time."""
_TICK = 0.1
_READ = select.POLLIN | select.POLLHUP | select.POLLERR


class Child:
    """Runs ``command`` in a session of its own, so that no key of the terminal reaches it.

    ``send`` and ``close`` may be called from another thread than ``receive``.

    Raises:
        Refused: there is no such command.
    """

    def __init__(self, command: Sequence[str], environment: Mapping[str, str] | None = None) -> None:
        pipe = subprocess.PIPE
        try:
            self._process = subprocess.Popen(
                command, bufsize=0, stdin=pipe, stdout=pipe, stderr=pipe, env=environment, start_new_session=True
            )
        except OSError as error:
            raise Refused(
                f"the engine {command[0]} cannot be started: {(error.strerror or str(error)).lower()}"
            ) from error
        streams = self._process.stdin, self._process.stdout, self._process.stderr
        assert None not in streams
        self._stdin, self._stdout, self._stderr = (stream.fileno() for stream in streams if stream is not None)
        for fd in (self._stdin, self._stdout, self._stderr):
            os.set_blocking(fd, False)
        self._sending = threading.Lock()
        self._reading = threading.Lock()
        self._unsent = bytearray()
        self._words: deque[bytes] = deque([b""], maxlen=WORDS)
        self._hears = True
        self._closed = False

    @property
    def pid(self) -> int:
        """The process that was started; an engine behind ssh or a shell is another one."""
        return self._process.pid

    @property
    def last_words(self) -> tuple[str, ...]:
        """The last lines of its stderr."""
        return tuple(text for line in self._words if (text := line.decode("utf-8", "replace").strip()))

    def send(self, data: bytes) -> None:
        """Hand it ``data``; what it does not take now is sent while something is awaited from it."""
        with self._sending:
            self._unsent += data
            self._send_on()

    def receive(self, timeout: float) -> bytes | None:
        """Bytes from its stdout; ``b""`` at their end or when it is closed, ``None`` if none come for ``timeout`` s."""
        deadline = time.monotonic() + timeout
        with self._reading:
            while not self._closed:
                left = deadline - time.monotonic()
                if left < 0:
                    return None
                data = self._look(min(left, _TICK))
                if data is not None:
                    return data
            return b""

    def how_it_ended(self) -> str:
        """What became of it, in words; a process that has closed its stdout is given ``ENDING`` seconds to end."""
        try:
            status = self._process.wait(ENDING)
        except subprocess.TimeoutExpired:
            return "closed its output and goes on running"
        if status < 0:
            return f"was ended by {_signal_name(-status)}"
        return f"ended with status {status}"

    def kill(self) -> None:
        """End it and its children at once."""
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(5.0)

    def close(self, grace: float = 2.0) -> None:
        """Close its stdin, wait for it to end by itself for ``grace`` seconds, and leave nothing of it behind."""
        if self._closed:
            return
        self._closed = True
        with self._reading, self._sending:
            deadline = time.monotonic() + grace
            while self._unsent and time.monotonic() < deadline and self._process.poll() is None:
                self._look(_TICK, locked=True)
            self._process.stdin.close()  # type: ignore[union-attr]
            self._unsent.clear()
            while time.monotonic() < deadline and self._process.poll() is None:
                if self._look(0.02, locked=True) == b"":
                    time.sleep(0.01)
            self.kill()
            for stream in (self._process.stdout, self._process.stderr):
                stream.close()  # type: ignore[union-attr]

    def _look(self, timeout: float, *, locked: bool = False) -> bytes | None:
        """One wait for anything to do: data of stdout if there was any, ``b""`` at its end."""
        watched = select.poll()
        watched.register(self._stdout, _READ)
        if self._hears:
            watched.register(self._stderr, _READ)
        if self._unsent:
            watched.register(self._stdin, select.POLLOUT)
        ready = {fd for fd, _ in watched.poll(timeout * 1000)}
        if self._stderr in ready:
            self._hear()
        if self._stdin in ready:
            if locked:
                self._send_on()
            else:
                self.send(b"")
        if self._stdout in ready:
            data = _read(self._stdout)
            if data == b"":
                self._hear_out()
            return data
        # A process that is gone while its children hold its stdout open says nothing any more.
        return b"" if not ready and self._process.poll() is not None else None

    def _send_on(self) -> None:
        try:
            while self._unsent:
                del self._unsent[: os.write(self._stdin, self._unsent[:CHUNK])]
        except BlockingIOError:
            pass
        except OSError:
            self._unsent.clear()

    def _hear(self) -> None:
        data = _read(self._stderr)
        if not data:
            self._hears = data is None
            return
        first, *others = data.split(b"\n")
        self._words[-1] = (self._words[-1] + first)[:LONGEST_WORD]
        self._words.extend(line[:LONGEST_WORD] for line in others)

    def _hear_out(self) -> None:
        """What it said before its stdout ended is on its way: a while for that, unless its stderr ends too."""
        deadline = time.monotonic() + 2.0
        while self._hears and (left := deadline - time.monotonic()) > 0:
            watched = select.poll()
            watched.register(self._stderr, _READ)
            if watched.poll(left * 1000):
                self._hear()


def _read(fd: int) -> bytes | None:
    try:
        return os.read(fd, CHUNK)
    except BlockingIOError:
        return None
    except OSError:
        return b""


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
