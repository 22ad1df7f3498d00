"""What became of holding a recorded run against models: the tokens that differ, and how far numbers lie apart."""

import math
from collections.abc import Iterable

import msgspec

from engine.base.base import Floats

LISTED = 100
"""How many differences, and how many near-ties, of a kind are listed; those behind are only counted."""


class Difference(msgspec.Struct, frozen=True, kw_only=True):
    """A token that is another here. ``what`` is "choice", of the base on a row, or "draft".

    ``row`` is the row of the round's pass, or which draft it is, from 0; ``round`` is ``None`` for the prompt's pass.
    ``position`` is where the token stands in the text. ``gap`` is by how much the token ``here`` leads the ``traced``
    one in this model's logits (``None`` for a drafter without); ``tie`` says that this is no more than noise.
    """

    what: str
    round: int | None
    row: int
    position: int
    traced: int
    here: int
    gap: float | None = None
    tie: bool = False


class Tally(msgspec.Struct, kw_only=True):
    """Of one kind: ``compared`` tokens, of which ``differing`` differ by more than a tie and ``ties`` by one.

    ``apart`` is the most that a recorded probability lies from the one here, ``None`` if none was recorded.
    """

    compared: int = 0
    differing: int = 0
    ties: int = 0
    apart: float | None = None
    first: list[Difference] = []

    @property
    def equal(self) -> int:
        """How many are the same token."""
        return self.compared - self.differing - self.ties

    def same(self) -> None:
        """Count a token that is the same here."""
        self.compared += 1

    def put(self, difference: Difference) -> None:
        """Count one that is not."""
        self.compared += 1
        self.ties += difference.tie
        self.differing += not difference.tie
        if (self.ties if difference.tie else self.differing) <= LISTED:
            self.first.append(difference)

    def number(self, recorded: float | None, here: float) -> None:
        """Compare a probability."""
        if recorded is not None and math.isfinite(recorded) and math.isfinite(here):
            self.apart = max(self.apart or 0.0, abs(recorded - here))


class Held(msgspec.Struct, kw_only=True):
    """All of it. ``logits`` is the most that a recorded logit lies from the one here.

    ``judged`` says whether choices could be: not where they were drawn at random by the rejection rule. ``stopped``
    says why not all rounds were looked at.
    """

    rounds: int = 0
    choices: Tally = msgspec.field(default_factory=Tally)
    drafts: Tally = msgspec.field(default_factory=Tally)
    logits: float | None = None
    judged: bool = True
    stopped: str | None = None

    @property
    def equal(self) -> int:
        """How many tokens are the same."""
        return self.choices.equal + self.drafts.equal

    @property
    def differing(self) -> int:
        """How many differ by more than a tie."""
        return self.choices.differing + self.drafts.differing

    def candidates(self, recorded: Iterable[tuple[int, float]], row: Floats) -> None:
        """Compare recorded logits with those of a row ``[vocab]``."""
        for token, logit in recorded:
            here = float(row[token]) if 0 <= token < len(row) else math.nan
            if math.isfinite(logit) and math.isfinite(here):
                self.logits = max(self.logits or 0.0, abs(logit - here))


class Explained(msgspec.Struct, frozen=True, kw_only=True):
    """A fault with which the models say what the trace says more often than without.

    Over the first ``rounds`` rounds ``equal`` of ``compared`` tokens are the trace's with it, ``without`` it so many.
    """

    name: str
    sentence: str
    rounds: int
    compared: int
    equal: int
    without: int


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """``model`` and ``drafter`` are those that ran here, the latter ``None`` where drafts were not compared.

    ``faults`` are the known faults that explain the differences best, several if no token tells them apart, none if
    none does. ``doubts`` are reasons why the trace may differ from these models though nothing is wrong with it.
    """

    model: str
    drafter: str | None
    rounds: int
    tie: float
    held: Held
    faults: tuple[Explained, ...] = ()
    doubts: tuple[str, ...] = ()

    @property
    def holds(self) -> bool:
        """Whether no token differs by more than a tie, nor, where tokens cannot be judged, a probability by as much."""
        if not self.held.judged:
            return all((each.apart or 0.0) <= self.tie for each in (self.held.choices, self.held.drafts))
        return not self.held.differing
