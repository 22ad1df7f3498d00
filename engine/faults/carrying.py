"""A wrong token is carried from one round to the next."""

from collections.abc import Set

import msgspec

from engine.accept import Decision, decide
from engine.base.base import Floats
from engine.drafters.drafter import Draft
from engine.faults.fault import Beside, Fault, on_code
from engine.faults.over import OverRun
from engine.loop import Rules
from engine.records import Round
from engine.sampling import AnySampler


def carry_row_before(
    draft: Draft, logits: Floats, position: int, sampler: AnySampler, stop_tokens: Set[int]
) -> Decision:
    """Carry on the choice of the row before the last accepted draft, which is that draft."""
    right = decide(draft, logits, position, sampler, stop_tokens)
    return right._replace(next=right.targets[right.take - 1]) if right.take else right


def drop_bonus(draft: Draft, logits: Floats, position: int, sampler: AnySampler, stop_tokens: Set[int]) -> Decision:
    """Drop the token behind a fully accepted draft, so that the round seems to end one token before."""
    right = decide(draft, logits, position, sampler, stop_tokens)
    full = right.take and right.take == len(draft.tokens)
    return right._replace(next=right.targets[right.take - 1]) if full else right


class TellsChoice(OverRun):
    """Tells what the base chose; what the host made of it is seen in the next round."""

    def tell(self, round_: Round) -> Round:
        return msgspec.structs.replace(round_, next=round_.targets and round_.targets[round_.take])


FAULTS = (
    Fault(
        name="anchor-lost",
        sentence="The host drops the tail of a fully accepted round: the next one does not begin with the base's last "
        "choice.",
        rules=("A6",),
        beside=Beside.PLAIN,
        shown=on_code(),
        decides=Rules(decide=drop_bonus),
        tell=TellsChoice,
    ),
    Fault(
        name="duplicate-at-boundary",
        sentence="The next token is taken from the row before the right one: the last accepted token comes twice.",
        rules=("A5",),
        beside=Beside.PLAIN,
        shown=on_code(),
        decides=Rules(decide=carry_row_before),
    ),
)
