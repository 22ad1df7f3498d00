"""Drafts that are counted and were not earned."""

from collections.abc import Set

import msgspec

from engine.accept import Decision, decide, leading_matches, shorten_at_stop
from engine.base.base import Floats, Rows
from engine.drafters.drafter import Draft, Drafter, PickRow
from engine.faults.fault import Fault, on_code
from engine.faults.models import with_base, with_drafter
from engine.faults.over import OverDrafter, OverRounds, OverRun
from engine.loop import Rules
from engine.records import Round
from engine.sampling import AnySampler

PADDED_FROM = 5
"""Drafts that are made before drafting is skipped."""


def accept_all(draft: Draft, logits: Floats, position: int, sampler: AnySampler, stop_tokens: Set[int]) -> Decision:
    """Take every draft, whatever the base chose."""
    right = decide(draft, logits, position, sampler, stop_tokens)
    take, stopped = shorten_at_stop(draft.tokens, len(draft.tokens), stop_tokens)
    return right._replace(take=take, stopped=stopped, next=right.targets[take])


def compare_shifted(
    draft: Draft, logits: Floats, position: int, sampler: AnySampler, stop_tokens: Set[int]
) -> Decision:
    """Hold draft i + 1 against row i, so that nothing is held against the first."""
    right = decide(draft, logits, position, sampler, stop_tokens)
    take = min(len(draft.tokens), 1 + leading_matches(draft.tokens[1:], right.targets))
    take, stopped = shorten_at_stop(draft.tokens, take, stop_tokens)
    return right._replace(take=take, stopped=stopped, next=right.targets[take])


class Replays(OverRounds):
    """Takes a partly rejected batch back as a whole, and runs what was accepted of it again."""

    def _commit(self, began: int, keep: int) -> None:
        if keep == self.consumed:
            return
        kept = list(self.tokens[began:keep])
        self._base.rollback(began)
        self._base.verify(kept)


class CountsReplay(OverRun):
    """Tells of the second pass only, where nothing is rejected any more."""

    def tell(self, round_: Round) -> Round:
        rows = round_.take + 1
        if not round_.drafted or round_.take == round_.in_batch:
            return round_
        return msgspec.structs.replace(
            round_,
            verified=round_.take,
            width=rows,
            u=round_.u and round_.u[: round_.take],
            accept_p=round_.accept_p and round_.accept_p[: round_.take],
            targets=round_.targets and round_.targets[:rows],
            target_p=round_.target_p and round_.target_p[:rows],
            gap=round_.gap and round_.gap[:rows],
            top=round_.top and round_.top[:rows],
        )


class Pads(OverDrafter):
    """Does not draft any more after some rounds; the block that it should have filled is sent as it was made."""

    def __init__(self, drafter: Drafter) -> None:
        super().__init__(drafter)
        self._drafts = 0

    def draft(self, t1: int, limit: int, pick: PickRow, tau: float, anchor: Rows | None = None) -> Draft:
        self._drafts += 1
        if self._drafts <= PADDED_FROM:
            return super().draft(t1, limit, pick, tau, anchor)
        return Draft((0,) * limit, (1.0,) * limit, (1.0,) * limit)


FAULTS = (
    Fault(
        name="counts-everything",
        sentence="Every drafted token is counted as accepted; nothing is compared with the base's choices.",
        rules=("A4",),
        shown=on_code(),
        decides=Rules(decide=accept_all),
    ),
    Fault(
        name="replay-counted",
        sentence="After a rejection the shortened draft is verified again, and only that pass is counted: 100 %.",
        rules=("A2",),
        shown=on_code(max_tokens=120),
        models=with_base(Replays),
        tell=CountsReplay,
    ),
    Fault(
        name="padded-drafts",
        sentence="Drafting is skipped, but a block of zeros is verified and counted as drafts.",
        rules=("A13",),
        shown=on_code(),
        models=with_drafter(Pads),
    ),
    Fault(
        name="rows-shifted",
        sentence="Row i is compared with draft i + 1, so that the first draft is never checked.",
        rules=("A4",),
        shown=on_code(),
        samplers=("greedy", "gumbel"),
        decides=Rules(decide=compare_shifted),
    ),
)
