"""What a recorded fault shows of itself: the audit's first finding, or the difference from the run beside it."""

from collections.abc import Iterator, Sequence
from itertools import takewhile
from pathlib import Path
from typing import NamedTuple

from engine.compare import first_draft_difference
from engine.errors import TraceError
from engine.faults.fault import Beside, Fault
from engine.faults.texts import is_text
from engine.records import Round
from engine.stats import Stats
from engine.trace.audit import report
from engine.trace.reader import Trace

TIED = 1e-4
"""A top-1/top-2 gap, and a difference of two probabilities, that is nothing but numeric noise."""

RIGHT_BESIDE = (Beside.DRAFTS, Beside.CHOICES)
"""What a right run shows, made by the same options and with the same seed."""

PLAIN_BESIDE = (Beside.PLAIN, Beside.TIE)
"""What plain decode by the same base shows."""


class Evidence(NamedTuple):
    """The first round where a recording shows its fault, which may be one that the file lacks, and in what words."""

    round: int
    text: str


def twin_path(fault: Fault, folder: Path) -> Path | None:
    """The recording to compare with: for what only a right run shows, or only plain decode and no rule."""
    if fault.beside in RIGHT_BESIDE:
        return folder / f"{fault.name}.right.msgpack"
    return folder / f"{fault.name}.plain.msgpack" if fault.beside in PLAIN_BESIDE and not fault.rules else None


def evidence(fault: Fault, folder: Path) -> Evidence:
    """What the recordings of a fault in ``folder`` show of it.

    Raises:
        TraceError: a recording is missing, cannot be read, or does not show it.
    """
    path, twin = folder / f"{fault.name}.msgpack", twin_path(fault, folder)
    with Trace(path) as trace:
        if twin is not None:
            with Trace(twin) as other:
                found = _beside(fault, trace, other)
        else:
            found = by_audit(trace, fault.rules[0]) if fault.rules else by_halves(trace)
    if found is None:
        raise TraceError(f"{path}: nothing in this recording shows the fault")
    return found


def by_audit(trace: Trace, rule: str) -> Evidence | None:
    """The first finding of a rule; of a torn trace, the first round that is not whole."""
    for finding in report(trace).findings:
        if finding.rule == rule:
            return Evidence(len(trace) if finding.round is None else finding.round, finding.message)
    return None


def by_drafts(trace: Trace, right: Trace) -> Evidence | None:
    """The first draft that a right run does not make behind the same text, and what that costs in all."""
    meeting = first_draft_difference(trace, right)
    if meeting is None:
        return None
    drafts, expected = trace.round(meeting.left).drafts, right.round(meeting.right).drafts
    mine, theirs = (Stats.of(_rounds(source)).as_map()["draft_acceptance_rate"] or 0.0 for source in (trace, right))
    return Evidence(
        meeting.left,
        f"round {meeting.left} drafts {list(drafts or ())} where a right run drafts {list(expected or ())} behind the "
        f"same text; {mine:.0%} of the drafts are accepted in all, {theirs:.0%} in the right run",
    )


def by_choices(trace: Trace, right: Trace) -> Evidence | None:
    """The first round that comes to another end than that of a right run, from the same drafts and probabilities."""
    pairs = takewhile(lambda pair: _same_before(*pair), zip(_rounds(trace), _rounds(right), strict=False))
    for mine, theirs in pairs:
        if (mine.take, mine.next) != (theirs.take, theirs.next):
            return Evidence(
                mine.index,
                f"round {mine.index} accepts {mine.take} of the drafts {list(mine.drafts or ())} and chooses "
                f"{mine.next}; a right run, with the same drafts, probabilities and seed, accepts {theirs.take} and "
                f"chooses {theirs.next}",
            )
    return None


def by_text(trace: Trace, plain: Trace) -> Evidence | None:
    """Where the text parts from that of plain decode, and the gap that plain decode chose by."""
    pairs = list(zip(_text(plain), _text(trace), strict=False))
    place = next((i for i, (expected, got) in enumerate(pairs) if expected != got), None)
    if place is None:
        return None
    (expected, got), emitted = pairs[place], 0
    for round_ in _rounds(trace):
        emitted += round_.count
        if emitted > place:
            break
    # The row that chose token 0 is the prefill's.
    gap = plain.round(place - 1).gap if place else None
    kind = "" if gap is None else f", by a gap of {gap[0]:.2g}" + (": a tie, not a defect" if gap[0] <= TIED else "")
    return Evidence(round_.index, f"token {place} is {got}, where plain decode chooses {expected}{kind}")


def by_halves(trace: Trace) -> Evidence | None:
    """The first round that keeps one half of a character and rejects a wrong other half."""
    for round_ in _rounds(trace):
        drafts, emitted = round_.drafts or (), round_.emitted or ()
        if round_.take == len(drafts) or round_.cut == "stop":
            continue
        kept, wrong, right = (
            trace.piece(token) or b"" for token in (emitted[-1], drafts[round_.take], round_.next or 0)
        )
        if not is_text(kept) and is_text(kept + right) and kept + wrong != kept + right:
            return Evidence(
                round_.index,
                f"round {round_.index} keeps {kept!r} and rejects {wrong!r} behind it; the next token, {right!r}, "
                f"makes it {(kept + right).decode()!r}",
            )
    return None


def _beside(fault: Fault, trace: Trace, twin: Trace) -> Evidence | None:
    match fault.beside:
        case Beside.DRAFTS:
            return by_drafts(trace, twin)
        case Beside.CHOICES:
            return by_choices(trace, twin)
        case _:
            return by_text(trace, twin)


def _same_before(mine: Round, theirs: Round) -> bool:
    """Whether two rounds had the same to decide on."""
    return (
        (mine.pos, mine.t1, mine.drafts) == (theirs.pos, theirs.t1, theirs.drafts)
        and _near(mine.draft_p, theirs.draft_p)
        and _near(mine.accept_p, theirs.accept_p)
    )


def _near(mine: Sequence[float] | None, theirs: Sequence[float] | None) -> bool:
    """Whether probabilities are the same but for noise."""
    return all(abs(a - b) <= TIED for a, b in zip(mine or (), theirs or (), strict=False))


def _rounds(trace: Trace) -> Iterator[Round]:
    return (trace.round(index) for index in range(len(trace)))


def _text(trace: Trace) -> Iterator[int]:
    for round_ in _rounds(trace):
        yield from round_.emitted or ()
