"""Breakpoints at the keys: set, listed, run to, walked over."""

import time
from collections.abc import Callable

from textual.timer import Timer

from tui.breakpoints import Answer, Breakpoint, Breakpoints, Hit
from tui.features.feature import Feature, Host
from tui.session import Session

_BEAT = 1 / 30
"""Seconds between two looks while rounds are looked at."""
_AWAITED, _ASIDE = 0.024, 0.006
"""Seconds of a beat that are spent on it: when somebody waits for it, and when not."""


class Breaks(Feature):
    """Looks at the rounds of a source in the background, so that hits are known by number on both sides."""

    name = "breaks"

    def __init__(self, host: Host) -> None:
        super().__init__(host)
        self.breakpoints = Breakpoints()
        self._beat: Timer | None = None
        self._wanted: Callable[[], bool] | None = None
        self._from = -1

    # Hooks.

    def opened(self, session: Session) -> None:
        session.breakpoints = self.breakpoints
        self._wanted = None
        self._from = session.moment.index
        self.breakpoints.look_at(session.source)
        self._watch()

    def grew(self, session: Session) -> None:
        if session.source.live and self.breakpoints.all:
            self._look(_ASIDE)
            if session.running:
                self._stop_live(session)
        self._watch()

    def changed(self, session: Session) -> None:
        index = session.moment.index
        if session.playing and index != self._from:
            hit = self.breakpoints.stop_at(index)
            if hit is not None:
                session.pause()
                session.note = str(hit)
        if not session.running:
            self._from = index

    def escaped(self) -> bool:
        session, waited = self.host.session, self._wanted is not None
        self._wanted = None
        if waited and session is not None:
            session.interrupt()
            session.note = f"interrupted after {self.breakpoints.seen} of {len(session.source)} rounds"
        return waited

    # Keys.

    def set(self) -> None:
        """A breakpoint at the round of the count, or at a condition that is asked for."""
        session = self.host.session
        if session is None:
            return
        session.pause()
        count = self.host.count()
        if count is not None:
            self._toggle(f"round == {count}")
            return
        from tui.screens.condition import ConditionPrompt  # noqa: PLC0415 (where it is asked for)

        here = max(session.moment.index, 0)
        hint = f"Stop where this holds; enter alone stops at this round, {here}. After it may stand hit 3 or every 10."
        self.host.push(ConditionPrompt("break", hint, "", self.add, f"round == {here}"))

    def list(self) -> None:
        """All breakpoints over the whole screen."""
        session = self.host.session
        if session is None:
            return
        from tui.screens.breaks import BreaksScreen  # noqa: PLC0415 (where it is asked for)

        session.pause()
        self.host.push(BreaksScreen(self.host.marks, self, session))

    def run(self, direction: int) -> None:
        """To the next place to stop at, making rounds where a live run has none; backward (-1) among those made."""

        def begin(session: Session, _: int) -> None:
            session.pause()
            start = session.moment.index
            if direction < 0:
                self._seek(lambda: self._arrive(session, self.breakpoints.behind(start), 0))
            elif session.ended:
                self._seek(lambda: self._arrive(session, self.breakpoints.ahead(start), session.last))
            else:
                self._run_live(session, start)

        self.host.move(begin)

    def walk(self, direction: int) -> None:
        """To the next (1) or previous (-1) hit, by as many as the count says."""

        def begin(session: Session, count: int) -> None:
            session.pause()
            if not self.breakpoints.enabled:
                session.note = f"there is no breakpoint: {session.key('break.set')} sets one"
                return
            left = [count]

            def step() -> bool:
                while left[0]:
                    index = session.moment.index
                    look = self.breakpoints.ahead if direction > 0 else self.breakpoints.behind
                    if not self._arrive(session, look(index, counted=False), None):
                        return False
                    left[0] = 0 if session.moment.index == index else left[0] - 1
                return True

            self._seek(step)

        self.host.move(begin)

    # What the list does.

    def add(self, text: str) -> None:
        """A new breakpoint; raises ``BadCondition``."""
        added = self.breakpoints.add(text)
        self._watch()
        self.host.say(f"breakpoint {added.number}: {added.stop.text}")

    def remove(self, each: Breakpoint) -> None:
        """One less."""
        self.breakpoints.remove(each)
        self.host.after()

    def go(self, hit: Hit) -> None:
        """To a hit."""
        session = self.host.session
        if session is not None:
            self._to(session, hit)
            self.host.after()

    def touched(self) -> None:
        """A breakpoint was changed."""
        self._watch()
        self.host.after()

    # Behind the keys.

    def _toggle(self, text: str) -> None:
        there = self.breakpoints.of(text)
        if there is None:
            self.add(text)
        else:
            self.breakpoints.remove(there)
            self.host.say(f"breakpoint {there.number} is gone: {text}")

    def _seek(self, arrive: Callable[[], bool]) -> None:
        """Have ``arrive`` called until it is there, while more rounds are looked at."""
        there = arrive()
        if not there:
            self._look(_AWAITED)
            there = arrive()
        self._wanted = None if there else arrive
        self._watch()

    def _arrive(self, session: Session, answer: Answer, end: int | None) -> bool:
        """Go where the answer says, once it is known; ``end`` is where to go without a hit, ``None`` to stay."""
        if not answer.known:
            looked = f"{self.breakpoints.seen} of {len(session.source)} rounds looked at"
            session.running = f"to the next breakpoint, {looked}"
            return False
        session.running = ""
        if answer.hit is not None:
            self._to(session, answer.hit)
        elif end is None:
            session.note = "no hit on this side of the round"
        else:
            session.jump(end)
            where = "end" if end else "start"
            none = "no breakpoint was hit" if self.breakpoints.enabled else "there is no breakpoint"
            session.note = f"{where} of the rounds: {none}"
        return True

    def _to(self, session: Session, hit: Hit) -> None:
        session.jump(hit.round)
        session.note = str(hit)

    def _run_live(self, session: Session, start: int) -> None:
        answer = self.breakpoints.ahead(start)
        if answer.hit is not None:
            self._seek(lambda: self._arrive(session, self.breakpoints.ahead(start), None))
            return
        self._from = start
        words = "to the next breakpoint" if self.breakpoints.enabled else "to the end"
        session.run_on(words, self.breakpoints.until())

    def _stop_live(self, session: Session) -> None:
        """Stop a run that has come to a breakpoint."""
        answer = self.breakpoints.ahead(self._from)
        if answer.hit is not None and answer.hit.round <= session.moment.index:
            self._to(session, answer.hit)
        elif answer.known:
            self._from = session.moment.index

    def _look(self, seconds: float) -> None:
        until = time.perf_counter() + seconds
        while self.breakpoints.go_on() and time.perf_counter() < until:
            pass

    def _watch(self) -> None:
        """Look at rounds at once and from time to time, while there are any to be looked at, or somebody waits."""
        if self._beat is None:
            self._look(_ASIDE)
        idle = self.breakpoints.complete and self._wanted is None
        if idle and self._beat is not None:
            self._beat.stop()
            self._beat = None
        elif not idle and self._beat is None:
            self._beat = self.host.every(_BEAT, self._on_beat)

    def _on_beat(self) -> None:
        self._look(_ASIDE if self._wanted is None else _AWAITED)
        if self._wanted is not None and self._wanted():
            self._wanted = None
        self._watch()
        self.host.after()
