"""Paints the Text pane: the prompt and what was emitted up to the cursor, the cursor's drafts in their place."""

from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from engine.records import Round, Verdict
from tui.lines import Line, Span, merged, wrap
from tui.marks import Marks, Role
from tui.moment import Phase
from tui.session import Session
from tui.text import Cell, Joiner, safe

TITLE = "Text"
_ANCHOR = 64
"""Rounds. The text is laid out from a multiple of this many, so that lines stay where they are from step to step."""

_LONGEST = 4
"""Bytes of the longest character, so at most as many tokens."""


class Piece(NamedTuple):
    """One token in the text: its cells, its role, and the sign in front of it, if any."""

    cells: tuple[Cell, ...]
    role: Role
    sign: str = ""
    sign_role: Role = Role.DIM


def paint(session: Session, marks: Marks, width: int, height: int) -> list[Line]:
    """The last lines of the text; more than ``height`` of them where the text is longer, at most twice that."""
    pieces = _pieces(session, marks, width * height * 2)
    if not pieces:
        why = "no prompt and no round" if session.current is None else "counts only, it does not say which tokens"
        return wrap(f"No text: the trace holds {why}.", width, Role.DIM)
    return list(_wrapped(pieces, width))


def note(session: Session, marks: Marks) -> str:
    """What is looked for, or what the styles and signs mean, for the pane's frame."""
    search = session.search
    if search is not None:
        place = "" if search.chosen is None else f", at {search.chosen + 1}"
        return safe(f"reversed: {search.told}{place}", marks)
    return f"underlined: accepted draft  {marks.carried} carried  {marks.plain} plain"


def _pieces(session: Session, marks: Marks, room: int) -> list[Piece]:
    """The tokens from an anchor far enough back to fill ``room`` cells, at a cell or more a token."""
    settled = session.settled
    current = session.current
    whole = settled if current is None or session.moment.phase is not Phase.COMMIT else settled - 1
    first = _first_round(session, whole, room)
    lit = _lit(session, first, settled)
    joiner = Joiner(marks)
    pieces: list[Piece] = []
    if first == 0:
        pieces += _prompt(session, joiner, room)
    else:
        for token in _last_before(session, first):
            _cells(session, token, joiner)
    plain = first > 0 and _is_plain(session.round(first - 1))
    for index in range(first, whole + 1):
        round_ = session.round(index)
        starts_plain = _is_plain(round_) and not plain
        plain = _is_plain(round_)
        pieces += _history(session, index, joiner, marks.plain if starts_plain else "", lit)
    if current is None:
        first_token = session.source.prefill.next if session.source.prefill else None
        pieces += [] if first_token is None else _ahead(session, first_token, joiner, marks)
    else:
        pieces += _at_cursor(session, current, joiner, marks, lit)
    return pieces


def _first_round(session: Session, last: int, room: int) -> int:
    cells = 0
    for index in range(last, -1, -1):
        cells += session.round(index).count
        if cells >= room // 3 and index % _ANCHOR == 0:
            return index
    return 0


def _last_before(session: Session, index: int) -> list[int]:
    """The tokens before a round that may hold the beginning of its first character."""
    tokens: list[int] = []
    while index > 0 and len(tokens) < _LONGEST - 1:
        index -= 1
        tokens = [*(session.round(index).emitted or ()), *tokens]
    return tokens[1 - _LONGEST :]


def _lit(session: Session, first: int, last: int) -> set[int]:
    """The tokens of the matches in rounds ``first`` to ``last``, counted as emitted; those of drafts are negative, from
    -1 for the ``t1`` of the last round.
    """
    search, known = session.search, len(session.series)
    if search is None or last >= known:
        return set()
    drafts = search.query.drafts
    found = search.within(last if drafts else first, last + 1)
    return {-1 - token if drafts else token for match in found for token in range(match.first, match.last + 1)}


def _prompt(session: Session, joiner: Joiner, room: int) -> Iterator[Piece]:
    for token in (session.source.header.prompt or ())[-room:]:
        yield Piece(_cells(session, token, joiner), Role.PROMPT)


def _history(session: Session, index: int, joiner: Joiner, sign: str, lit: set[int]) -> Iterator[Piece]:
    start = session.series.tokens[index] if lit else 0
    for i, token in enumerate(session.round(index).emitted or ()):
        cells = _cells(session, token, joiner)
        role = Role.MATCH if start + i in lit else Role.HISTORY if i else Role.TEXT
        yield Piece(cells, role, "" if i else sign, Role.PLAIN)


def _at_cursor(session: Session, round_: Round, joiner: Joiner, marks: Marks, lit: set[int]) -> Iterator[Piece]:
    """The round's tokens with a sign each. Bytes that the kept ones leave unfinished are hex; rejected ones that would
    finish them do so in a branch, and ``joiner`` is left as the kept ones leave it.
    """
    judged = session.moment.phase >= Phase.ACCEPT
    if round_.t1 is None:
        return
    kept = [] if round_.drafts is None else round_.drafts[: round_.take] if judged else round_.drafts
    sign = marks.plain if _is_plain(round_) else marks.carried
    pieces = [Piece(_cells(session, round_.t1, joiner), Role.CARRIED, sign, Role.CARRIED)]
    for token in kept:
        verdict = Verdict.ACCEPTED if judged else Verdict.UNJUDGED
        pieces.append(Piece(_cells(session, token, joiner), _DRAFT[verdict], marks.of(verdict), _SIGN[verdict]))
    pieces[-1] = pieces[-1]._replace(cells=pieces[-1].cells + joiner.copy().rest())
    branch = joiner.copy()
    for token, verdict in zip((round_.drafts or ())[len(kept) :], round_.verdicts[len(kept) :], strict=False):
        pieces.append(Piece(_cells(session, token, branch), _DRAFT[verdict], marks.of(verdict), _SIGN[verdict]))
    if len(pieces) > len(kept) + 1:
        pieces[-1] = pieces[-1]._replace(cells=pieces[-1].cells + branch.rest())
    yield from _with_matches(session, pieces, lit)
    over = round_.index == session.last and session.ended
    if session.moment.phase is Phase.COMMIT and round_.next is not None and not over:
        yield from _ahead(session, round_.next, joiner, marks)


def _with_matches(session: Session, pieces: list[Piece], lit: set[int]) -> Iterator[Piece]:
    """The pieces of the round at the cursor, those that belong to a match in its role."""
    start = session.series.tokens[session.moment.index] if lit else 0
    count = session.round(session.moment.index).count
    for i, piece in enumerate(pieces):
        found = -1 - i in lit or (i < count and start + i in lit)
        yield piece._replace(role=Role.MATCH) if found else piece


def _cells(session: Session, token: int, joiner: Joiner) -> tuple[Cell, ...]:
    return joiner.feed(token, session.source.piece(token)).cells


def _ahead(session: Session, token: int, joiner: Joiner, marks: Marks) -> Iterator[Piece]:
    yield Piece(_cells(session, token, joiner) + joiner.rest(), Role.UNJUDGED, marks.carried, Role.CARRIED)


_DRAFT = {
    Verdict.ACCEPTED: Role.ACCEPTED,
    Verdict.REJECTED: Role.STRUCK,
    Verdict.UNJUDGED: Role.UNJUDGED,
    Verdict.UNVERIFIED: Role.UNJUDGED,
}
_SIGN = {
    Verdict.ACCEPTED: Role.ACCEPTED,
    Verdict.REJECTED: Role.REJECTED,
    Verdict.UNJUDGED: Role.DIM,
    Verdict.UNVERIFIED: Role.DIM,
}


def _is_plain(round_: Round) -> bool:
    return round_.drafted == 0


def _wrapped(pieces: list[Piece], width: int) -> Iterator[Line]:
    """Lines of at most ``width`` cells, broken at line ends in the text and between tokens where one fits a line."""
    line: list[Span] = []
    used = 0
    for piece in pieces:
        cells = piece.cells
        text, need, plain = _measured(cells)
        need += len(piece.sign)
        if used and used + need > width and need <= width:
            yield merged(line)
            line, used = [], 0
            if not piece.sign and len(cells) > 1 and cells[0].text == " ":
                cells, text, need = cells[1:], text[1:], need - 1
        if piece.sign:
            line.append(Span(piece.sign, piece.sign_role))
        if plain and used + need <= width:
            line.append(Span(text, piece.role))
            used += need
            continue
        used += len(piece.sign)
        for cell in cells:
            shown = not cell.newline or bool(piece.sign)
            if shown and used + cell.width > width:
                yield merged(line)
                line, used = [], 0
            if shown:
                line.append(Span(cell.text, _role(piece.role, cell)))
                used += cell.width
            if cell.newline:
                yield merged(line)
                line, used = [], 0
    yield merged(line)


@lru_cache(maxsize=8192)
def _measured(cells: tuple[Cell, ...]) -> tuple[str, int, bool]:
    """The text of cells, how many columns those take that are no line ends, and whether nothing of it is escaped."""
    width = sum(cell.width for cell in cells if not cell.newline)
    return "".join(cell.text for cell in cells), width, not any(cell.escaped for cell in cells)


def _role(role: Role, cell: Cell) -> Role:
    if cell.newline and role is not Role.STRUCK:
        return Role.DIM
    return Role.ESCAPE if cell.escaped and role not in (Role.STRUCK, Role.UNJUDGED) else role
