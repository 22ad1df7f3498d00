"""A fault of samplers that only a unit test can have: it drops drafts for what they are."""

from engine.drafters.drafter import Pick
from engine.sampling import Rejection, Row, softmax


class DroppedForItself(Rejection):
    """Compares ``tau`` with the probability of the very token drawn."""

    def propose(self, row: Row, position: int) -> Pick:
        pick = super().propose(row, position)
        return pick._replace(confidence=float(softmax(row)[pick.token]))
