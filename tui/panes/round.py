"""Paints the Round pane: what was drafted beside what the base chose, one row a position, as far as it is known."""

from typing import NamedTuple, TypeVar

from engine.records import Round, Verdict
from tui.keys import ascii_of
from tui.lines import Line, Span, left, wrap, wrap_parts
from tui.marks import Marks, Role
from tui.moment import Phase, phase_name, phases_of
from tui.numbers import logits, milliseconds, probability
from tui.panes import positions
from tui.series import NEAR_TIE
from tui.session import Session
from tui.story import named, quoted, story
from tui.text import safe

T = TypeVar("T")

TITLE = "Round"
_WIDEST_TOKEN = 22
_FIXED = 27
_ID = 7
_NARROW = 44
_CANDIDATES = 5
_LABEL = 8
_FIRST_KEYS = (
    ("round.next", "makes one round"),
    ("phase.next", "goes through it phase by phase"),
    ("run.play", "runs, and pauses again"),
    ("tour", "is a guided tour over recordings"),
    ("open", "lists recordings, and traces opened lately"),
    ("help", "explains the signs and lists every key"),
)
"""What somebody who has just come can press."""
_PHASE_OF = {
    "draft": Phase.DRAFT,
    "step": Phase.VERIFY,
    "verify": Phase.VERIFY,
    "accept": Phase.ACCEPT,
    "rollback": Phase.COMMIT,
    "other": Phase.COMMIT,
}
VERDICT_ROLES = {
    Verdict.ACCEPTED: Role.ACCEPTED,
    Verdict.REJECTED: Role.REJECTED,
    Verdict.UNJUDGED: Role.UNJUDGED,
    Verdict.UNVERIFIED: Role.UNJUDGED,
}


class Table(NamedTuple):
    """The round and its columns: the width of a token, whether the base's probability of the draft and words fit."""

    session: Session
    round_: Round
    marks: Marks
    token: int
    agrees: bool
    words: bool

    @property
    def phase(self) -> Phase:
        return self.session.moment.phase

    @property
    def ids(self) -> bool:
        """Whether there is room for a token's id beside it."""
        return self.token >= 2 * _ID


def paint(session: Session, marks: Marks, width: int, height: int) -> list[Line]:
    """All lines of the round at the cursor, however many."""
    round_ = session.current
    if round_ is None:
        return _before(session, marks, width)
    lines = [
        _tracker(session, round_, marks, width),
        *_hits(session, marks, width),
        *wrap(story(session.source, round_, session.moment.phase, marks), width),
    ]
    if len(lines) + round_.drafted + 8 < height:
        lines.append(())
    if round_.t1 is None:
        lines += wrap("This trace holds counts only, it does not say which tokens.", width, Role.DIM)
    else:
        lines += _table(_columns(session, round_, marks, width))
    lines.append(())
    lines += _facts(session, round_, marks, width)
    return lines + _said(session, round_, marks, width)


def _before(session: Session, marks: Marks, width: int) -> list[Line]:
    prefill = session.source.prefill
    if prefill is None:
        return wrap("The trace ends before its first round.", width, Role.DIM)
    read = f"The base has read the prompt ({prefill.positions} positions) and decided the first token"
    first = quoted(session.source, prefill.next, marks)
    if session.ended:
        return wrap(f"{read}, {first}; then the run ended, without a round.", width, Role.DIM)
    text = f"No round yet. {read}, {first}. A round drafts what may follow it and lets the base check."
    lines = [*wrap(text, width, Role.DIM), ()]
    for id_, does in _FIRST_KEYS:
        sign = ascii_of(session.key(id_)) if marks.plain_text else session.key(id_)
        lines.append((Span(left(sign, 7, marks), Role.KEY), Span(does, Role.DIM)))
    return lines


def _tracker(session: Session, round_: Round, marks: Marks, width: int) -> Line:
    spans = [Span(left(safe(round_.form, marks), 10, marks), Role.DIM)] if width >= _NARROW else []
    for phase in phases_of(round_):
        name = phase_name(phase, round_)
        if phase is session.moment.phase:
            spans.append(Span(f"[{name}]", Role.STRONG))
        else:
            spans.append(Span(f" {name} ", Role.TEXT if phase < session.moment.phase else Role.DIM))
    return tuple(spans)


def _columns(session: Session, round_: Round, marks: Marks, width: int) -> Table:
    agrees = bool(round_.accept_p) and width >= 56
    words = width >= 72
    token = (width - _FIXED - 9 * agrees - 11 * words) // 2
    return Table(session, round_, marks, max(3, min(token, _WIDEST_TOKEN)), agrees, words)


def _table(table: Table) -> list[Line]:
    rows = [_head(table), _given(table)]
    rows += [_draft(table, j) for j in range(table.round_.drafted)]
    if table.phase in (Phase.VERIFY, Phase.ACCEPT) and 0 < table.round_.in_batch == table.round_.drafted:
        rows.append(_last_row(table))
    decided = table.phase is Phase.COMMIT or (table.phase is Phase.VERIFY and not table.round_.drafted)
    if decided and table.round_.next is not None:
        rows.append(_next(table))
    return rows


def _head(table: Table) -> Line:
    drafted, base = (_named_column(table, name) for name in ("drafted", "base"))
    text = f"{'pos':>6} {drafted} {'p':>4}   {base} {'p':>4} {'gap':>5} "
    return (Span(text + (" p(draft)" if table.agrees else ""), Role.DIM),)


def _named_column(table: Table, name: str) -> str:
    if not table.ids:
        return left(name, table.token, table.marks)
    return left(name, table.token - _ID, table.marks) + f"{'id':>{_ID}}"


def _given(table: Table) -> Line:
    round_, marks = table.round_, table.marks
    origin = "from the prompt" if round_.index == 0 else f"from round {round_.index - 1}"
    room = table.token + 10
    text = next((text for text in (f"carried {origin}", origin, "carried") if len(text) <= room), "")
    sign = marks.carried if round_.drafted else marks.plain
    return (
        Span(f"{sign} ", Role.CARRIED),
        Span(_position(round_, 0), Role.DIM),
        *_token(table, round_.t1, Role.CARRIED),
        Span(left(f"        {text}", room + 8, marks), Role.DIM),
    )


def _draft(table: Table, j: int) -> Line:
    round_, marks, phase = table.round_, table.marks, table.phase
    verdict = round_.verdicts[j] if phase >= Phase.ACCEPT else Verdict.UNJUDGED
    role = VERDICT_ROLES[verdict]
    token = round_.drafts[j] if round_.drafts else None
    return (
        Span(f"{marks.of(verdict)} ", role),
        Span(_position(round_, j + 1), Role.DIM),
        *_token(table, token, role),
        Span(f" {probability(_at(round_.draft_p, j)):>4}   ", Role.DIM if role is Role.UNJUDGED else Role.TEXT),
        *_choice(table, j, verdict),
    )


def _choice(table: Table, j: int, verdict: Verdict) -> tuple[Span, ...]:
    """The base's side of a draft row."""
    round_, marks = table.round_, table.marks
    room = table.token + 12 + 9 * table.agrees
    if table.phase < Phase.VERIFY:
        return (Span(left("not asked yet", room, marks), Role.DIM),)
    if j >= round_.in_batch:
        return (Span(left("not in the batch", room, marks), Role.DIM),)
    chosen = _at(round_.targets, j)
    if chosen is None:
        return (Span(left("not recorded", room, marks), Role.DIM),)
    judged = table.phase >= Phase.ACCEPT
    if judged and verdict is Verdict.UNJUDGED:
        return (Span(left("not judged", room, marks), Role.DIM), *_word(table, verdict))
    role = Role.STRONG if judged and verdict is Verdict.REJECTED else Role.TEXT
    spans = [*_token(table, chosen, role), *_weights(table, j)]
    if table.agrees:
        spans.append(Span(f" {probability(_at(round_.accept_p, j)):>8}", Role.DIM))
    return (*spans, *(_word(table, verdict) if judged else ()))


def _weights(table: Table, row: int) -> list[Span]:
    gap = _at(table.round_.gap, row)
    near = gap is not None and gap <= NEAR_TIE
    return [
        Span(f" {probability(_at(table.round_.target_p, row)):>4} ", Role.TEXT),
        Span(f"{logits(gap):>5}{table.marks.tie if near else ' '}", Role.TIE if near else Role.DIM),
    ]


def _word(table: Table, verdict: Verdict) -> tuple[Span, ...]:
    return (Span(f" {verdict.value}", VERDICT_ROLES[verdict]),) if table.words else ()


def _last_row(table: Table) -> Line:
    """What the base chose behind the last draft: of use only if all of them are accepted."""
    round_, marks, last = table.round_, table.marks, table.round_.drafted
    if table.phase is Phase.ACCEPT and round_.take < last:
        said: tuple[Span, ...] = (Span("not needed", Role.DIM),)
    elif _at(round_.targets, last) is None:
        said = (Span("not recorded", Role.DIM),)
    else:
        said = (*_token(table, _at(round_.targets, last), Role.TEXT), *_weights(table, last))
    return (
        Span("  "),
        Span(_position(round_, last + 1), Role.DIM),
        Span(left("after them", table.token + 8, marks), Role.DIM),
        *said,
    )


def _next(table: Table) -> Line:
    round_, marks = table.round_, table.marks
    label = "next round's token" if table.token >= 18 else "next"
    return (
        Span(f"{marks.carried} ", Role.CARRIED),
        Span(_position(round_, round_.count), Role.DIM),
        Span(left(label, table.token + 8, marks), Role.DIM),
        *_token(table, round_.next, Role.CARRIED),
        *_weights(table, round_.take),
    )


def _token(table: Table, token: int | None, role: Role) -> tuple[Span, ...]:
    """A token in its column, with its id at the right where there is room for both."""
    text = named(table.session.source, token, table.marks)
    if token is None or not table.ids:
        return (Span(left(text, table.token, table.marks), role),)
    return Span(left(text, table.token - _ID, table.marks), role), Span(f"{token:>{_ID}}", Role.DIM)


def _position(round_: Round, offset: int) -> str:
    return "     " if round_.pos is None else f"{round_.pos + offset:>4} "


def _facts(session: Session, round_: Round, marks: Marks, width: int) -> list[Line]:
    phase = session.moment.phase
    facts = positions.facts(round_, phase, marks)
    if phase >= Phase.VERIFY and round_.drafted:
        rows = round_.in_batch + (round_.form == "one-pass")
        padded = f" (padded to {round_.width})" if round_.width and round_.width > rows else ""
        limit = "" if round_.limit is None else f", limit {round_.limit}"
        cut = f", cut by the {safe(round_.cut, marks)}" if round_.cut else ""
        facts.append(("batch", f"{rows} rows{padded}{limit}{cut}"))
    if phase is Phase.COMMIT and round_.fallback and round_.fallback.mean is not None:
        counts = " ".join(map(str, round_.fallback.window))
        state = "drafting off" if round_.fallback.off else "drafting"
        facts.append(("window", f"{counts}  mean {round_.fallback.mean:.2f}  {state}"))
    known = {name: value for name, value in (round_.ms or {}).items() if _PHASE_OF.get(name, Phase.COMMIT) <= phase}
    if known:
        text = "  ".join(f"{safe(name, marks)} {milliseconds(value)}" for name, value in known.items())
        facts.append(("ms", f"{text}  = {milliseconds(sum(known.values()))}"))
    if phase is Phase.COMMIT and round_.state:
        facts.append(("state", "  ".join(f"{name} {value}" for name, value in round_.state.items())))
    if round_.nonfinite:
        facts.append(("bad", f"{round_.nonfinite} logits are not finite"))
    lines = [line for label, text in facts for line in _fact(label, text, marks, width)]
    return lines + (_candidates(session, round_, marks, width) if phase >= Phase.ACCEPT else [])


def _candidates(session: Session, round_: Round, marks: Marks, width: int) -> list[Line]:
    """The best candidates of both sides at the row that decided."""
    lines: list[Line] = []
    for label, rows in (("base", round_.top), ("drafter", round_.draft_top)):
        best = _at(rows, round_.take)
        if best:
            names = (f"{named(session.source, token, marks)} {value:.1f}" for token, value in best[:_CANDIDATES])
            lines += _fact(label, "  ".join(names), marks, width)
    title = f"Candidates at row {round_.take}, where it was decided (logits)"
    return [(), *wrap(title, width, Role.DIM), *lines] if lines else []


def _hits(session: Session, marks: Marks, width: int) -> list[Line]:
    """The breakpoints that the round meets, once all of it is known."""
    hits = session.breakpoints.at(session.moment.index) if session.moment.phase is Phase.COMMIT else []
    texts = (f"{marks.stop} {safe(str(hit), marks)} of {hit.breakpoint.hits}" for hit in hits)
    return [line for text in texts for line in wrap(text, width, Role.KEY)]


def _said(session: Session, round_: Round, marks: Marks, width: int) -> list[Line]:
    lines: list[Line] = []
    name = session.bookmarks.names.get(session.moment.index)
    if name is not None:
        lines += wrap(f"{marks.bookmark} marked: {safe(name, marks)}", width, Role.KEY)
    if session.moment.phase is Phase.COMMIT:
        for finding in session.found.at(round_.index):
            lines += wrap(f"{marks.finding} {safe(f'{finding.rule}: {finding.message}', marks)}", width, Role.WARNING)
        for event in session.messages(round_.index):
            role = Role.TEXT if event.level == "info" else Role.WARNING
            lines += wrap(f"{marks.finding} {safe(event.message, marks)}", width, role)
    return lines


def _fact(label: str, text: str, marks: Marks, width: int) -> list[Line]:
    lines = wrap_parts(safe(text, marks).split("  "), max(width - _LABEL, 8))
    labels = [label, *[""] * (len(lines) - 1)]
    return [(Span(left(name, _LABEL, marks), Role.DIM), Span(line)) for name, line in zip(labels, lines, strict=True)]


def _at(values: tuple[T, ...] | None, index: int) -> T | None:
    return values[index] if values is not None and index < len(values) else None
