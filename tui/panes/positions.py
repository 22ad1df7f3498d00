"""What a round does to the positions that the base holds, as far as it is known in a phase."""

from engine.records import Round, Verdict
from tui.marks import Marks
from tui.moment import Phase


def facts(round_: Round, phase: Phase, marks: Marks) -> list[tuple[str, str]]:
    """A label and words for each thing known: what is held, how the comparison went, what is kept or taken back."""
    pos = round_.pos
    known = [] if phase is not Phase.ACCEPT or not round_.drafted else [("walk", _walk(round_, marks))]
    if pos is None:
        return known
    ran = pos + 1 + round_.in_batch
    if phase is Phase.DRAFT:
        return [("held", f"{pos} positions")]
    if phase is not Phase.COMMIT:
        return [("held", f"{pos} {marks.to} {ran} positions, {ran - pos} of them not yet kept"), *known]
    held = f"{pos} {marks.to} {'?' if round_.consumed is None else round_.consumed} positions"
    if round_.consumed is not None and round_.drafted and pos < round_.consumed <= ran:
        back = _span(round_.consumed, ran) if round_.consumed < ran else "nothing"
        held += f"  kept {_span(pos, round_.consumed)}  rolled back {back}"
    return [("held", held)]


def _span(start: int, stop: int) -> str:
    """Positions ``start`` to ``stop``, the last not included."""
    return f"{start}" if stop == start + 1 else f"{start}-{stop - 1}"


def _walk(round_: Round, marks: Marks) -> str:
    """Draft after draft what the comparison with the base's choice said, up to where it stopped."""
    steps = []
    for place, verdict in enumerate(round_.verdicts, 1):
        if verdict in (Verdict.UNJUDGED, Verdict.UNVERIFIED):
            break
        steps.append(f"{place} {marks.of(verdict)}")
    judged, left = len(steps), round_.drafted - len(steps)
    end = f"stops, {left} not looked at" if left else "stops" if round_.take < judged else "to the end"
    return "  ".join((*steps, end))
