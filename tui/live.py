"""A running engine as a source: rounds are made elsewhere, handed over one by one, and kept; and its branches."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from threading import Lock
from typing import TYPE_CHECKING, Any, Protocol

import msgspec

from engine.branch import save
from engine.errors import SpecstepError
from engine.kept import KeptRounds
from engine.records import End, Event, Header, Prefill, Round
from engine.stages import Stage

if TYPE_CHECKING:
    from engine.options import Options

__all__ = ["Engine", "LiveSource", "Stepper", "save"]


class Stepper(Protocol):
    """A run that is made round by round; ``engine.live`` has its full account. ``step`` may take long and blocks."""

    @property
    def header(self) -> Header: ...
    @property
    def prefill(self) -> Prefill: ...
    @property
    def events(self) -> tuple[Event, ...]: ...
    @property
    def done(self) -> bool: ...
    def piece(self, token: int) -> bytes | None: ...
    def step(self) -> Round | None: ...
    def end(self) -> End: ...
    def rewind(
        self,
        kept: Sequence[Round],
        options: "Options | None" = None,
        *,
        drafter: str | None = None,
        run: Mapping[str, Any] | None = None,
    ) -> None: ...


class Engine(Protocol):
    """What an engine that is a process of its own can do beside: ``engine.process.remote.RemoteRun``."""

    @property
    def stages(self) -> tuple[Stage, ...]: ...
    @property
    def pending(self) -> bool: ...
    @property
    def lost(self) -> str | None: ...
    def order(self, rounds: int | None = None, until: str = "end") -> None: ...
    def interrupt(self) -> None: ...
    def kill(self) -> None: ...
    def close(self) -> None: ...


class LiveSource:
    """The rounds that a stepper has made so far, as a ``RoundSource``: one branch of its run.

    ``make`` and ``fork`` block and belong in a thread. What comes of ``make`` is handed over with ``append``,
    ``finish`` or ``fail`` by whoever owns the state. ``engine`` is the process behind the stepper, if it is one.
    ``branches`` are all there are, oldest first; the last is the one that goes on.
    """

    live = True

    def __init__(self, stepper: Stepper, engine: Engine | None = None, *, of: "LiveSource | None" = None) -> None:
        self.stepper = stepper
        self.engine = engine
        self.header = stepper.header
        self.prefill: Prefill | None = stepper.prefill
        self.end: End | None = None
        self.forked_at = int(self.header.run.get("forked_at", 0))
        self._rounds: KeptRounds = KeptRounds() if of is None else of._rounds.first(self.forked_at)
        self._inherited = () if of is None else _before(of.events(), self.forked_at)
        self._said: tuple[Event, ...] | None = None
        self._fault: tuple[Event, ...] = ()
        self._emitted = sum(round_.count for round_ in self._rounds)
        self._running: AbstractContextManager[object] = Lock() if of is None else of._running
        self._forks = False
        self.branches: list[LiveSource] = [] if of is None else of.branches
        self.branches.append(self)

    @property
    def name(self) -> str:
        """The branch: "main", or what a fork was named."""
        return str(self.header.run.get("branch", "main"))

    def rename(self, name: str) -> None:
        """Give the branch another name, which those that came off it know it by from then on.

        Raises:
            SpecstepError: it is no name, or another branch has it.
        """
        if not name or any(branch.name == name for branch in self.branches if branch is not self):
            raise SpecstepError(f"{name!r} is no name for this branch: give one that no other branch has")
        old = self.name
        for branch in self.branches:
            run = branch.header.run
            own = {"branch": name} if branch is self else {}
            off = {"parent": name} if run.get("parent") == old else {}
            branch.header = msgspec.structs.replace(branch.header, run={**run, **own, **off})

    @property
    def restarted(self) -> bool:
        """Whether the engine was started again where this branch begins."""
        return any(event.code == "restarted" and event.round == self.forked_at for event in self.events())

    @property
    def forking(self) -> bool:
        """Whether another branch is about to come off any of them."""
        return any(branch._forks for branch in self.branches)

    def __len__(self) -> int:
        return len(self._rounds)

    def round(self, index: int) -> Round:
        """The round at ``index``."""
        return self._rounds[index]

    def events(self) -> tuple[Event, ...]:
        """What was said so far."""
        said = self.stepper.events if self._said is None else self._said
        if self.forked_at or self._inherited:
            said = tuple(event for event in said if event.round is not None and event.round >= self.forked_at)
        return (*self._inherited, *said, *self._fault)

    def piece(self, token: int) -> bytes | None:
        """The bytes that a token stands for."""
        return self.stepper.piece(token)

    def make(self) -> Round | None:
        """Let the engine make one round; ``None`` when the run is over, or was interrupted before it.

        Raises whatever breaks the run.
        """
        with self._running:
            return self.stepper.step()

    def order(self, rounds: int, until: str | None = "end") -> None:
        """Let the engine make so many rounds ahead of ``make``, up to one that meets ``until``, where it can."""
        if self.engine is not None and rounds > 1 and until is not None:
            self.engine.order(rounds, until)

    def interrupt(self) -> None:
        """Let the engine make no other round than the one it makes now."""
        if self.engine is not None:
            self.engine.interrupt()

    def fork(self, at: int, options: "Options | None" = None, *, drafter: str | None = None) -> "LiveSource":
        """A new branch that has the first ``at`` rounds in common with this one, and goes on in its place.

        Where the engine is gone, another is started and fed those rounds.

        Raises:
            SpecstepError: it cannot be done.
        """
        same = options is None and drafter is None
        again = same and self.engine is not None and self.engine.lost is not None
        with self._running, self._going_back():
            active = self.branches[-1]
            said, end = active.events(), active.end or self.stepper.end()
            run = {"branch": self._free_name("restart" if again else "fork"), "parent": self.name}
            self.stepper.rewind(self._rounds[:at], options, drafter=drafter, run=run)
            active._stop(said, end)
            return LiveSource(self.stepper, self.engine, of=self)

    @property
    def spent(self) -> bool:
        """Whether ``make`` must be called though no more rounds are wanted: for those on their way, or for the end."""
        return self.end is None and (self.stepper.done or (self.engine is not None and self.engine.pending))

    def append(self, round_: Round) -> None:
        """Take in the next round."""
        self._rounds.append(round_)
        self._emitted += round_.count

    def finish(self) -> None:
        """Nothing came: take in the end, if that is why."""
        if self.stepper.done:
            self.end = self.stepper.end()

    def fail(self, message: str) -> None:
        """The run broke in a way that the stepper did not report itself."""
        self._fault = (Event(round=len(self), level="fault", code="fault", message=message),)
        self.end = End(reason="fault", rounds=len(self), emitted=self._emitted)

    def close(self) -> None:
        """End the engine, and a recording: at once where the engine is a process, else after the round it makes.

        A fork in this process is not waited for.
        """
        if self.engine is not None:
            self.engine.close()
        elif self.forking:
            self.stepper.end()
            return
        with self._running:
            self.stepper.end()

    @contextmanager
    def _going_back(self) -> Iterator[None]:
        self._forks = True
        try:
            yield
        finally:
            self._forks = False

    def _free_name(self, kind: str) -> str:
        """A name that no branch has."""
        taken = {branch.name for branch in self.branches}
        return next(name for i in range(len(taken) + 1) if (name := f"{kind}{len(self.branches) + i}") not in taken)

    def _stop(self, said: tuple[Event, ...], end: End) -> None:
        """Another branch goes on; nothing more comes here."""
        self._said = tuple(event for event in said if event not in self._inherited and event not in self._fault)
        self.end = end


def _before(events: tuple[Event, ...], at: int) -> tuple[Event, ...]:
    return tuple(event for event in events if event.round is None or event.round < at)
