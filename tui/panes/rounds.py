"""Paints the Rounds pane: the timeline, a column a round around the cursor, and the whole run where it is longer."""

from tui.blocks import spans
from tui.lines import Line, Span, merged, wrap
from tui.marks import Marks, Role
from tui.series import Fact
from tui.session import Session

TITLE = "Rounds"


def paint(session: Session, marks: Marks, width: int, height: int) -> list[Line]:
    """Bars of tokens, a line of signs under them, and a line for the whole run if it does not fit."""
    total = len(session.series)
    if not total:
        return wrap(session.nothing("a column for each, as high as the tokens it emitted,"), width, Role.DIM)
    start, stop = shown(session, width)
    overview = [_overview(session, marks, width, start, stop)] if _is_long(session, width, height) else []
    gap = " " * _gap(session, width)
    bars = _bars(session, marks, start, stop, max(1, height - 1 - len(overview)), gap)
    return [*bars, _signs(session, marks, start, stop, gap), *overview]


def legend(marks: Marks) -> str:
    """What the columns and signs mean, for the pane's frame."""
    signs = f"{marks.rejected} none accepted  {marks.tie} near-tie  {marks.flip} flip  {marks.plain} plain"
    return f"{signs}  {marks.finding} finding or message"


def shown(session: Session, width: int) -> tuple[int, int]:
    """The rounds that have a column: all, or those around the cursor."""
    total = len(session.series)
    start = max(0, min(session.moment.index - width // 2, total - width))
    return start, min(total, start + width)


def _is_long(session: Session, width: int, height: int) -> bool:
    """Whether there is a line for the whole run: it does not fit, and there is room."""
    return session.series.total > width and height >= 3


def _gap(session: Session, width: int) -> int:
    """Empty cells between the columns: one, while all rounds fit with it."""
    return 1 if len(session.series) * 2 <= width else 0


def round_at(session: Session, x: int, y: int, width: int, height: int) -> int | None:
    """The round under a cell of the pane."""
    start, stop = shown(session, width)
    if _is_long(session, width, height) and y == height - 1:
        return spans(session.series.total, width)[x][0]
    index = start + x // (1 + _gap(session, width))
    return index if index < stop else None


def _bars(session: Session, marks: Marks, start: int, stop: int, height: int, gap: str) -> list[Line]:
    series = session.series
    steps = len(marks.heights)
    lines = []
    for row in range(height - 1, -1, -1):
        line = []
        for i in range(start, stop):
            plain = series.facts.values[i] & Fact.PLAIN
            role = Role.STRONG if i == session.moment.index else Role.PLAIN if plain else Role.DATA
            if i >= session.revealed:
                bar = " " if row else marks.unjudged
            elif plain:
                bar = " " if row else marks.plain
            else:
                eighths = max(1, round(series.counts.values[i] / series.top * steps * height)) - row * steps
                bar = " " if eighths <= 0 else marks.heights[min(eighths, steps) - 1]
            line += [Span(bar, role), Span(gap)]
        lines.append(merged(line))
    return lines


def _signs(session: Session, marks: Marks, start: int, stop: int, gap: str) -> Line:
    signs = (
        (Fact.FAULT | Fact.WARNING | Fact.FINDING, marks.finding, Role.WARNING),
        (Fact.FLIP, marks.flip, Role.FLIP),
        (Fact.NONE, marks.rejected, Role.REJECTED),
        (Fact.TIE, marks.tie, Role.TIE),
    )
    line = []
    for i in range(start, stop):
        facts = session.series.facts.values[i] if i < session.revealed else 0
        sign, role = next(((sign, role) for fact, sign, role in signs if facts & fact), (" ", Role.TEXT))
        if session.breakpoints.at(i):
            sign, role = marks.stop, Role.KEY
        if sign != marks.finding and i in session.bookmarks.names:
            sign, role = marks.bookmark, Role.KEY
        if i == session.moment.index:
            sign, role = (marks.cursor if sign == " " else sign), Role.CURSOR
        line += [Span(sign, role), Span(gap)]
    return merged(line)


def _overview(session: Session, marks: Marks, width: int, start: int, stop: int) -> Line:
    series = session.series
    steps = len(marks.heights)
    line = []
    for first, last, most, facts in series.overview(width):
        inside = first < stop and last > start
        role = Role.STRONG if inside else Role.PLAIN if facts & Fact.PLAIN else Role.DIM
        if facts & (Fact.FINDING | Fact.FAULT | Fact.FLIP):
            found = facts & (Fact.FINDING | Fact.FAULT)
            line.append(Span(marks.finding, Role.WARNING) if found else Span(marks.flip, Role.FLIP))
            continue
        level = 0 if most is None else min(max(round(most / series.top * steps), 1), steps)
        line.append(Span(marks.heights[level - 1] if level else marks.unjudged, role))
    return merged(line)
