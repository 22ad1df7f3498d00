"""A recurrent state that is not put back to the last kept row. Keys and values can be cut; this has to be restored."""

from collections.abc import Callable

from engine.base.base import Base
from engine.base.toy import Recurrent, RecurrentToyBase
from engine.errors import Refused
from engine.faults.fault import Beside, Fault, on_toy
from engine.faults.models import with_base
from engine.faults.over import OverRounds
from engine.opening import TOY_HYBRID

Restored = Callable[[RecurrentToyBase, int, int], Recurrent]
"""From a base that still holds the batch, and where the round began and ends: the state to go on with."""


class Restores(OverRounds):
    """Cuts a batch right, and restores another state than that of its last kept row.

    Raises:
        Refused: the base has no recurrent state that it shows.
    """

    def __init__(self, base: Base, restored: Restored) -> None:
        super().__init__(base)
        if not isinstance(base, RecurrentToyBase):
            raise Refused(f"base {base.info.name} has no recurrent state to be restored wrongly: use {TOY_HYBRID}")
        self._recurrent = base
        self._restored = restored

    def _commit(self, began: int, keep: int) -> None:
        if keep == self.consumed:
            return
        state = self._restored(self._recurrent, began, keep)
        super()._commit(began, keep)
        self._recurrent.state = state


def after_batch(base: RecurrentToyBase, began: int, keep: int) -> Recurrent:  # noqa: ARG001
    """Leave it as it is."""
    return base.state


def row_before(base: RecurrentToyBase, began: int, keep: int) -> Recurrent:
    """Where some drafts were accepted, and not all, take the checkpoint of one row too early for the right one."""
    if keep - began == 1:
        return base.checkpoint(keep)
    return base.checkpoint(keep - 1)._replace(position=keep)


FAULTS = (
    Fault(
        name="recurrent-not-restored",
        sentence="The recurrent state is left as it was after the last row of the batch, rejected or not.",
        rules=("A14",),
        beside=Beside.PLAIN,
        shown=on_toy("4-4-2-4-3-4-1-4", model=TOY_HYBRID),
        models=with_base(lambda base: Restores(base, after_batch)),
    ),
    Fault(
        name="recurrent-wrong-slot",
        sentence="The recurrent state is right after full and after zero acceptance, and one row too old in between.",
        rules=("A17",),
        beside=Beside.PLAIN,
        shown=on_toy("-".join("4214312442134421342143241134241432134421342"), model=TOY_HYBRID, max_tokens=160),
        models=with_base(lambda base: Restores(base, row_before)),
    ),
)
