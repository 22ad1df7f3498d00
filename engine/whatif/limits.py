"""What an answer rests on and what it cannot say, for the person who reads it."""

from collections.abc import Iterator

from engine.records import End, Header
from engine.whatif.answer import Answer, Kind


def limits(header: Header, end: End | None, answer: Answer) -> Iterator[str]:
    """Sentences, the most important first; none where the answer holds as it stands."""
    if header.drafter is None:
        yield "the run has no drafter: every round is plain, and no bar changes that"
        return
    if answer.kind is Kind.UNKNOWN:
        yield (
            "a flip later than the recorded one cannot be known from a trace: the rounds are bounds, the time is "
            "unknown; run it live with this bar"
        )
    elif answer.saved_ms is None and answer.kind is Kind.FLIPS:
        yield "no time is estimated: the rounds, or a plain step, were not timed"
    if answer.kind is Kind.FLIPS and header.options.get("sampler") == "rejection":
        yield (
            "the run draws its tokens by rejection: behind another flip the text would be another draw, the figures "
            "are for as many tokens"
        )
    if end is None or end.reason not in ("max_tokens", "stop"):
        yield "the run did not come to its end: the figures are for the text that was recorded"
