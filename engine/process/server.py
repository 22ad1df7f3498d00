"""The engine as a process: commands come in and are carried out in turn, the records of a run go out."""

import secrets
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

import msgspec

from engine.branch import Branch, save
from engine.errors import EngineFault, ModelError, Refused, SpecstepError, TraceError
from engine.live import Stepper
from engine.options import Options
from engine.process.inbox import Inbox
from engine.process.protocol import (
    AnyCommand,
    BadCommand,
    Done,
    Fork,
    Hello,
    Open,
    Pause,
    Progress,
    Quit,
    Rewind,
    RunUntil,
    Save,
    Step,
    encoded,
)
from engine.process.until import CONDITIONS, END, Until
from engine.records import End, Event, Round
from engine.request import LiveRequest
from engine.stages import Stage, heard_by
from engine.trace.sink import Sink
from engine.trace.writer import TraceWriter

Begin = Callable[[LiveRequest], Stepper]
FAULT_CODES: dict[type[SpecstepError], str] = {Refused: "refused", ModelError: "model", EngineFault: "fault"}
"""The codes of the events that say why a run could not be opened."""


class Server:
    """Serves one run and its forks: commands from ``inbox``, records to ``out``.

    Args:
        begin: opens a run; it may take long and raise any ``SpecstepError``.
        request: what to run; an ``open`` command may change it.
        wait: wait for that command.
    """

    def __init__(self, inbox: Inbox, out: BinaryIO, begin: Begin, request: LiveRequest, *, wait: bool = False) -> None:
        self._inbox = inbox
        self._out = out
        self._sink = Sink(out)
        self._begin = begin
        self._request = request
        self._wait = wait
        self._opened_by = 0

    def serve(self) -> bool:
        """Serve until told to quit, or until nobody listens any more; whether the run could be opened.

        Raises:
            EngineFault: the base broke while a fork was fed the rounds before it.
        """
        try:
            hello = Hello(conditions=CONDITIONS, options=tuple(Options.__struct_fields__), waiting=self._wait)
            self._sink.write(encoded(hello))
            run = self._opened()
            if run is None:
                return False
            Session(self._inbox, self._sink, self._out, run).serve(self._opened_by)
        except TraceError:
            return True
        finally:
            self._inbox.over()
        return True

    def _opened(self) -> Stepper | None:
        """The run, ``None`` if there is none to be served."""
        try:
            if self._wait:
                command = self._awaited()
                if command is None:
                    return None
                self._opened_by = command.id
                self._request = changed(self._request, command.run)
            _tell(self._sink, Event(code="opening", message=f"loading {Path(self._request.model).name}"))
            named = {"id": secrets.token_hex(8), "branch": "main", **self._request.run}
            with heard_by(partial(tell_stage, self._sink)):
                return self._begin(msgspec.structs.replace(self._request, run=named))
        except (Refused, ModelError, EngineFault) as error:
            _tell(self._sink, Event(level="fault", code=FAULT_CODES[type(error)], message=str(error)))
            self._sink.write(encoded(Done(id=self._opened_by, why="refused", message=str(error))))
            return None

    def _awaited(self) -> Open | None:
        while True:
            try:
                match self._inbox.take():
                    case Open() as command:
                        return command
                    case Quit():
                        return None
                    case other:
                        _refuse(self._sink, other.id, 0, "there is no run yet: open one first")
            except BadCommand as bad:
                _refuse(self._sink, bad.id, 0, str(bad))


def tell_stage(sink: Sink, stage: Stage) -> None:
    """Say what an opening is at, or the loading that a fork takes."""
    if not stage.done:
        _tell(sink, Event(code="opening", message=stage.text))
    if stage.total:
        sink.write(encoded(Progress(done=stage.done, total=stage.total)))


class Session:
    """A run that is open, and the commands that it is given."""

    def __init__(self, inbox: Inbox, sink: Sink, out: BinaryIO, run: Stepper) -> None:
        self._inbox = inbox
        self._sink = sink
        self._out = out
        self._run = run
        self._branch = Branch(run.header, run.prefill, piece=run.piece)
        self._said = self._forks = 0
        self._writer = self._begun()

    def serve(self, opened_by: int) -> None:
        """Say that the run is open, carry out commands until one is to quit."""
        self._give_events()
        self._done(opened_by, "opened")
        while True:
            try:
                command = self._inbox.take()
                self._done(command.id, self._carry_out(command))
            except BadCommand as bad:
                _refuse(self._sink, bad.id, len(self._branch), str(bad))
                continue
            except (Refused, ModelError) as error:
                _refuse(self._sink, command.id, len(self._branch), str(error))
                continue
            if isinstance(command, Quit):
                return

    def _carry_out(self, command: AnyCommand) -> str:
        """What became of it."""
        why = "paused"
        match command:
            case Step():
                why = self._rounds(command.rounds, END)
            case RunUntil():
                why = self._rounds(command.rounds, command.until)
            case Rewind():
                why = self._fork(Fork(round=command.round))
            case Fork():
                why = self._fork(command)
            case Save():
                why = self._save(Path(command.path))
            case Open():
                raise Refused("the run is open already: fork it, or start another engine")
            case Quit():
                self._end()
                why = "quit"
            case Pause():
                pass
        return why

    def _rounds(self, count: int | None, until: str) -> str:
        made, stop = 0, Until(until, self._branch)
        while count is None or made < count:
            if self._branch.end is not None:
                return "ended"
            if self._inbox.halted:
                return "paused"
            round_ = self._run.step()
            if round_ is not None:
                self._give(round_)
            self._give_events()
            if self._run.done:
                self._end()
            made += 1
            if round_ is not None and stop.met():
                return "condition"
        return "stepped"

    def _save(self, path: Path) -> str:
        if path.exists():
            raise Refused(f"{path} is there already: give another name")
        try:
            save(self._branch, path)
        except TraceError as error:
            raise Refused(str(error)) from error
        return "saved"

    def _fork(self, command: Fork) -> str:
        old, at = self._branch, command.round
        if not 0 <= at <= len(old):
            raise Refused(f"cannot go back to round {at}: there are {len(old)} rounds")
        options = None
        if command.options:
            options = Options.from_map({**self._run.header.options, **command.options})
        aborted = self._run.end()
        names = {"branch": f"fork{self._forks + 1}", "parent": old.header.run.get("branch", "main"), **command.run}
        with heard_by(partial(tell_stage, self._sink)):
            self._run.rewind([*old.rounds[:at], *command.rounds], options, drafter=command.drafter, run=names)
        self._forks += 1
        self._said = sum(event.round is None or event.round < at for event in self._run.events)
        if old.end is None:
            self._writer.write(aborted)
        self._branch = old.fork(self._run.header, at)
        self._writer = self._begun()
        for round_ in command.rounds:
            self._give(round_)
        self._give_events()
        if self._run.done:
            self._end()
        return "forked"

    def _begun(self) -> TraceWriter:
        """The records that begin a run."""
        writer = TraceWriter(self._out, index=False, checks=False)
        writer.pieces(self._run.piece)
        writer.write(self._run.header)
        writer.write(self._run.prefill)
        return writer

    def _give(self, record: Round | Event | End) -> None:
        """A record of the run, kept and sent."""
        self._branch.take(record)
        self._writer.write(record)

    def _give_events(self) -> None:
        for event in self._run.events[self._said :]:
            self._give(event)
        self._said = len(self._run.events)

    def _end(self) -> None:
        if self._branch.end is None:
            self._give_events()
            self._give(self._run.end())

    def _done(self, id_: int, why: str) -> None:
        self._sink.write(encoded(Done(id=id_, why=why, rounds=len(self._branch))))


def changed(request: LiveRequest, changes: dict[str, Any]) -> LiveRequest:
    """The request with these keys in place of its own; those of its options one by one.

    Raises:
        Refused: a value is of the wrong type or out of its range.
    """
    known = {key: value for key, value in changes.items() if key in LiveRequest.__struct_fields__}
    given = known.pop("options", {})
    if not isinstance(given, dict):
        raise Refused("open: options is not a map")
    options = Options.from_map({**request.options.as_map(), **given}).as_map()
    try:
        return msgspec.convert({**msgspec.structs.asdict(request), **known, "options": options}, LiveRequest)
    except msgspec.ValidationError as error:
        raise Refused(f"open: {error}") from error


def _tell(sink: Sink, event: Event) -> None:
    sink.write(msgspec.msgpack.encode(event))


def _refuse(sink: Sink, id_: int, rounds: int, message: str) -> None:
    """Say that a command was not carried out, for a person and for the program that gave it."""
    _tell(sink, Event(round=rounds, level="warning", code="bad-command", message=message))
    sink.write(encoded(Done(id=id_, why="refused", rounds=rounds, message=message)))
