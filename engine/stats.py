"""What a run amounts to: counts, and the rates made of them, each under its own name.

Formulas are those of the metrics table in the README: d drafted, v in the batch, a accepted, n emitted of a round;
e = min(v, a + 1) drafts were judged. Sums run over drafted rounds unless they say "all".
"""

import statistics
from array import array
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate
from typing import Any, NamedTuple

from engine.ngrams import repeated_ngrams
from engine.records import End, Prefill, Round
from engine.summary import summary_of

PHASES = ("draft", "step", "verify", "accept", "rollback", "other")
READ = ("form", "reason", "limit", "drafts", "n_drafts", "verified", "take", "emitted", "n_emitted", "cut", "ms")
"""The keys of a round that ``Stats`` needs."""
MINIMUM_SAMPLES = 5
_SORTED = 4096


def median(values: "array[float]") -> float:
    """The median of some values. Of many it is asked of numpy: to sort a million takes a second."""
    if len(values) <= _SORTED:
        return statistics.median(values)
    import numpy as np  # noqa: PLC0415 (only for a long run)

    return float(np.median(np.frombuffer(values, values.typecode)))


def cost_ms(ms: Mapping[str, float]) -> float:
    """What a drafted round costs: the milliseconds of its phases that are the base's or the drafter's time."""
    get = ms.get
    return get("draft", 0.0) + get("verify", 0.0) + get("step", 0.0) + get("accept", 0.0) + get("rollback", 0.0)


class ByPosition(NamedTuple):
    """Acceptance at draft position 1, 2, ...: of all drafted rounds, of those that drafted so far, of those judged."""

    unconditional: tuple[float, ...]
    drafted_only: tuple[float, ...]
    conditional: tuple[float | None, ...]


class Costs:
    """What a plain step and a drafted round cost, over rounds taken in one at a time, and the break-even of the two."""

    def __init__(self) -> None:
        self.plain_steps = array("d")
        self._costs = array("d")

    def add(self, round_: Round) -> None:
        """Take in one more round."""
        if round_.ms:
            self._time(round_, round_.ms, plain=_is_plain(round_, round_.drafted))

    def _time(self, round_: Round, ms: dict[str, float], *, plain: bool) -> None:
        if not plain:
            self._costs.append(cost_ms(ms))
        elif "step" in ms and round_.reason != "zero-draft":
            self.plain_steps.append(ms["step"])

    def plain_ms(self, measured: float | None = None) -> float | None:
        """The cost of a plain step: the median of the run's own if it has at least five, else ``measured``."""
        return median(self.plain_steps) if len(self.plain_steps) >= MINIMUM_SAMPLES else measured

    def round_ms(self) -> float | None:
        """The median cost of a drafted round, of at least five: one cold sample may not move a break-even."""
        return median(self._costs) if len(self._costs) >= MINIMUM_SAMPLES else None

    def break_even(self, plain_ms: float | None = None) -> float | None:
        """The tokens a round that pay for a drafted round: its median cost over that of a plain step."""
        plain, cost = self.plain_ms(plain_ms), self.round_ms()
        return cost / plain if plain and cost is not None else None


class Stats(Costs):
    """Counts over rounds, taken in one at a time; every rate is computed from them when asked for.

    Without ``phases`` the times of each phase are not kept, which take most of the memory: ``as_map`` lacks them then.
    """

    def __init__(self, *, phases: bool = True) -> None:
        super().__init__()
        self._phases = phases
        self.rounds = self.plain_rounds = self.drafted = self.verified = self.accepted = self.judged = 0
        self.emitted = self.emitted_drafted = self.timed = self.batches = self.steps = 0
        self.ms: dict[str, array[float]] = defaultdict(lambda: array("d"))
        self._shapes: dict[tuple[int, int, int, int | None], int] = {}

    @classmethod
    def of(cls, rounds: Iterable[Round]) -> "Stats":
        stats = cls()
        for round_ in rounds:
            stats.add(round_)
        return stats

    def add(self, round_: Round) -> None:
        """Take in one more round."""
        emitted, drafts, ms = round_.emitted, round_.drafts, round_.ms
        count = round_.count if emitted is None else len(emitted)
        drafted = round_.drafted if drafts is None else len(drafts)
        plain = round_.form == "plain" or (not drafted and _is_plain(round_, drafted))
        self.emitted += count
        if ms:
            self.timed += count
            self._time(round_, ms, plain=plain)
            if self._phases:
                for phase, value in ms.items():
                    self.ms[phase].append(value)
        if plain:
            self.plain_rounds += 1
            self.steps += 1
            return
        take, cut, verified = round_.take, round_.cut, round_.verified
        if verified is None:
            verified = drafted
        reached = take if cut == "stop" else take + 1
        judged = reached if reached < verified else verified
        self.rounds += 1
        self.batches += 1
        self.drafted += drafted
        self.verified += verified
        self.accepted += take
        self.emitted_drafted += count
        self.judged += judged
        if round_.form == "two-pass":
            self.steps += 1
        last = None if cut is None else _last_open(round_)
        shape = (drafted if last is None else min(last, drafted), take, judged, last)
        self._shapes[shape] = self._shapes.get(shape, 0) + 1

    @property
    def tokens_per_round(self) -> float | None:
        """Mean tokens of a drafted round."""
        return _ratio(self.emitted_drafted, self.rounds)

    @property
    def by_position(self) -> ByPosition:
        """Acceptance by draft position. A round cut by the budget or a stop is in no denominator beyond the cut."""
        deepest = max((0, *(offers for offers, *_ in self._shapes)))
        offered, reached, judged, open_ = ([0] * (deepest + 1) for _ in range(4))
        for (offers, take, looked_at, last), count in self._shapes.items():
            # Of each the last position that counts; those before it follow from the sums.
            offered[max(offers, 0)] += count
            reached[max(min(take, offers), 0)] += count
            judged[max(min(looked_at, offers), 0)] += count
            open_[max(deepest if last is None else min(last, deepest), 0)] += count
        at_least = [list(accumulate(reversed(ends)))[-2::-1] for ends in (offered, reached, judged, open_)]
        rows = list(zip(*at_least, strict=True))
        return ByPosition(
            tuple(hit / possible for _, hit, _, possible in rows),
            tuple(hit / tried for tried, hit, _, _ in rows),
            tuple(_ratio(hit, seen) for _, hit, seen, _ in rows),
        )

    def speedup(self, plain_ms: float | None = None) -> float | None:
        """Mean tokens a round over the break-even."""
        even, mean = self.break_even(plain_ms), self.tokens_per_round
        return mean / even if even and mean is not None else None

    def as_map(
        self,
        prefill: Prefill | None = None,
        end: End | None = None,
        detail: str = "full",
        tokens: Sequence[int] | None = None,
    ) -> dict[str, Any]:
        """All figures under their public names; unknown is ``None``. Of an import without rounds, what its end says."""
        measured = measured_plain_ms(prefill, end)
        position = self.by_position
        wall = sum(map(sum, self.ms.values()))
        figures = {
            "rounds": self.rounds,
            "plain_rounds": self.plain_rounds,
            "drafted": self.drafted,
            "verified": self.verified,
            "accepted": self.accepted,
            "emitted": self.emitted,
            "batches": self.batches,
            "steps": self.steps,
            "draft_acceptance_rate": _ratio(self.accepted, self.drafted),
            "evaluated_acceptance_rate": _ratio(self.accepted, self.judged),
            "draft_share": _ratio(self.accepted, self.emitted),
            "tokens_per_round": self.tokens_per_round,
            "tokens_per_base_pass": _ratio(self.emitted, self.batches + self.steps),
            "per_position": position._asdict(),
            "fell_back_at": end.fell_back_at if end else None,
            "reason": end.reason if end else None,
            "ms": {phase: {"total": sum(values), "median": median(values)} for phase, values in self.ms.items()},
            "plain_ms": self.plain_ms(measured),
            "ttft_ms": prefill.ms if prefill else None,
            "tokens_per_second": self.timed / wall * 1000 if wall else None,
            "break_even": self.break_even(measured),
            "speedup": self.speedup(measured),
            "repeated_8grams": None if tokens is None else repeated_ngrams(tokens),
            "detail": detail,
        }
        return figures if self.rounds or self.plain_rounds or end is None else {**figures, **summary_of(end.stats)}


def measured_plain_ms(prefill: Prefill | None, end: End | None) -> float | None:
    """The cost of a plain step that a run says it measured itself."""
    return (end.plain_ms if end else None) or (prefill.plain_ms if prefill else None)


def _is_plain(round_: Round, drafted: int) -> bool:
    """Whether nothing was drafted. In the logs of some engines the number of drafts is not known, and is no zero."""
    if round_.form == "plain":
        return True
    return drafted == 0 and (round_.drafts is not None or round_.n_drafts is not None)


def _last_open(round_: Round) -> int | None:
    """The last draft position that a cut round could have filled, ``None`` for an uncut one."""
    match round_.cut:
        case "stop":
            return round_.take
        case "budget":
            return round_.limit
        case _:
            return None


def _ratio(part: float, whole: float) -> float | None:
    return part / whole if whole else None
