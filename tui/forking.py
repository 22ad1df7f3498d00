"""A fork on its way, or an engine that is started again: what it is at, how far, and how it is given up. No Textual."""

from threading import Event, Thread

from engine import loads
from engine.loading import Loading
from engine.paths import loads_file
from engine.stages import Stage, heard_by
from tui.changes import Changes
from tui.live import Engine, LiveSource
from tui.opening import Heard
from tui.waiting import Waiting

SOON = 0.5
"""Seconds within which most forks are there: nothing is shown of them."""
_AGAIN = 0.02


class Forking:
    """Another branch that is to come off ``source`` behind its first ``at`` rounds.

    An engine that is a process ends with a fork that is given up, for what it loads cannot be cut short; one in this
    process cannot even be ended.
    """

    def __init__(self, source: LiveSource, at: int, wanted: Changes) -> None:
        self._source, self._at, self._wanted = source, at, wanted
        self._engine = source.engine
        self._again = self._engine is not None and self._engine.lost is not None
        self._known = 0 if self._engine is None else len(self._engine.stages)
        self._heard = Heard()
        self._told: tuple[Stage, ...] = ()
        self._key = f"{source.header.base.name}, then {self._title}"
        self._loading = Loading(self._stages, loads.earlier(loads_file(), self._key))
        self._over = Event()
        self.given_up = False
        self.waiting = Waiting(self._title, self._loading, self.give_up, can_end=self.can_end, quits=False)

    @property
    def says(self) -> str:
        """What it is, in a word or three."""
        return "starting again" if self._again else "forking"

    @property
    def can_end(self) -> bool:
        """Whether it can be given up."""
        return self._engine is not None

    @property
    def long(self) -> bool:
        """Whether it takes long enough for one to want to see how far it is."""
        return self._loading.seconds >= SOON

    def make(self) -> LiveSource:
        """The branch, when it is there.

        Raises:
            SpecstepError: it cannot be had, or was given up.
        """
        try:
            with heard_by(self._heard):
                made = self._source.fork(self._at, self._wanted.options, drafter=self._wanted.drafter)
        finally:
            self._over.set()
        if self.long:
            loads.keep(loads_file(), self._key, self._loading.times())
        return made

    def give_up(self) -> None:
        """Want it no more."""
        if self._engine is not None and not self.given_up:
            self.given_up = True
            Thread(target=self._end, args=(self._engine,), daemon=True).start()

    def given_up_for(self, restart: str) -> str:
        """What came of giving it up; ``restart`` is the key that starts an engine."""
        if self._again:
            return f"starting the engine again was given up: {restart} tries once more"
        return f"the fork was given up, and the engine with it: {restart} starts it again"

    @property
    def _title(self) -> str:
        drafter = self._wanted.drafter
        if self._again:
            return "starting the engine again" + ("" if drafter is None else f" with drafter {drafter}")
        return "going back in the run" if drafter is None else f"opening drafter {drafter}"

    def _end(self, engine: Engine) -> None:
        """Kill the engine, and the one that is started for it at once, until the fork has failed."""
        while not self._over.is_set():
            engine.kill()
            self._over.wait(_AGAIN)

    def _stages(self) -> tuple[Stage, ...]:
        told = self._heard.stages if self._engine is None else self._engine.stages[self._known :]
        if len(told) >= len(self._told):
            self._told = told  # less is told where an engine is gone, or not taken over yet
        return (Stage(self._title), *self._told)
