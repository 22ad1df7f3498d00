"""Paints the Cost pane: where the time goes in drafted and plain rounds, what it buys, and which drafts land."""

from tui.lines import Line, Span, flow, left, wrap
from tui.marks import Marks, Role
from tui.moment import Phase
from tui.numbers import factor, milliseconds, probability
from tui.series import Series
from tui.session import Session

TITLE = "Cost"
PHASES = ("draft", "step", "verify", "accept", "rollback", "other")
_LABEL = 9
_FIGURE = 8


def paint(session: Session, marks: Marks, width: int, height: int) -> list[Line]:
    """Medians of the whole run beside the round at the cursor, then rates, then acceptance by position."""
    series = session.series
    if not len(series):
        return wrap(session.nothing("the median time of each phase"), width, Role.DIM)
    times = _times(session, marks, width)
    rates = _rates(series, marks, width)
    positions = _positions(series, marks, width, height - len(times) - len(rates))
    return [*times, *rates, *positions]


def _times(session: Session, marks: Marks, width: int) -> list[Line]:
    series = session.series
    known = [p for p in PHASES if series.drafted_ms.of(p) is not None or series.plain_ms.of(p) is not None]
    if not known:
        return wrap("This trace has no times: the writer recorded none.", width, Role.DIM)
    room = max(0, min(width - _LABEL - 3 * _FIGURE - 1, 24))
    here = session.current
    ms = here.ms if here is not None and here.ms and session.moment.phase is Phase.COMMIT else {}
    head = f"{left('median ms', _LABEL + room, marks)}{'drafted':>{_FIGURE}}{'plain':>{_FIGURE}}{'this':>{_FIGURE}}"
    longest = max(max(series.drafted_ms.of(p) or 0, series.plain_ms.of(p) or 0) for p in known) or 1
    lines: list[Line] = [(Span(head, Role.DIM),)]
    for phase in known:
        drafted = series.drafted_ms.of(phase)
        share = round((drafted or 0) / longest * room)
        lines.append(
            (
                Span(left(phase, _LABEL, marks), Role.DIM),
                Span(left(marks.block * share, room, marks), Role.DATA),
                *_figures(drafted, series.plain_ms.of(phase), ms.get(phase), marks),
            )
        )
    whole = _figures(series.drafted_ms.of("total"), series.plain_ms.of("total"), sum(ms.values()) or None, marks)
    lines.append((Span(left("round", _LABEL + room, marks), Role.DIM), *whole))
    return lines


def _figures(drafted: float | None, plain: float | None, here: float | None, marks: Marks) -> tuple[Span, ...]:
    return (
        Span(f"{milliseconds(drafted) or marks.dash:>{_FIGURE}}", Role.TEXT if drafted is not None else Role.DIM),
        Span(f"{milliseconds(plain) or marks.dash:>{_FIGURE}}", Role.TEXT if plain is not None else Role.DIM),
        Span(f"{milliseconds(here) or marks.dash:>{_FIGURE}}", Role.STRONG if here is not None else Role.DIM),
    )


def _rates(series: Series, marks: Marks, width: int) -> list[Line]:
    stats, wall = series.stats, series.clock[-1]
    figures = (
        (f"{stats.emitted / wall * 1000:.0f}" if wall else None, "tokens/s"),
        (factor(stats.tokens_per_round) if stats.rounds else None, "tokens a round"),
        (f"{factor(series.speedup)}{marks.times}" if series.speedup is not None else None, "speed-up"),
    )
    parts = [(Span(figure, Role.STRONG), Span(f" {name}", Role.DIM)) for figure, name in figures if figure is not None]
    return flow(parts, width)


def _positions(series: Series, marks: Marks, width: int, height: int) -> list[Line]:
    rates = series.stats.by_position.drafted_only
    if not rates:
        return [(Span("No round has drafted, so no position was accepted.", Role.DIM),)]
    title = (Span("accepted by draft position", Role.DIM),)
    if height < len(rates) + 1:
        return [title, (Span(" ".join(f"{probability(rate) or '0':>4}" for rate in rates)),)]
    room = max(4, min(width - 12, 40))
    rows: list[Line] = [
        (
            Span(f"{i:>4} ", Role.DIM),
            Span(left(marks.block * round(rate * room), room, marks), Role.DATA),
            Span(f" {probability(rate):>4}"),
        )
        for i, rate in enumerate(rates, 1)
    ]
    return [title, *rows]
