"""What a recorded fault shows of itself: the audit's first finding, or the difference from the run beside it."""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from engine.errors import TraceError
from engine.faults.fault import Beside, Fault
from engine.faults.texts import is_text
from engine.records import Round
from engine.stats import Stats
from engine.trace.audit import report
from engine.trace.reader import Trace

TIED, FAR = 1e-4, 0.75
"""A top-1/top-2 gap up to this is a tie; acceptance is far below another under this share of it."""


class Evidence(NamedTuple):
    """Where a recording shows its fault (``None``: only as a whole), and in what words."""

    round: int | None
    text: str


def twin_path(fault: Fault, folder: Path) -> Path | None:
    """The recording to compare with, for a fault that no rule finds."""
    kinds = {Beside.PLAIN: "plain", Beside.TIE: "plain", Beside.ACCEPTANCE: "right"}
    kind = None if fault.rules or fault.beside is None else kinds.get(fault.beside)
    return None if kind is None else folder / f"{fault.name}.{kind}.msgpack"


def evidence(fault: Fault, folder: Path) -> Evidence | None:
    """What the recordings of a fault in ``folder`` show of it; ``None`` for one that no single run shows.

    Raises:
        TraceError: a recording is missing, cannot be read, or does not show it.
    """
    if fault.beside is Beside.DISTRIBUTION and not fault.rules:
        return None
    path, twin = folder / f"{fault.name}.msgpack", twin_path(fault, folder)
    with Trace(path) as trace:
        if fault.rules:
            found = by_audit(trace, fault.rules[0])
        elif twin is None:
            found = by_halves(trace)
        else:
            with Trace(twin) as other:
                found = by_acceptance(trace, other) if fault.beside is Beside.ACCEPTANCE else by_text(trace, other)
    if found is None:
        raise TraceError(f"{path}: nothing in this recording shows the fault")
    return found


def by_audit(trace: Trace, rule: str) -> Evidence | None:
    """The first finding of a rule."""
    for finding in report(trace).findings:
        if finding.rule == rule:
            return Evidence(finding.round, finding.message)
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


def by_acceptance(trace: Trace, right: Trace) -> Evidence | None:
    """How much less is accepted than in the right run of the same text."""
    mine, theirs = (Stats.of(_rounds(source)).as_map()["draft_acceptance_rate"] or 0.0 for source in (trace, right))
    same = [*_text(trace)] == [*_text(right)]
    if not same or mine > FAR * theirs:
        return None
    return Evidence(None, f"{mine:.0%} of the drafts are accepted, {theirs:.0%} in the right run; the text is the same")


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


def _rounds(trace: Trace) -> Iterator[Round]:
    return (trace.round(index) for index in range(len(trace)))


def _text(trace: Trace) -> Iterator[int]:
    for round_ in _rounds(trace):
        yield from round_.emitted or ()
