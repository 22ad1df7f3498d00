"""The candidates of a round, the base's beside the drafter's, and what wider drafts would have reached. Pure."""

from collections.abc import Iterator, Sequence
from typing import TypeVar

from engine.ranks import Recall, choice_ranks
from engine.records import Round
from tui.lines import Line, Span, flow, left, wrap
from tui.marks import Marks, Role
from tui.panes.round import VERDICT_ROLES
from tui.session import Session
from tui.story import named

NONE = (
    "No candidates in this round: it was recorded without them, or its drafter has none to give. "
    "`specstep record --candidates 5` records the best five of each row, as a live run does by itself."
)
T = TypeVar("T")

_LABEL = 8
_INDENT = "   "


def lines_of(session: Session, round_: Round, marks: Marks, width: int) -> list[Line]:
    """Lines for each row of the batch: what was drafted and came of it, the base's best, the drafter's best."""
    return [
        line
        for row in range(min(round_.in_batch, round_.drafted) + 1)
        for line in _row(session, round_, row, marks, width)
    ]


def summary(recall: Recall, searched: int, rounds: int, width: int) -> list[Line]:
    """Would a wider draft pay: how often the base's choice was among the drafter's best."""
    shares = recall.shares(max(recall.widest, 1))
    if shares is None:
        return []
    read = "" if searched >= rounds else f" ({100 * searched // rounds}% of the run so far)"
    head = f"Would a wider draft pay? Of {recall.judged} judged drafts{read}, the base's choice was among the drafter's"
    parts: list[Line] = [
        (Span(f"best {i} " if i > 1 else "first ", Role.DIM), Span(f"{share:.0%}", Role.STRONG))
        for i, share in enumerate(shares, 1)
    ]
    ends = "That is the most that drafts so wide could be right at one position; each row more costs time."
    return [*wrap(head, width), *flow(parts, width), *wrap(ends, width, Role.DIM)]


def _row(session: Session, round_: Round, row: int, marks: Marks, width: int) -> Iterator[Line]:
    base, drafter = _at(round_.top, row), _at(round_.draft_top, row)
    if not base and not drafter:
        return
    chosen = _at(round_.targets, row)
    yield _head(session, round_, row, chosen, marks)
    for label, candidates in (("base", base), ("drafter", drafter)):
        yield from _best(session, label, candidates or (), chosen, marks, width)


def _head(session: Session, round_: Round, row: int, chosen: int | None, marks: Marks) -> Line:
    behind = round_.t1 if row == 0 else _at(round_.drafts, row - 1)
    text = (Span(f"row {row} after {named(session.source, behind, marks)}  ", Role.DIM),)
    if row >= round_.drafted:
        return (Span("  "), *text, Span("nothing was drafted here", Role.DIM))
    verdict = round_.verdicts[row]
    ranks = choice_ranks(round_)
    drafted = Span(f"drafted {named(session.source, _at(round_.drafts, row), marks)} ", VERDICT_ROLES[verdict])
    line = (Span(f"{marks.of(verdict)} ", VERDICT_ROLES[verdict]), *text, drafted, Span(f" {verdict.value}", Role.DIM))
    if row >= len(ranks) or chosen is None:
        return line
    rank = ranks[row]
    where = "is none of the drafter's" if rank is None else f"is its {_ordinal(rank)}"
    return (*line, Span(f"  the base's choice {where}", Role.STRONG if rank != 1 else Role.DIM))


def _ordinal(rank: int) -> str:
    return str(rank) + {1: "st", 2: "nd", 3: "rd"}.get(rank if rank < 20 else rank % 10, "th")


def _best(
    session: Session, label: str, best: Sequence[tuple[int, float]], chosen: int | None, marks: Marks, width: int
) -> Iterator[Line]:
    if not best:
        yield (Span(_INDENT + left(label, _LABEL, marks), Role.DIM), Span("none recorded", Role.DIM))
        return
    parts: list[Line] = []
    for token, value in best:
        name = f"{named(session.source, token, marks)} "
        its = (Span(f"{marks.carried}{name}", Role.STRONG),) if token == chosen else (Span(name),)
        parts.append((*its, Span(f"{value:.1f}", Role.DIM)))
    for i, line in enumerate(flow(parts, max(width - _LABEL - len(_INDENT), 10))):
        yield (Span(_INDENT + left("" if i else label, _LABEL, marks), Role.DIM), *line)


def _at(values: Sequence[T] | None, index: int) -> T | None:
    return values[index] if values is not None and index < len(values) else None
