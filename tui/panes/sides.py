"""Paints the rounds of two runs side by side, and what differs in a line."""

from collections.abc import Callable

from engine.compare import AROUND, Choice, Side, text
from engine.records import Round
from tui.comparing import Comparing, Difference, What
from tui.lines import Line, Span, fit, left, right, width_of
from tui.marks import Marks, Role
from tui.numbers import logits
from tui.panes.round import VERDICT_ROLES
from tui.series import NEAR_TIE
from tui.text import safe, token_text

Piece = Callable[[int], bytes | None]
_SIGN, _GAP = 2, 7


def beside(comparing: Comparing, difference: Difference, marks: Marks, width: int) -> list[Line]:
    """Both rounds, A on the left and B on the right, with a rule between them."""
    half = (width - 3) // 2
    both = (comparing.alignment.left, comparing.alignment.right)
    sides = [
        [
            *side(f"{label} {name}", round_, read.source.piece, marks, half),
            _goes_on(read, difference.token, marks, half),
        ]
        for label, name, round_, read in zip("AB", comparing.names, comparing.rounds(difference), both, strict=True)
    ]
    height = max(map(len, sides))
    padded = [[*lines[:-1], *([()] * (height - len(lines))), lines[-1]] for lines in sides]
    lines = []
    for a, b in zip(*padded, strict=True):
        pad = Span(" " * (half - width_of(a)))
        lines.append((*a, pad, Span(f" {marks.vertical} ", Role.RULE), *b))
    return lines


def side(name: str, round_: Round | None, piece: Piece, marks: Marks, width: int) -> list[Line]:
    """One round in at most ``width`` cells: what was drafted, what the base chose, and by what gap."""
    head = fit((Span(safe(name, marks), Role.STRONG),), width, marks)
    if round_ is None:
        return [head, (Span("no round: the text had ended", Role.DIM),)]
    place = "" if round_.pos is None else f"  {round_.pos} {marks.to} {round_.consumed}"
    what = f"round {round_.index}  {round_.form}{place}  {round_.take} of {round_.drafted}"
    lines: list[Line] = [head, fit((Span(safe(what, marks), Role.DIM),), width, marks)]
    token = (width - _SIGN - _GAP - 2) // 2
    if round_.t1 is not None:
        shown = left(token_text(round_.t1, piece(round_.t1), marks), token, marks)
        heads = (Span(f" {left('base', token, marks)}", Role.DIM), Span(right("gap ", _GAP, marks), Role.DIM))
        lines.append((Span(f"{marks.carried} ", Role.CARRIED), Span(shown, Role.CARRIED), *heads))
    targets, drafts = round_.targets or (), round_.drafts or ()
    for j, verdict in enumerate(round_.verdicts[: len(drafts)]):
        draft = left(token_text(drafts[j], piece(drafts[j]), marks), token, marks)
        base = _base(targets, j, piece, marks, token)
        role = VERDICT_ROLES[verdict]
        row = (Span(f"{marks.of(verdict)} ", role), Span(draft, role), Span(" "), Span(base))
        lines.append((*row, *_gap(round_, j, marks)))
    if round_.take == len(drafts) and len(targets) > len(drafts):
        base = _base(targets, len(drafts), piece, marks, token)
        blank = Span(" " * (token + 1))
        lines.append(
            (
                Span(f"{marks.carried} ", Role.CARRIED),
                blank,
                Span(base, Role.CARRIED),
                *_gap(round_, len(drafts), marks),
            )
        )
    return lines


def told(comparing: Comparing, difference: Difference, marks: Marks, width: int) -> Line:
    """A difference in a line."""
    at = Span(f"token {difference.token:<6} ", Role.STRONG)
    if difference.what is What.LENGTH:
        return fit((at, Span("one text ends here", Role.TEXT)), width, marks)
    if difference.what is What.TEXT:
        a, b = comparing.choices(difference.token)
        left_piece, right_piece = (side.source.piece for side in (comparing.alignment.left, comparing.alignment.right))
        words = (Span("text    A ", Role.REJECTED), Span(_chosen(a, left_piece, marks)))
        return fit((at, *words, Span("   B ", Role.REJECTED), Span(_chosen(b, right_piece, marks))), width, marks)
    return fit(
        (at, Span("drafts  ", Role.TIE), Span(f"round {difference.left} of A, {difference.right} of B", Role.DIM)),
        width,
        marks,
    )


def _goes_on(side: Side, token: int, marks: Marks, width: int) -> Line:
    """The text of a side from a token on."""
    pieces = [token_text(each, side.source.piece(each), marks) for each in text(side, token, token + AROUND)]
    return fit((Span("text from here ", Role.DIM), Span(" ".join(pieces) if pieces else "(ended)")), width, marks)


def _chosen(choice: Choice, piece: Piece, marks: Marks) -> str:
    if choice.token is None:
        return "ended"
    gap = "" if choice.gap is None else f" gap {logits(choice.gap)}"
    return f"{token_text(choice.token, piece(choice.token), marks)} in round {choice.emitted_in}{gap}"


def _base(targets: tuple[int, ...], j: int, piece: Piece, marks: Marks, width: int) -> str:
    text = token_text(targets[j], piece(targets[j]), marks) if j < len(targets) else ""
    return left(text, width, marks)


def _gap(round_: Round, j: int, marks: Marks) -> tuple[Span, ...]:
    if round_.gap is None or j >= len(round_.gap):
        return ()
    gap = round_.gap[j]
    tie = gap <= NEAR_TIE
    text = right(f"{logits(gap)}{marks.tie if tie else ' '}", _GAP, marks)
    return (Span(text, Role.TIE if tie else Role.DIM),)
