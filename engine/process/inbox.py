"""The commands that arrive at an engine, read while it works: a pause is known in the middle of a round."""

import os
import queue
import select
import threading

from engine.errors import Refused
from engine.process.protocol import AnyCommand, BadCommand, Pause, Quit, read_command
from engine.trace.framing import Framer

GRACE = 5.0
"""Seconds that a round may still take when nobody is there any more; then the process ends in the middle of it."""
_LOOK = 0.5


class Inbox:
    """Reads commands from the file descriptor ``commands`` until its end, which is a ``Quit`` behind all others.

    Where the reader of ``answers`` has gone too, the process ends after ``grace`` seconds, whatever it is at.
    """

    def __init__(self, commands: int, answers: int, grace: float = GRACE) -> None:
        self._commands, self._answers = commands, answers
        self._grace = grace
        self._queue: queue.SimpleQueue[AnyCommand | BadCommand | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._halts = 0
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._read, name="commands", daemon=True)
        self._thread.start()

    @property
    def halted(self) -> bool:
        """Whether a ``Pause`` or ``Quit`` waits to be taken."""
        return self._halts > 0

    def take(self) -> AnyCommand:
        """The next command, once there is one.

        Raises:
            BadCommand: what came is none.
        """
        command = self._queue.get()
        match command:
            case None:
                return Quit()
            case BadCommand():
                raise command
            case Pause() | Quit():
                with self._lock:
                    self._halts -= 1
                return command
            case _:
                return command

    def over(self) -> None:
        """Say that the engine is done, so that the end of the commands need not end it."""
        self._over.set()

    def join(self, seconds: float) -> bool:
        """Wait for the end of the commands behind ``over``; whether it came.

        Only then may their descriptor be closed: its number soon belongs to another file, of which this would read.
        """
        self._thread.join(seconds)
        return not self._thread.is_alive()

    def _read(self) -> None:
        framer = Framer()
        while framer.damage is None and (data := self._received()):
            for cut in framer.feed(data):
                for _, record in cut.spans():
                    self._put(_read_one(record))
        if framer.damage is not None:
            self._put(BadCommand(f"the commands cannot be read any further: {framer.damage}"))
        self._queue.put(None)
        while not self._over.wait(_LOOK):
            if _nobody_reads(self._answers) and not self._over.wait(self._grace):
                os._exit(1)

    def _received(self) -> bytes:
        try:
            return os.read(self._commands, 1 << 16)
        except OSError:
            return b""

    def _put(self, command: AnyCommand | BadCommand) -> None:
        if isinstance(command, Pause | Quit):
            with self._lock:
                self._halts += 1
        self._queue.put(command)


def _nobody_reads(fd: int) -> bool:
    looked = select.poll()
    looked.register(fd, 0)
    return any(event & (select.POLLERR | select.POLLHUP) for _, event in looked.poll(0))


def _read_one(record: bytes) -> AnyCommand | BadCommand:
    try:
        return read_command(record)
    except BadCommand as bad:
        return bad
    except Refused as error:
        return BadCommand(str(error))
