"""Paints the Fallback pane: the rolling mean against the bar, where drafting was given up, and what would pay."""

import math
from collections.abc import Sequence
from typing import NamedTuple, Protocol

from engine.conditions.about import window_of
from engine.stats import MINIMUM_SAMPLES
from engine.whatif import Kind, flip_words, limits, rounds_words, rule_of, time_words
from tui.blocks import spans
from tui.lines import Line, Span, flow, merged, width_of, wrap
from tui.marks import Marks, Role
from tui.numbers import factor
from tui.plot import Range, Ruler, Scale, curve, pixels_per_cell, ruled_rows
from tui.series import Fact, Series
from tui.session import Session
from tui.whatif import WhatIf

TITLE = "Fallback"
_LABEL = 5
_LOWEST = 4
_COUNTS = 8
"""Counts of the window that are written out, the last ones."""
_STRETCH = 4
"""Cells a round gets at most where there are few."""


def paint(session: Session, marks: Marks, width: int, height: int) -> list[Line]:
    """The curve in the height that the figures leave, at least four lines of it."""
    if session.source.header.drafter is None:
        return wrap(
            "This run has no drafter: every round is plain, there is nothing to fall back from.", width, Role.DIM
        )
    if not session.revealed:
        return wrap(session.nothing("the mean of tokens a round, plotted against the bar,"), width, Role.DIM)
    levels = _levels(session, marks)
    bar = bar_of(session)
    figures = (
        _figures(session, marks, bar, width)
        if session.whatif is None
        else _asked(session.whatif, session, marks, width)
    )
    plotted = max(_LOWEST, height - len(figures) - 1)
    return [*_plot(session, marks, width, plotted, levels), _axis(session, marks, width), *figures]


def bar_of(session: Session) -> float:
    """The bar of the run in tokens a round, 0 where there is none."""
    return rule_of(session.source.header.options).bar


def _levels(session: Session, marks: Marks) -> list[Ruler]:
    """The lines across the plot, the one that the curve is held against first."""
    bar, asked = bar_of(session), session.whatif
    levels = [Ruler(bar, marks.bar_line, Role.BAR)] if bar else []
    if asked is not None and asked.bar:
        levels.insert(0, Ruler(asked.bar, marks.asked_line, Role.KEY))
    return levels


class Shown(NamedTuple):
    """The rounds of the curve: the first ``stop``, ``cells`` cells each, or ``parts`` of them in a cell each.

    They have ``room`` cells; after them stands how many ``more`` there are.
    """

    stop: int
    cells: int
    parts: Sequence[tuple[int, int]]
    room: int
    more: str


def shown(session: Session, width: int) -> Shown:
    """All rounds; but of the plain ones after the last drafted only a few, they have no mean."""
    series = session.series
    stop = min(session.revealed, series.last_drafted + 1 + max(4, series.last_drafted // 8))
    more, room = "", width
    if session.revealed > stop:
        # The words only where every round still has a cell.
        words = (f" {session.revealed - stop} more plain", f" +{session.revealed - stop}")
        more = words[width - len(words[0]) - 1 < stop]
        room = max(1, width - len(more) - 1)
    cells = max(1, min(room // max(stop, 1), _STRETCH))
    return Shown(stop, cells, spans(stop, room), room, more)


def _plot(session: Session, marks: Marks, width: int, height: int, levels: Sequence[Ruler]) -> list[Line]:
    highest = max((level.value for level in levels), default=0.0)
    top = float(max(session.series.top, math.ceil(highest) + 1, 2))
    cells = width - _LABEL
    columns = _columns(session, marks, shown(session, cells))
    ruled = ruled_rows(levels, Scale(0.0, top, height * pixels_per_cell(marks)[1]), height)
    lines = []
    drawn = curve(columns, height, 0.0, top, levels[0].value if levels else None, marks, levels)
    for y, line in enumerate(drawn):
        ruler = ruled.get(y)
        rest = () if ruler is None else (Span(ruler.sign * (cells - width_of(line)), ruler.role),)
        lines.append((_label(y, height, top, ruler, marks), *line, *rest))
    return lines


class _Means(Protocol):
    """The rolling means that are plotted: those of the run, or those over another window."""

    def mean(self, index: int) -> float | None: ...
    def over(self, start: int, stop: int) -> tuple[float, float] | None: ...


class _Recorded(NamedTuple):
    series: Series

    def mean(self, index: int) -> float | None:
        return self.series.mean(index)

    def over(self, start: int, stop: int) -> tuple[float, float] | None:
        low = self.series.low.over(start, stop)
        return (low, self.series.high.over(start, stop)) if math.isfinite(low) else None


def _columns(session: Session, marks: Marks, part: Shown) -> list[Range | None]:
    """A pixel column each: straight lines between rounds that have room, else the range of the rounds in it."""
    means: _Means = session.whatif or _Recorded(session.series)
    across, _ = pixels_per_cell(marks)
    if part.stop <= part.room:
        each = part.cells * across
        return [_between(means, x // each, x % each / each) for x in range((part.stop - 1) * each + 1)]
    columns, pixels = [], part.room * across
    for x in range(pixels):
        # There may be more of them than rounds, though fewer cells.
        start = x * part.stop // pixels
        swing = means.over(start, max(start + 1, (x + 1) * part.stop // pixels))
        columns.append(Range(*swing) if swing is not None else None)
    return columns


def _between(means: _Means, index: int, share: float) -> Range | None:
    """The mean a share of the way from a round to the next."""
    here, there = means.mean(index), means.mean(index + 1) if share else None
    if here is None:
        return None
    if not share:
        return Range(here, here)
    if there is None:
        return None
    value = here + (there - here) * share
    return Range(value, value)


def _label(y: int, height: int, top: float, ruler: Ruler | None, marks: Marks) -> Span:
    """The value at the top and bottom lines, and at a bar's."""
    edge = "|" if marks.plain_text else "┤"
    if ruler is not None:
        return Span(f"{ruler.value:4.{1 if ruler.value < 100 else 0}f}{edge}", ruler.role)
    if y in (0, height - 1):
        return Span(f"{0.0 if y else top:4.1f}{edge}", Role.DIM)
    return Span("    " + marks.vertical, Role.DIM)


def _axis(session: Session, marks: Marks, width: int) -> Line:
    series = session.series
    cells = width - _LABEL
    part = shown(session, cells)
    asked = None if session.whatif is None else session.whatif.answer.flip
    row = [Span(" " * (_LABEL - 1) + marks.corner, Role.DIM)]
    beyond = part.more != "" and session.moment.index >= part.stop
    here = -1 if beyond else min(session.moment.index, part.stop - 1)
    for start, stop in part.parts:
        facts = series.facts.over(start, stop)
        cursor = start <= here < stop
        fill = marks.plain if facts & Fact.PLAIN else marks.axis
        if facts & Fact.FLIP:
            row.append(Span(marks.flip, Role.CURSOR if cursor else Role.FLIP))
        elif asked is not None and start <= asked < stop:
            row.append(Span(marks.asked, Role.CURSOR if cursor else Role.KEY))
        elif cursor:
            row.append(Span(marks.cursor, Role.CURSOR))
        else:
            row.append(Span(fill, Role.PLAIN if facts & Fact.PLAIN else Role.DIM))
        row.append(Span(fill * (part.cells - 1), Role.PLAIN if facts & Fact.PLAIN else Role.DIM))
    if beyond:
        row.append(Span(marks.cursor, Role.CURSOR))
    rest = cells - len(part.parts) * part.cells - beyond
    row.append(Span(part.more[:rest], Role.DIM))
    return merged(row)


def _asked(asked: WhatIf, session: Session, marks: Marks, width: int) -> list[Line]:
    """The what-if in words."""
    answer, rule, source = asked.answer, asked.rule, session.source
    recorded = f"recorded {rule.bar:.2f} over {rule.window}" if rule.bar else "recorded without a bar"
    what = (Span("what if ", Role.STRONG), Span(f"bar {asked.bar:.2f} over {asked.window}", Role.KEY))
    even = "not known" if asked.even is None else f"{factor(asked.even)}"
    sign = f"{marks.asked} " if answer.flip is not None else ""
    lines = flow((what, (Span(recorded, Role.DIM),)), width)
    lines += wrap(f"{sign}{flip_words(answer)}", width, Role.KEY)
    lines += flow(((Span(rounds_words(answer), Role.STRONG),), (Span(time_words(answer)),)), width)
    lines += flow(((Span("break-even ", Role.DIM), Span(even)),), width)
    notes = [] if answer.kind is Kind.UNKNOWN else limits(source.header, source.end, answer)
    return [*lines, *(line for note in notes for line in wrap(note, width, Role.DIM))]


def _figures(session: Session, marks: Marks, bar: float, width: int) -> list[Line]:
    lines = [*_state(session, marks, bar, width), *_window(session, width)]
    even, speedup = session.series.break_even, session.series.speedup
    if even is None:
        yet = "" if session.ended and session.series.complete else " yet"
        needs = f"break-even not known{yet}: it takes {MINIMUM_SAMPLES} timed drafted rounds and a timed plain step"
        return lines + wrap(needs, width, Role.DIM)
    costs = (Span("break-even ", Role.DIM), Span(f"{factor(even)} tokens a round"))
    pays = (Span(f"{factor(speedup)}{marks.times}", Role.STRONG), Span(" speed-up", Role.DIM))
    return lines + flow((costs, pays), width)


def _state(session: Session, marks: Marks, bar: float, width: int) -> list[Line]:
    flip = session.series.flip
    if flip is not None and session.settled >= flip:
        mean = f"the mean was below {round(bar, 2):g}" if bar else "plain from there"
        return flow(((Span(f"{marks.flip} flip after round {flip}", Role.FLIP),), (Span(mean),)), width)
    if not bar:
        return wrap("no bar is set, so drafting is never given up", width, Role.DIM)
    held, size = _held(session), window_of(session.source.header)
    if flip is not None and flip < session.revealed:
        says = f"the flip comes after round {flip}"
    elif len(held.counts) < size:
        says = f"there is no verdict on fewer than {size} rounds"
    elif held.mean is not None and held.mean < bar:
        says = f"though the mean is below {round(bar, 2):g}"
    else:
        says = f"the mean has not sunk below {round(bar, 2):g}"
    return flow(((Span("drafting", Role.STRONG),), (Span(says, Role.DIM),)), width)


class _Held(NamedTuple):
    """What the rule has in its window behind the cursor."""

    counts: tuple[int, ...]
    mean: float | None


def _held(session: Session) -> _Held:
    index = session.settled
    round_ = session.round(index) if index >= 0 else None
    if round_ is not None and round_.fallback is not None:
        return _Held(round_.fallback.window, round_.fallback.mean)
    counts = _recent(session, index, window_of(session.source.header))
    return _Held(counts, sum(counts) / len(counts) if counts else None)


def _window(session: Session, width: int) -> list[Line]:
    (counts, mean), size = _held(session), window_of(session.source.header)
    shown = " ".join(map(str, counts[-_COUNTS:])) or "empty"
    more = "" if len(counts) >= size else f" of {size}"
    held = (Span("window ", Role.DIM), Span(shown), Span(f" ({len(counts)}{more} rounds)", Role.DIM))
    value = () if mean is None else (Span("mean ", Role.DIM), Span(f"{mean:.2f}", Role.STRONG))
    return flow((held, value) if value else (held,), width)


def _recent(session: Session, index: int, size: int) -> tuple[int, ...]:
    """The emitted counts of the last drafted rounds up to ``index``, looked for nearby only."""
    counts: list[int] = []
    for i in range(index, max(-1, index - 8 * size - 64), -1):
        round_ = session.round(i)
        if round_.drafted or round_.reason == "zero-draft":
            counts.append(round_.count)
            if len(counts) == size:
                break
    return tuple(reversed(counts))
