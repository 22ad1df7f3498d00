"""A running engine seen from outside: what it sends as records, the answers to what it is told, and how it was lost."""

import time
from collections import deque
from collections.abc import Sequence
from typing import Any

from engine.errors import ModelError, Refused, TraceError
from engine.process.child import Child
from engine.process.launch import Launch
from engine.process.protocol import PROTOCOL, Command, Done, Hello, Open, Progress, Quit, answer, encoded
from engine.records import AnyRecord, Event
from engine.stages import Stage
from engine.trace.decoding import Unknown
from engine.trace.follow import RecordStream

TOLD = 4
"""Lines of its last words that are told."""
PRINTED = 60
"""Bytes that are told of what it printed where records belong."""


class Lost(Exception):
    """The engine is gone, or is not to be trusted any more: ``what`` happened, and in the message its last words too.

    ``code`` is that of the event which tells it.
    """

    def __init__(self, code: str, what: str, words: Sequence[str] = ()) -> None:
        super().__init__(f"{what}; its last words: {' / '.join(words)}" if words else what)
        self.code, self.what = code, what


class Link:
    """Starts an engine.

    ``timeout`` is the time in seconds that it may send nothing when something is awaited; it can be changed.
    ``hello`` is what it said that it can do, once the run is open. ``send`` and ``close`` may be called while another
    thread waits. ``stages`` are what the engine said that it was at while it opened its run.

    Raises:
        Refused: there is no such command.
    """

    def __init__(self, launch: Launch, timeout: float) -> None:
        self.timeout = timeout
        self.hello = Hello()
        self._stream = RecordStream()
        self._arrived: deque[AnyRecord | Unknown] = deque()
        self._damage: Lost | None = None
        self._unasked: int | None = None
        self.stages: list[Stage] = []
        self._child = Child(launch.command, launch.environment)

    @property
    def pid(self) -> int:
        """The process that was started; an engine behind ssh or a shell is another one."""
        return self._child.pid

    def open(self, request: dict[str, Any] | None) -> list[AnyRecord]:
        """Have the engine open its run; what it sends of that. ``request`` has keys of ``LiveRequest``.

        Raises:
            Refused, ModelError: it cannot make this run.
            Lost: there was no speaking to it.
        """
        hello = self.hello = self._hello()
        if hello.protocol > PROTOCOL:
            raise Refused(
                f"the engine speaks protocol {hello.protocol}, this program up to {PROTOCOL}: use a newer one"
            )
        doing = "opening the run"
        if hello.waiting:
            return self.ask(Open(id=1, run=request or {}), doing)
        if request:
            raise Refused(
                "this engine opens a run of its own: give the options to its own command, or (specstep engine) "
                "start it with --wait"
            )
        return self._upto(0, doing)

    def send(self, command: Command) -> None:
        """Tell the engine something; it is sent while something is awaited at the latest."""
        self._child.send(encoded(command))

    def ask(self, command: Command, doing: str) -> list[AnyRecord]:
        """Tell the engine something and wait for the answer; the records before it.

        Raises:
            Refused, ModelError: it does not do that.
            Lost: no answer will come.
        """
        self.send(command)
        return self._upto(command.id, doing)

    def receive(self, doing: str) -> AnyRecord | Done:
        """The next record. Raises ``Lost`` if none comes."""
        deadline = time.monotonic() + self.timeout
        while True:
            while not self._arrived:
                self._receive(deadline, doing)
            match self._arrived.popleft():
                case Unknown() as record:
                    match self._answer(record):
                        case Done() as done:
                            return done
                        case Progress() as progress if self.stages and progress.total > 0:
                            self.stages[-1] = Stage(self.stages[-1].text, progress.done, progress.total)
                            deadline = time.monotonic() + self.timeout
                        case _:
                            continue
                case record:
                    return record

    def kill(self) -> None:
        """End it at once; it is found out by whoever waits for it."""
        self._child.kill()

    def close(self, grace: float = 2.0) -> None:
        """Tell it to quit and end it, at once where it is not gone after ``grace`` seconds."""
        self._child.send(encoded(Quit()))
        self._child.close(grace)

    def lost(self, code: str, what: str) -> Lost:
        """What is to be raised, with what the engine said last on stderr."""
        return Lost(code, what, telling(self._child.last_words))

    def _hello(self) -> Hello:
        deadline = time.monotonic() + self.timeout
        while not self._arrived:
            self._receive(deadline, "waiting for its hello")
        record = self._arrived.popleft()
        hello = self._answer(record) if isinstance(record, Unknown) else None
        if not isinstance(hello, Hello):
            sent = record.type if isinstance(record, Unknown) else record.__struct_config__.tag
            raise self.lost(
                "engine-garbage",
                f"the engine did not say hello (PROTOCOL.md) but sent {sent!r} first: one that takes no commands is "
                "followed by ENGINE | specstep watch -",
            )
        return hello

    def _upto(self, id_: int, doing: str) -> list[AnyRecord]:
        heard: list[AnyRecord] = []
        fault: Event | None = None
        while True:
            match self.receive(doing):
                case Done() as done:
                    if done.id != id_:
                        self.note_unasked(done)
                        continue
                    if done.why != "refused":
                        return heard
                    raise ModelError(done.message) if fault and fault.code == "model" else Refused(done.message)
                case Event(code="opening") as event:
                    self.stages.append(Stage(event.message))
                case Event() as event:
                    fault = event if event.level == "fault" else fault
                    heard.append(event)
                case record:
                    heard.append(record)

    def note_unasked(self, done: Done) -> None:
        """Remember an answer to what was not asked: where the right one does not come, this is why."""
        self._unasked = done.id

    def _receive(self, deadline: float, doing: str) -> None:
        """Take in more bytes, or raise ``Lost``. Damage is told behind the records before it."""
        if self._damage is not None:
            raise self._damage
        data = self._child.receive(max(0.0, deadline - time.monotonic()))
        if not data and self._unasked is not None:
            doing += f" (its last done was for id {self._unasked}, which was not asked)"
        if data is None:
            raise self.lost("engine-hung", f"the engine sent nothing for {self.timeout:g} s, {doing}")
        if not data:
            raise self.lost("engine-died", f"the engine {self._child.how_it_ended()}, {doing}")
        try:
            for record in self._stream.feed(data):
                self._arrived.append(record)
        except TraceError as error:
            self._damage = self.lost("engine-garbage", _damage(error, self._stream.framer.rest, doing))

    def _answer(self, record: Unknown) -> Hello | Done | Progress | None:
        try:
            return answer(record)
        except Refused as error:
            raise self.lost("engine-garbage", str(error)) from error


def _damage(error: TraceError, rest: bytes, doing: str) -> str:
    """What is wrong with bytes that are no record; ``rest`` are the first of them. Most often something was printed."""
    line = rest.split(b"\n")[0].strip()[:PRINTED]
    text = line.decode("ascii", "replace")
    if len(line) > 1 and line.isascii() and text.isprintable():
        return (
            f"the engine printed {text!r} where a record is due, {doing}: its stdout is for records alone, what it "
            "says belongs on stderr"
        )
    return f"the engine sent what is no record, {doing}: {error}"


def telling(lines: Sequence[str]) -> Sequence[str]:
    """The lines of a process's last words that say what happened: a crash report begins with that, others end so."""
    crash = [i for i, line in enumerate(lines) if line.startswith("Fatal ")]
    return lines[crash[-1] :][:TOLD] if crash else lines[-TOLD:]
