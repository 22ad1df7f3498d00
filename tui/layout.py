"""The panes in their order, and the lines that name them."""

from collections.abc import Callable, Iterator

from tui.lines import Line, Span, width_of
from tui.marks import Marks, Role
from tui.panes import cost, fallback, findings, rounds, text
from tui.panes import round as round_pane
from tui.panes.pane import Painter, Pane
from tui.session import Session

Liner = Callable[[int], Line]
"""Makes a line for a width."""

NAMES = ("Text", "Round", "Fallback", "Cost", "Rounds", "Findings")
TEXT, ROUND, FALLBACK, ROUNDS, FINDINGS = 1, 2, 3, 5, 6


PAINTERS: tuple[Painter, ...] = (
    text.paint,
    round_pane.paint,
    fallback.paint,
    cost.paint,
    rounds.paint,
    findings.paint,
)
"""What paints the panes, in the order of ``NAMES``."""


def panes() -> Iterator[Pane]:
    """The widgets, in the order in which they fill the grid."""
    for number in (1, 2, 3, 4, FINDINGS, ROUNDS):
        yield Pane(NAMES[number - 1].lower(), PAINTERS[number - 1], from_end=number == 1)


def number_of(pane: Pane) -> int:
    """The number of a pane."""
    return next(i for i, name in enumerate(NAMES, 1) if name.lower() == pane.id)


def note(number: int, session: Session, marks: Marks) -> str:
    """What stands at the right of a pane's title."""
    match number:
        case 1:
            return text.note(session, marks)
        case 5:
            return rounds.legend(marks)
        case 6:
            return findings.note(session)
        case 4 | 3 if not session.series.complete:
            return f"of {len(session.series)} rounds read"
        case _:
            return ""


def title(number: int, active: int) -> Line:
    """The name of one pane."""
    return (_name(number, active),)


def tabs(active: int, width: int) -> Line:
    """The names of all panes, where only one of them is shown; the others by number only if there is no room."""
    names = [_name(number, active) for number in range(1, len(NAMES) + 1)]
    if width_of(names) > width:
        names = [span if i == active else Span(f" {i} ", Role.DIM) for i, span in enumerate(names, 1)]
    return tuple(names)


def tab_at(active: int, width: int, x: int) -> int:
    """The number of the pane whose name stands at a cell of the tabs; behind them, that of the pane shown."""
    for number, span in enumerate(tabs(active, width), 1):
        x -= width_of((span,))
        if x < 0:
            return number
    return active


def _name(number: int, active: int) -> Span:
    return Span(f" {number} {NAMES[number - 1]} ", Role.ACTIVE if number == active else Role.STRONG)
