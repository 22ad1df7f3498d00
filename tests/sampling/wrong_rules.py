"""The usual faults of rejection sampling, each as a sampler that can take the right one's place."""

import numpy as np

from engine.drafters.drafter import Pick
from engine.sampling import Probs, Purpose, Rejection, Row, argmax, draw, residual, softmax


class ResidualAsP(Rejection):
    """Takes the correction from p instead of what is left of it."""

    def correct(self, base_probs: Probs, draft_probs: Probs, position: int) -> int:
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

    def propose(self, row: Row, position: int) -> Pick:
        q = self.probs(row)
        token = argmax(row)
        return Pick(token, float(q[token]), float(q[token]), q)


class DroppedForItself(Rejection):
    """Compares ``tau`` with the probability of the very token drawn."""

    def propose(self, row: Row, position: int) -> Pick:
        pick = super().propose(row, position)
        return pick._replace(confidence=float(softmax(row)[pick.token]))
