"""The three tests that the audit of acceptance uses. Pure; all one-sided."""

import math
from collections.abc import Iterable
from typing import NamedTuple


class Share(NamedTuple):
    """So many successes in so many tries."""

    successes: int
    tries: int

    @property
    def rate(self) -> float:
        """Their ratio, 0 without tries."""
        return self.successes / self.tries if self.tries else 0.0


class Stratum(NamedTuple):
    """Two shares from the same stretch of a run."""

    high: Share
    low: Share


def fisher(high: Share, low: Share) -> float:
    """Fisher's exact test: the probability of at least ``high.successes``, were both rates the same."""
    tries, successes = high.tries + low.tries, high.successes + low.successes
    whole = _log_choose(tries, successes)
    return min(
        1.0,
        math.fsum(
            math.exp(_log_choose(high.tries, hits) + _log_choose(low.tries, successes - hits) - whole)
            for hits in range(max(high.successes, successes - low.tries), min(high.tries, successes) + 1)
        ),
    )


def at_most(share: Share, rate: float) -> float:
    """The binomial probability of at most ``share.successes``, were the rate ``rate`` (0 < rate < 1)."""
    log_rate, log_rest = math.log(rate), math.log1p(-rate)
    return min(
        1.0,
        math.fsum(
            math.exp(_log_choose(share.tries, hits) + hits * log_rate + (share.tries - hits) * log_rest)
            for hits in range(share.successes + 1)
        ),
    )


def mantel_haenszel(strata: Iterable[Stratum]) -> float:
    """The standard score by which ``high`` exceeds ``low``, stratum by stratum (Mantel and Haenszel, 1959).

    With the correction for continuity. A stratum where one side is empty, or where all tries end the same, adds
    nothing, so that a rate that changes from one stretch of the run to the next is no evidence.
    """
    excess = variance = 0.0
    for high, low in strata:
        tries, successes = high.tries + low.tries, high.successes + low.successes
        if tries < 2:
            continue
        excess += high.successes - high.tries * successes / tries
        variance += high.tries * low.tries * successes * (tries - successes) / (tries * tries * (tries - 1))
    return (excess - 0.5) / math.sqrt(variance) if variance else 0.0


def _log_choose(n: int, k: int) -> float:
    return math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)
