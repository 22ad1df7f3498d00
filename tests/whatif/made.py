"""Rounds for another bar: what they emitted and cost is all that counts."""

from collections.abc import Iterable, Sequence

from engine.fallback import SpecFallback
from engine.records import Round
from engine.whatif import Observed
from engine.whatif.replay import Replay

DRAFTED_MS, PLAIN_MS = 6.0, 2.0


def drafted(index: int, count: int) -> Round:
    """A round that emitted ``count`` tokens in 6 ms."""
    ms = {"draft": 1.0, "verify": 5.0, "other": 0.5}
    return Round(index=index, form="one-pass", n_drafts=9, take=count - 1, n_emitted=count, ms=ms)


def plain(index: int, reason: str = "fallback") -> Round:
    """A plain round of 2 ms."""
    return Round(index=index, form="plain", reason=reason, n_emitted=1, ms={"step": PLAIN_MS})


def run(counts: Sequence[int], bar: float = 0.0, window: int = 3) -> list[Round]:
    """A run whose drafted rounds would emit ``counts``, by a rule: plain rounds emit the text that is left at its
    flip."""
    rule, rounds = SpecFallback(bar, window), list[Round]()
    for i, count in enumerate(counts):
        rounds.append(drafted(i, count))
        if rule.record(count):
            left = sum(counts[i + 1 :])
            return [*rounds, *(plain(i + 1 + j) for j in range(left))]
    return rounds


def observed(rounds: Iterable[Round]) -> Observed:
    made = Observed()
    for round_ in rounds:
        made.add(round_)
    return made


def replay(rounds: Iterable[Round], plain_ms: float | None = PLAIN_MS) -> Replay:
    return Replay(observed(rounds), plain_ms)


def milliseconds(rounds: Iterable[Round]) -> float:
    """The whole time but for what is neither the base's nor the drafter's."""
    return sum(ms for round_ in rounds for phase, ms in (round_.ms or {}).items() if phase != "other")
