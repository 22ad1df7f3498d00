"""What another bar needs of the rounds of a run: a few numbers for each, taken in as the rounds come."""

import math
from array import array

from engine.records import Round
from engine.stats import cost_ms

_SAME_ANYWAY = ("stop", "budget", "no-drafter")
"""Reasons of a plain round that has nothing to do with the fallback."""
_WIDEST = 2**32 - 1


class Observed:
    """The rounds in which the drafter was asked, in order: ``index``, ``counts`` (tokens) and ``costs`` (milliseconds,
    NaN where not timed, without what is neither the base's nor the drafter's time).

    ``rounds``, ``tokens`` and ``ms`` are totals of all rounds, plain ones too. ``flip`` is the recorded flip: the index
    of the round after which drafting was off. ``edge`` is how many of the entries came before the first round that the
    fallback made plain, ``None`` while there is no such round: behind it nobody knows what would have been drafted.
    ``edge_rounds`` and ``edge_tokens`` are all rounds and tokens before it.
    """

    def __init__(self) -> None:
        self.index, self.counts, self.costs = array("I"), array("I"), array("f")
        self.rounds = self.tokens = self.untimed = 0
        self.ms = 0.0
        self.flip: int | None = None
        self.edge: int | None = None
        self.edge_rounds = self.edge_tokens = 0

    @property
    def known(self) -> int:
        """How many entries the rule can be replayed over."""
        return len(self.index) if self.edge is None else self.edge

    def add(self, round_: Round) -> None:
        """Take in the next round."""
        ms, emitted = round_.ms, round_.emitted
        count = round_.count if emitted is None else len(emitted)
        if round_.form != "plain" or round_.reason == "zero-draft":
            self.index.append(self.rounds)
            self.counts.append(count if 0 <= count <= _WIDEST else min(max(count, 0), _WIDEST))
            self.costs.append(cost_ms(ms) if ms else math.nan)
        elif round_.reason not in _SAME_ANYWAY and self.edge is None and len(self.index):
            self.edge, self.edge_rounds, self.edge_tokens = len(self.index), self.rounds, self.tokens
            if self.flip is None and round_.reason is not None:
                self.flip = self.rounds - 1
        if self.flip is None and round_.fallback is not None and round_.fallback.off:
            self.flip = self.rounds
        self.rounds += 1
        self.tokens += count
        if ms:
            self.ms += sum(ms.values())
        else:
            self.untimed += 1
