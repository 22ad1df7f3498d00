"""The state of the screen: a source, a cursor that walks over its rounds, a pending count, play and pause. Pure."""

from functools import lru_cache

from engine.records import Event, Round, RoundSource
from tui import goto
from tui.bookmarks import Bookmarks
from tui.breakpoints import Breakpoints
from tui.findings import Found
from tui.keys import KEYS, Key, shown
from tui.moment import START, Moment, Phase, phases_of
from tui.search import Search
from tui.series import Fact, Series
from tui.whatif import WhatIf

SPEEDS = (1, 2, 4, 8, 16, 32, 64)
"""Rounds a second when playing."""

ENDLESS = 10**9
"""Rounds owed by a run without an end of its own."""
_NOTHING = "there is no round yet to go back from"
_MANY = 6
"""Digits of a pending count: nobody means more."""


class Session:
    """A walk over the rounds of a source.

    Steps beyond the last round of a live source are owed: ``owed`` rounds are to be made, and each that arrives moves
    the cursor on. ``note`` says what the last move met. Where somebody else makes the rounds, ``following`` says that
    the cursor stays at the newest, and ``quiet`` for how many seconds none has come. ``keys`` are the keys as they are
    set, for whoever writes which to press.
    """

    def __init__(self, source: RoundSource) -> None:
        self.source = source
        self.keys: tuple[Key, ...] = KEYS
        self.series = Series(source)
        self.found = Found()
        self.search: Search | None = None
        self.bookmarks = Bookmarks()
        self.whatif: WhatIf | None = None
        self.breakpoints = Breakpoints()
        self.running = ""
        self.until: str | None = "end"
        self.moment = START
        self.count = ""
        self.playing = False
        self.owed = 0
        self.note = ""
        self.following = False
        self.quiet = 0
        self._into = False
        self._speed = SPEEDS.index(4)
        self.round = lru_cache(maxsize=2048)(source.round)
        if len(source):
            self.moment = Moment(0)

    @property
    def speed(self) -> int:
        """Rounds a second when playing."""
        return SPEEDS[self._speed]

    @property
    def rate(self) -> str:
        """The speed in words."""
        return f"{self.speed} round{'' if self.speed == 1 else 's'} a second"

    @property
    def last(self) -> int:
        """The number of the last round there is, -1 before the first."""
        return len(self.source) - 1

    @property
    def ended(self) -> bool:
        """Whether no more rounds can come."""
        return not self.source.live or self.source.end is not None

    @property
    def at_end(self) -> bool:
        """Whether the cursor has seen everything there is."""
        return self.moment.index >= self.last and self.moment.phase is Phase.COMMIT

    @property
    def current(self) -> Round | None:
        """The round at the cursor."""
        return self.round(self.moment.index) if self.moment.index >= 0 else None

    @property
    def settled(self) -> int:
        """The last round whose commit is behind the cursor, -1 before the first."""
        return self.moment.index - (self.moment.phase is not Phase.COMMIT)

    @property
    def revealed(self) -> int:
        """How many rounds may be shown whole: not the one that a live run is being led through."""
        inside = self.source.live and self.moment.phase is not Phase.COMMIT and self.moment.index == self.last
        return len(self.series) - inside

    def key(self, id_: str) -> str:
        """How a key is written, by its id."""
        return shown(id_, self.keys)

    def nothing(self, what: str) -> str:
        """Why a pane has nothing to show of the rounds, and what it would be."""
        if self.ended and not len(self.source):
            return f"The run ended before its first round. Else {what} would stand here."
        return f"No round yet: {what} will stand here."

    def messages(self, index: int) -> tuple[Event, ...]:
        """What was said in a round."""
        return tuple(event for event in self.source.events() if event.round == index)

    def digit(self, digit: str) -> None:
        """Add a digit to the pending count."""
        self.count = (self.count + digit)[-_MANY:].lstrip("0")

    def take_count(self) -> int | None:
        """The pending count, which is used up by this."""
        count, self.count = self.count, ""
        return int(count) if count else None

    def forward(self, count: int = 1) -> None:
        """Go on by whole rounds, making them where they are not there yet."""
        index = self.moment.index
        here = index if self.moment.phase is not Phase.COMMIT else index + 1
        self.note = ""
        target = min(here + count - 1, self.last)
        if target >= here:
            self.moment = Moment(target)
        self._owe(here + count - 1 - max(target, here - 1))

    def back(self, count: int = 1) -> None:
        """Go back by whole rounds, not before the first."""
        self._drop_debts()
        target = self.moment.index - count
        if self.moment.index < 0:
            self.note = _NOTHING
        elif self.moment == Moment(0):
            self.note = "this is the first round"
        self.moment = Moment(max(target, min(0, self.last)))

    def into(self) -> None:
        """One phase on; behind a finished round, into the first phase of the next."""
        self.note = ""
        index, phase = self.moment.index, self.moment.phase
        if index >= 0 and phase is not Phase.COMMIT:
            later = [other for other in phases_of(self.round(index)) if other > phase]
            self.moment = Moment(index, later[0])
        elif index < self.last:
            self.moment = Moment(index + 1, phases_of(self.round(index + 1))[0])
        else:
            self._owe(1)
            self._into = self.owed > 0

    def out(self) -> None:
        """One phase back; before a round's first phase stands the round before."""
        self._drop_debts()
        index, phase = self.moment.index, self.moment.phase
        if index < 0:
            self.note = _NOTHING
            return
        earlier = [other for other in phases_of(self.round(index)) if other < phase]
        if earlier:
            self.moment = Moment(index, earlier[-1])
        elif index > 0:
            self.moment = Moment(index - 1)
        else:
            self.note = "this is the first phase of the first round"

    def event(self, step: int) -> bool:
        """To the next (1) or previous (-1) event; whether there was one."""
        self._drop_debts()
        index = self.moment.index
        found = self.series.next_event(index) if step > 0 else self.series.previous_event(index)
        if found is None:
            where = "after" if step > 0 else "before"
            more = "" if self.ended or step < 0 else " so far"
            self.note = f"no event {where} this round{more}"
            return False
        self.moment = Moment(found)
        return True

    def here(self) -> str:
        """The events of the round at the cursor in words."""
        index = self.moment.index
        if not 0 <= index < len(self.series):
            return ""
        found = self.found.at(index)
        return describe(Fact(self.series.facts.values[index])) + (
            f" {found[0].rule}: {found[0].message}" if found else ""
        )

    def go(self, text: str) -> None:
        """To the place that ``text`` names; raises ``goto.NoSuchPlace``."""
        self.jump(goto.find(text, self.series))

    def jump(self, index: int) -> None:
        """To a round, the nearest there is."""
        self._drop_debts()
        self.moment = Moment(max(min(index, self.last), min(0, self.last)))

    def play(self) -> None:
        """Start to play, or pause."""
        self.playing = not self.playing and not (self.at_end and self.ended)
        if not self.playing:
            self._drop_debts()

    def run_on(self, words: str, until: str | None) -> None:
        """Go on, making rounds, until somebody stops it or the run is over; ``words`` say where to.

        Whoever makes the rounds may make them ahead up to one that meets ``until``, but none with ``None``.
        """
        self.note = ""
        self._owe(ENDLESS)
        self.running, self.until = (words, until) if self.owed else ("", "end")

    def pause(self) -> None:
        """Stop playing."""
        self.playing = False

    def tick(self) -> None:
        """One beat while playing: a round on."""
        if self.playing and not self.owed:
            self.forward()
            if self.at_end and self.ended:
                self.playing = False

    def faster(self, step: int) -> None:
        """Change the speed by so many notches; said while nothing plays that would show it."""
        wanted = self._speed + step
        self._speed = max(0, min(wanted, len(SPEEDS) - 1))
        if wanted != self._speed:
            self.note = f"{self.rate} is the {'most' if step > 0 else 'least'}"
        elif not self.playing:
            self.note = f"{self.rate} when {self.key('run.play')} runs it"

    def interrupt(self) -> None:
        """Stop playing and want no more rounds; a pending count is dropped."""
        was_busy = self.playing or self.owed
        self.playing = False
        self.count = ""
        self._drop_debts()
        if was_busy:
            self.note = "interrupted"

    def arrived(self) -> None:
        """Rounds were added to the source: pay the debts with them."""
        self.series.take_in(len(self.source))
        while self.owed and self.moment.index < self.last:
            self.owed -= 1
            index = self.moment.index + 1
            into = self._into and not self.owed
            self.moment = Moment(index, phases_of(self.round(index))[0] if into else Phase.COMMIT)
            self._into = self._into and self.owed > 0
        if self.ended:
            self.playing = False
            self._drop_debts()

    def _owe(self, count: int) -> None:
        self.owed = 0 if self.ended else self.owed + max(count, 0)

    def _drop_debts(self) -> None:
        self.note = self.running = ""
        self.until = "end"
        self.owed = 0
        self._into = False


def describe(facts: Fact) -> str:
    """The events of a round in words."""
    names = (
        (Fact.FAULT, "fault"),
        (Fact.FLIP, "the flip: drafting is given up"),
        (Fact.NONE, "all drafts rejected"),
        (Fact.ALL, "all drafts accepted"),
        (Fact.TIE, "near-tie"),
        (Fact.WARNING, "warning"),
        (Fact.SLOW, "slow"),
        (Fact.FINDING, "finding"),
    )
    return ", ".join(name for fact, name in names if facts & fact)
