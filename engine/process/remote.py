"""A run whose engine is a process of its own: it outlives the engine, says what became of it, and starts another."""

from collections.abc import Mapping, Sequence
from typing import Any

from engine.errors import EngineFault, Refused, SpecstepError
from engine.options import Options
from engine.process.launch import Launch
from engine.process.link import Link, Lost
from engine.process.made import Made, slim
from engine.process.protocol import Done, Fork, Hello, Pause, RunUntil, Step
from engine.process.until import names_in
from engine.records import AnyRecord, End, Event, Header, Prefill, Round, Tokens
from engine.stages import Stage

TIMEOUT = 120.0
"""Seconds without a record after which an engine that owes one is given up."""


class RemoteRun:
    """A ``Stepper`` over an engine that is started by ``launch``.

    ``step`` makes a round, or hands out the next of those that ``order`` asked for. An engine that dies, hangs for
    ``timeout`` seconds or sends what is no round ends the run with a fault, in ``events`` and ``end``; ``rewind`` then
    starts another, which is fed the rounds that it is given. It does so too where it finds the engine gone.

    ``knows`` are the names of conditions that the engine can stop at.

    ``interrupt``, ``kill`` and ``close`` may be called while another thread is in ``step``.

    Raises:
        Refused: there is no such command.
    """

    def __init__(self, launch: Launch, *, timeout: float = TIMEOUT) -> None:
        self._launch = launch
        self._timeout = timeout
        self._pieces: dict[int, bytes] = {}
        self._drafter: str | None = None
        self._ids = 1
        self._ordered: int | None = None
        self._stepped = False
        self._closed = False
        self._lost: str | None = None
        self._end: End | None = None
        self._events: list[Event] = []
        self._link: Link | None = Link(launch, timeout)
        self._starting: Link | None = None
        self._hello = Hello()
        self.knows: frozenset[str] = frozenset()

    def open(self) -> "RemoteRun":
        """Wait until the run is open; before anything else.

        Raises:
            Refused, ModelError: the engine cannot make this run.
            EngineFault: there was no speaking to it.
        """
        assert self._link is not None
        try:
            heard = self._opened(self._link)
            self._hello = self._link.hello
            self.knows = frozenset(self._hello.conditions)
            self._take_over(self._link, heard, ())
        except Lost as lost:
            raise EngineFault(str(lost)) from lost
        return self

    @property
    def stages(self) -> tuple[Stage, ...]:
        """What the engine was at while it opened the run, and what forks loaded; for another thread to ask.

        While a lost engine is started again they are those of the new one.
        """
        link = self._starting or self._link
        return () if link is None else tuple(link.stages)

    @property
    def timeout(self) -> float:
        """Seconds."""
        return self._timeout

    @timeout.setter
    def timeout(self, seconds: float) -> None:
        self._timeout = seconds
        if self._link is not None:
            self._link.timeout = seconds

    @property
    def pid(self) -> int | None:
        """The process that was started, while there is one."""
        link = self._link
        return None if link is None else link.pid

    @property
    def header(self) -> Header:
        return self._header

    @property
    def prefill(self) -> Prefill:
        return self._prefill

    @property
    def events(self) -> tuple[Event, ...]:
        return tuple(self._events)

    @property
    def done(self) -> bool:
        return self._end is not None

    @property
    def pending(self) -> bool:
        """Whether rounds that were ordered may still come."""
        return self._ordered is not None

    @property
    def lost(self) -> str | None:
        """What became of the engine, if there is none any more."""
        return self._lost

    def piece(self, token: int) -> bytes | None:
        return self._pieces.get(token)

    def order(self, rounds: int | None = None, until: str = "end") -> None:
        """Have so many rounds made ahead of ``step``, or all up to one that meets ``until``, where none are ordered.

        None are ordered either of an engine that does not know the names in ``until``.
        """
        link = self._link
        if self._ordered is None and self._end is None and link is not None and names_in(until) <= self.knows:
            self._ordered = self._id()
            link.send(RunUntil(id=self._ordered, until=until, rounds=rounds))

    def interrupt(self) -> None:
        """Have no round made but the one that is being made. It is finished, and those made before still come."""
        link = self._link
        if link is not None and self._ordered is not None:
            link.send(Pause())

    def step(self) -> Round | None:
        """The next round; ``None`` when the run is over, and when what was ordered is all made or was interrupted."""
        link = self._link
        if self._end is not None or link is None:
            return None
        try:
            if self._ordered is not None:
                return self._next_round(link)
            self._ordered = self._id()
            link.send(Step(id=self._ordered))
            round_ = self._next_round(link)
            if round_ is None and self._stepped and self._end is None:
                raise link.lost(
                    "engine-garbage", f"the engine says that it made round {len(self._made)}, and sent none"
                )
            while self._ordered is not None:
                self._next_round(link, f"waiting for the done of command {self._ordered}, a step")
            return round_
        except Lost as lost:
            self._lose(lost)
            return None

    def end(self) -> End:
        return self._made.end("aborted") if self._end is None else self._end

    def rewind(
        self,
        kept: Sequence[Round],
        options: Options | None = None,
        *,
        drafter: str | None = None,
        run: Mapping[str, Any] | None = None,
    ) -> None:
        if self._ordered is not None:
            raise Refused("rounds are being made: interrupt first")
        kept = list(kept)
        self._refuse(options)
        why, link, shared = self._lost, self._link, self._made.shared(kept)
        stands = self._header
        if link is None:
            link, stands = self._another()
            shared, options = 0, options or Options.from_map(self._header.options)
            drafter = drafter or self._drafter
        fork = Fork(
            id=self._id(),
            round=shared,
            rounds=tuple(slim(round_) for round_ in kept[shared:]),
            options={} if options is None else _changed(options, stands),
            drafter=drafter,
            run={"parent": self._header.run.get("branch", "main"), **(run or {})},
        )
        try:
            heard = link.ask(fork, f"going back to round {len(kept)}")
            self._take_over(link, heard, kept)
        except Lost as lost:
            if link is self._link:
                self._lose(lost)
                self.rewind(kept, options, drafter=drafter, run=run)
                return
            link.close(0.0)
            raise EngineFault(str(lost)) from lost
        except SpecstepError:
            if link is not self._link:
                link.close(0.0)
            raise
        finally:
            self._starting = None
        self._drafter = drafter or self._drafter
        if why is not None:
            again = f"here the engine was started again: {why}"
            self._events.append(Event(round=len(kept), level="warning", code="restarted", message=again))

    def kill(self) -> None:
        """End the engine at once, whatever it is at: a fault, behind which another can be started."""
        for link in (self._link, self._starting):
            if link is not None:
                link.kill()

    def close(self) -> None:
        """End the engine. What was made and not handed out is dropped."""
        self._closed = True
        for link in (self._link, self._starting):
            if link is not None:
                link.close()

    def _refuse(self, options: Options | None) -> None:
        """Refuse what the engine said that it cannot do."""
        can = self._hello
        if can.commands and "fork" not in can.commands:
            raise Refused(f"this engine does not fork: its commands are {', '.join(can.commands)}")
        for key in () if options is None or not can.options else _changed(options, self._header):
            if key not in can.options:
                raise Refused(f"this engine does not fork by another {key}, only by another {', '.join(can.options)}")

    def _id(self) -> int:
        self._ids += 1
        return self._ids

    def _another(self) -> tuple[Link, Header]:
        """Another engine, and the header of the run that it opened."""
        link = self._starting = Link(self._launch, self._timeout)
        try:
            if self._closed:
                link.close(0.0)
            heard = self._opened(link)
        except Lost as lost:
            self._starting = None
            raise EngineFault(str(lost)) from lost
        except SpecstepError:
            self._starting = None
            raise
        return link, next((record for record in heard if isinstance(record, Header)), self._header)

    def _opened(self, link: Link) -> list[AnyRecord]:
        """What it sent of the opening. It is closed where it does not open the run."""
        try:
            return link.open(self._launch.request)
        except (Lost, SpecstepError):
            link.close(0.5)
            raise

    def _take_over(self, link: Link, heard: Sequence[AnyRecord], kept: Sequence[Round]) -> None:
        """The engine stands behind ``kept``, as what it sent from the new header on says."""
        header = prefill = None
        for i, record in enumerate(heard):
            match record:
                case Header():
                    header, begun = record, i
                case Prefill():
                    prefill = record
                case _:
                    pass
        if header is None or prefill is None:
            lacks = " and ".join(name for name, record in (("header", header), ("prefill", prefill)) if record is None)
            raise link.lost("engine-garbage", f"the engine said that the run is open, and sent no {lacks} before that")
        self._link, self._header, self._prefill = link, header, prefill
        self._made = Made(prefill, kept)
        self._lost = self._end = None
        self._events = [event for event in self._events if event.round is None or event.round < len(kept)]
        for record in heard[begun:]:
            self._hear(record)

    def _next_round(self, link: Link, doing: str = "") -> Round | None:
        while True:
            match link.receive(doing or f"making round {len(self._made)}"):
                case Round() as round_:
                    unfit = self._made.unfit(round_)
                    if unfit is not None:
                        raise link.lost("engine-garbage", unfit)
                    self._made.add(round_)
                    return round_
                case Done() as done:
                    if done.id != self._ordered:
                        link.note_unasked(done)
                        continue
                    self._ordered = None
                    if done.why == "refused":
                        raise link.lost("engine-garbage", f"the engine makes no rounds: {done.message}")
                    self._stepped = done.why == "stepped"
                    return None
                case record:
                    self._hear(record)

    def _hear(self, record: AnyRecord) -> None:
        match record:
            case Event(code="opening" | "bad-command"):
                pass
            case Event():
                self._events.append(record)
            case Tokens():
                self._pieces.update(record.pieces)
            case End():
                self._end = record
            case _:
                pass

    def _lose(self, lost: Lost) -> None:
        """There is no engine any more: mark the place."""
        link, self._link, self._ordered = self._link, None, None
        if self._closed or link is None:
            return
        link.close(0.0)
        self._lost = lost.what
        self._events.append(Event(round=len(self._made), level="fault", code=lost.code, message=str(lost)))
        self._end = self._made.end("fault")


def _changed(options: Options, header: Header) -> dict[str, Any]:
    """What of ``options`` is not as the header has it."""
    now = Options.from_map(header.options).as_map()
    return {key: value for key, value in options.as_map().items() if value != now[key]}
