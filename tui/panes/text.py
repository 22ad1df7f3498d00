"""Paints the Text pane: the prompt and what was emitted up to the cursor, the cursor's drafts in their place."""

from collections.abc import Iterator
from typing import NamedTuple

from engine.records import Round, Verdict
from tui.lines import Line, Span, merged, wrap
from tui.marks import Marks, Role
from tui.moment import Phase
from tui.session import Session
from tui.text import Cell, Joiner

TITLE = "Text"
_ANCHOR = 64
"""Rounds. The text is laid out from a multiple of this many, so that lines stay where they are from step to step."""


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
        return wrap("No text: the trace holds no tokens, only counts, or no prompt and no round.", width, Role.DIM)
    return list(_wrapped(pieces, width))


def legend(marks: Marks) -> str:
    """What the styles and signs mean, for the pane's frame."""
    return f"underlined: accepted draft  {marks.carried} carried  {marks.plain} plain"


def _pieces(session: Session, marks: Marks, room: int) -> list[Piece]:
    """The tokens from an anchor far enough back to fill ``room`` cells, at a cell or more a token."""
    settled = session.settled
    current = session.current
    whole = settled if current is None or session.moment.phase is not Phase.COMMIT else settled - 1
    first = _first_round(session, whole, room)
    joiner = Joiner(marks)
    pieces: list[Piece] = []
    if first == 0:
        pieces += _prompt(session, joiner, room)
    else:
        for token in (session.round(first - 1).emitted or ())[-4:]:
            joiner.feed(token, session.source.piece(token))
    plain = first > 0 and _is_plain(session.round(first - 1))
    for index in range(first, whole + 1):
        round_ = session.round(index)
        starts_plain = _is_plain(round_) and not plain
        plain = _is_plain(round_)
        pieces += _history(session, round_, joiner, marks.plain if starts_plain else "")
    if current is None:
        first_token = session.source.prefill.next if session.source.prefill else None
        pieces += [] if first_token is None else _ahead(session, first_token, joiner, marks)
    else:
        pieces += _at_cursor(session, current, joiner, marks)
    rest = joiner.rest()
    return [*pieces, Piece(rest, Role.ESCAPE)] if rest else pieces


def _first_round(session: Session, last: int, room: int) -> int:
    cells = 0
    for index in range(last, -1, -1):
        cells += session.round(index).count
        if cells >= room // 3 and index % _ANCHOR == 0:
            return index
    return 0


def _prompt(session: Session, joiner: Joiner, room: int) -> Iterator[Piece]:
    for token in (session.source.header.prompt or ())[-room:]:
        yield Piece(joiner.feed(token, session.source.piece(token)).cells, Role.PROMPT)


def _history(session: Session, round_: Round, joiner: Joiner, sign: str) -> Iterator[Piece]:
    for i, token in enumerate(round_.emitted or ()):
        cells = joiner.feed(token, session.source.piece(token)).cells
        yield Piece(cells, Role.HISTORY if i else Role.TEXT, "" if i else sign, Role.PLAIN)


def _at_cursor(session: Session, round_: Round, joiner: Joiner, marks: Marks) -> Iterator[Piece]:
    phase = session.moment.phase
    if round_.t1 is None:
        return
    sign = marks.plain if _is_plain(round_) else marks.carried
    yield Piece(joiner.feed(round_.t1, session.source.piece(round_.t1)).cells, Role.CARRIED, sign, Role.CARRIED)
    after = joiner
    for j, token in enumerate(round_.drafts or ()):
        verdict = round_.verdicts[j] if phase >= Phase.ACCEPT else Verdict.UNJUDGED
        if j == round_.take and phase >= Phase.ACCEPT:
            after, joiner = joiner.copy(), joiner.copy()
        cells = joiner.feed(token, session.source.piece(token)).cells
        yield Piece(cells, _DRAFT[verdict], marks.of(verdict), _SIGN[verdict])
    if after is joiner or phase < Phase.ACCEPT:
        return_to = joiner
    else:
        yield Piece(joiner.rest(), Role.STRUCK)
        return_to = after
    if phase is Phase.COMMIT and round_.next is not None and round_.index == session.last and session.ended:
        return
    if phase is Phase.COMMIT and round_.next is not None:
        yield from _ahead(session, round_.next, return_to.copy(), marks)


def _ahead(session: Session, token: int, joiner: Joiner, marks: Marks) -> Iterator[Piece]:
    cells = joiner.feed(token, session.source.piece(token)).cells + joiner.rest()
    yield Piece(cells, Role.UNJUDGED, marks.carried, Role.CARRIED)


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
        need = len(piece.sign) + sum(cell.width for cell in piece.cells if not cell.newline)
        if used and used + need > width and need <= width:
            yield merged(line)
            line, used = [], 0
            blank = not piece.sign and len(piece.cells) > 1 and piece.cells[0].text == " "
            cells = cells[1:] if blank else cells
        if piece.sign:
            line.append(Span(piece.sign, piece.sign_role))
            used += 1
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


def _role(role: Role, cell: Cell) -> Role:
    if cell.newline and role is not Role.STRUCK:
        return Role.DIM
    return Role.ESCAPE if cell.escaped and role not in (Role.STRUCK, Role.UNJUDGED) else role
