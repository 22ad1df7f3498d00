"""The usual faults of rejection sampling, each as a sampler or a decision that can take the right one's place."""

from collections.abc import Set

import msgspec
import numpy as np

from engine.accept import Decision, decide
from engine.base.base import Floats
from engine.drafters.drafter import Draft, Pick
from engine.faults.fault import Beside, Fault, on_code
from engine.loop import Rules
from engine.options import Options
from engine.sampling import AnySampler, Probs, Purpose, Rejection, Row, argmax, draw, residual


class ResidualAsP(Rejection):
    """Takes the correction from p instead of what is left of it."""

    def correct(self, base_probs: Probs, draft_probs: Probs, position: int) -> int:  # noqa: ARG002
        return draw(base_probs, self.coins(position, Purpose.CHOOSE))


class ResidualSoftmax(Rejection):
    """Normalises the residual with a softmax instead of a sum."""

    def correct(self, base_probs: Probs, draft_probs: Probs, position: int) -> int:
        left = np.exp(np.maximum(base_probs - draft_probs, 0.0))
        return draw(left / left.sum(), self.coins(position, Purpose.CHOOSE))


class ReusedU(Rejection):
    """Draws the correction with the number that rejected the draft."""

    def correct(self, base_probs: Probs, draft_probs: Probs, position: int) -> int:
        return draw(residual(base_probs, draft_probs), self.coins(position, Purpose.ACCEPT))


class ArgmaxWithSoftQ(Rejection):
    """Drafts the most likely token and claims that it was drawn."""

    def propose(self, row: Row, position: int) -> Pick:  # noqa: ARG002
        q = self.probs(row)
        token = argmax(row)
        return Pick(token, float(q[token]), float(q[token]), q)


def judge_without_temperature(
    draft: Draft, logits: Floats, position: int, sampler: AnySampler, stop_tokens: Set[int]
) -> Decision:
    """Hold what was drawn under the run's temperature against the base's distribution without any."""
    assert isinstance(sampler, Rejection)
    bare = Rejection(Options(sampler="rejection", temperature=1.0), sampler.coins)
    return decide(draft, logits, position, bare, stop_tokens)


REJECTION = ("rejection",)
DRAWN = on_code(sampler="rejection", temperature=0.9, top_k=20, seed=7, max_tokens=80)

FAULTS = (
    Fault(
        name="basis-mismatch",
        sentence="The drafter draws under a temperature that the base judges without.",
        rules=("A15",),
        beside=Beside.ACCEPTANCE,
        shown=on_code(sampler="rejection", temperature=0.5, seed=7, max_tokens=80),
        samplers=REJECTION,
        decides=Rules(decide=judge_without_temperature),
    ),
    Fault(
        name="residual-as-p",
        sentence="After a rejection the next token is drawn from p, not from what is left of it.",
        rules=("A15",),
        beside=Beside.DISTRIBUTION,
        shown=on_code(sampler="rejection", temperature=1.5, top_k=4, seed=7, k=2, max_tokens=80),
        samplers=REJECTION,
        decides=Rules(sampler=ResidualAsP),
    ),
    Fault(
        name="residual-softmax",
        sentence="What is left of p after a rejection is normalised with a softmax, so that any token may come.",
        rules=("A15",),
        beside=Beside.DISTRIBUTION,
        shown=DRAWN,
        samplers=REJECTION,
        decides=Rules(sampler=ResidualSoftmax),
    ),
    Fault(
        name="reused-u",
        sentence="The number that rejected a draft also draws the token that takes its place.",
        beside=Beside.CHOICES,
        shown=DRAWN,
        samplers=REJECTION,
        decides=Rules(sampler=ReusedU),
    ),
    Fault(
        name="argmax-with-soft-q",
        sentence="The drafter picks its most likely token and is judged as if it had drawn it.",
        rules=("A15",),
        beside=Beside.DRAFTS,
        shown=msgspec.structs.replace(DRAWN, candidates=1),
        samplers=REJECTION,
        decides=Rules(sampler=ArgmaxWithSoftQ),
    ),
)
