"""Faults that are watched while they run: where each first changes a draft or a choice, known without a right run."""

import dataclasses
from collections.abc import Callable, Sequence

from engine.base.base import Rows
from engine.drafters.drafter import Draft, Drafter, Pick, PickRow
from engine.faults.fault import Fault
from engine.faults.models import with_drafter
from engine.faults.over import OverDrafter
from engine.faults.sampling import ArgmaxWithSoftQ, ReusedU
from engine.loop import Rules
from engine.opening import Models
from engine.records import Round
from engine.sampling import Probs, Purpose, Rejection, Row, draw, residual

Watched = tuple[Fault, Callable[[Sequence[Round]], int]]
"""The fault with a spy in it, and the round where it first bit, once it ran."""


def watched(fault: Fault, drafter: str) -> Watched:
    """Put the spy that it needs into a fault."""
    match fault.name:
        case "reused-u":
            return _watched_choices(fault)
        case "argmax-with-soft-q":
            return _watched_picks(fault)
        case _:
            return _watched_drafts(fault, drafter)


def _watched_choices(fault: Fault) -> Watched:
    bites: list[int] = []

    class Spy(ReusedU):
        def correct(self, base_probs: Probs, draft_probs: Probs, position: int) -> int:
            made = super().correct(base_probs, draft_probs, position)
            if made != draw(residual(base_probs, draft_probs), self.coins(position, Purpose.CHOOSE)):
                bites.append(position)
            return made

    # What is chosen in place of a draft stands behind the tokens that the round emits.
    return dataclasses.replace(fault, decides=Rules(sampler=Spy)), lambda rounds: next(
        r.index for r in rounds if (r.pos or 0) + r.count == bites[0]
    )


def _watched_picks(fault: Fault) -> Watched:
    bites: list[int] = []

    class Spy(ArgmaxWithSoftQ):
        def propose(self, row: Row, position: int) -> Pick:
            made = super().propose(row, position)
            if made.token != Rejection.propose(self, row, position).token:
                bites.append(position)
            return made

    return dataclasses.replace(fault, decides=Rules(sampler=Spy)), lambda rounds: next(
        r.index for r in rounds if (r.pos or 0) < bites[0] <= (r.pos or 0) + r.drafted
    )


def _watched_drafts(fault: Fault, drafter: str) -> Watched:
    bites: list[int] = []

    def models(models: Models) -> Models:
        def beside(faulty: Drafter) -> Drafter:
            right = models.drafter(drafter)
            assert right is not None
            return TwoDrafters(faulty, right, bites)

        return with_drafter(beside)(fault.models(models))

    return dataclasses.replace(fault, models=models), lambda _: bites[0]


class TwoDrafters(OverDrafter):
    """A right drafter beside a faulty one: it is given the base's own rows and asked for the same drafts.

    ``bites`` takes the round of every draft that the two do not agree on.
    """

    def __init__(self, faulty: Drafter, right: Drafter, bites: list[int]) -> None:
        super().__init__(faulty)
        self._right = right
        self._bites = bites
        self._rounds = 0

    def draft(self, t1: int, limit: int, pick: PickRow, tau: float, anchor: Rows | None = None) -> Draft:
        right = self._right.draft(t1, limit, pick, tau, anchor)
        made = super().draft(t1, limit, pick, tau, anchor)
        if made.tokens != right.tokens:
            self._bites.append(self._rounds)
        self._rounds += 1
        return made

    def commit(self, tokens: Sequence[int], rows: Rows) -> None:
        self._right.commit(tokens, rows)
        super().commit(tokens, rows)

    def rollback(self, keep: int) -> None:
        self._right.rollback(keep)
        super().rollback(keep)
