"""What a person sees until the source is there: what it is at, how far, and how to give it up. No Textual."""

import time
from collections.abc import Callable

from engine.loading import Loading, Share, Timed, amount, bar, drifting
from tui.lines import Line, Span, left, wrap
from tui.marks import Marks, Role
from tui.numbers import seconds
from tui.text import safe

_WIDEST = 48
"""Cells of a bar at most: a longer one tells no more."""


class Waiting:
    """``loading`` knows the stages of the opening so far; ``stop`` gives it up at once.

    ``can_end`` says whether it can be given up at all; ``quits``, that to leave the program is the same.
    """

    def __init__(
        self,
        title: str,
        loading: Loading | None = None,
        stop: Callable[[], object] = lambda: None,
        clock: Callable[[], float] = time.monotonic,
        *,
        can_end: bool = True,
        quits: bool = True,
    ) -> None:
        self.title = title
        self.can_end = can_end
        self._quits = quits
        self.given_up = False
        self._stop = stop
        self._loading = Loading(tuple, clock=clock) if loading is None else loading

    @property
    def _ends(self) -> str:
        return "esc gives it up" if self.can_end else "it cannot be given up in this process"

    def give_up(self) -> None:
        """It is wanted no more."""
        self.given_up = True
        self._stop()

    def line(self, marks: Marks) -> Line:
        """In one line: what it is at, how far if that can be said, and since when."""
        timed, share = self._loading.look(), self._loading.share()
        now = safe(timed[-1].stage.text, marks) if timed else self.title
        far = "" if share is None else f"{_percent(share)}, "
        return (
            Span(f" {now}", Role.STRONG),
            Span(f"  {far}{seconds(self._loading.seconds)}, {self._ends}", Role.DIM),
        )

    def lines(self, marks: Marks, width: int) -> list[Line]:
        """Stage by stage, each with the time that it took, and a bar for how far it is."""
        timed = self._loading.look()
        lines: list[Line] = [*wrap(self.title, width, Role.STRONG), ()]
        for each in timed:
            lines += _stage(each, marks, width)
        if timed:
            lines += [(), (Span(self._bar(marks, min(width, _WIDEST)), Role.DATA),)]
            lines += wrap(self._words(), width, Role.DIM)
        lines += [(), *wrap("esc or q gives it up" if self.can_end and self._quits else self._ends, width, Role.DIM)]
        return lines

    def _bar(self, marks: Marks, cells: int) -> str:
        share = self._loading.share()
        if share is None:
            return drifting(self._loading.seconds, cells, marks.block, marks.axis)
        return bar(share.value, cells, marks.block, marks.axis)

    def _words(self) -> str:
        """What the bar stands for."""
        share, spent = self._loading.share(), seconds(self._loading.seconds)
        if share is None:
            return f"{spent} so far; how long it takes is not known"
        if not share.estimated:
            return f"{_percent(share)} of this step"
        last = sum(self._loading.earlier.values())
        if self._loading.seconds > last:
            return f"{_percent(share)}; it took {seconds(last)} the last time, and {spent} by now"
        return f"{_percent(share)}, an estimate: it took {seconds(last)} the last time"


def _percent(share: Share) -> str:
    return f"{'about ' * share.estimated}{int(share.value * 100)} %"


def _stage(timed: Timed, marks: Marks, width: int) -> list[Line]:
    """A stage in a line; how many bytes it is far in a second one, where there is no room beside it."""
    sign = Span(f"{marks.accepted if timed.over else marks.plain} ", Role.ACCEPTED if timed.over else Role.PLAIN)
    took = Span(f"{seconds(timed.seconds):>10}", Role.DIM)
    room = max(width - 12, 8)
    text, far = safe(timed.stage.text, marks), "" if timed.over else amount(timed.stage)
    if far and len(text) + 2 + len(far) <= room:
        return [(sign, Span(left(text, room - len(far), marks)), Span(far, Role.DIM), took)]
    second: list[Line] = [(Span(f"  {far}", Role.DIM),)] if far else []
    return [(sign, Span(left(text, room, marks)), took), *second]
