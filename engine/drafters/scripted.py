"""A drafter that follows a script, not a model: so many drafts right in each round. For tests and the toy base."""

from collections.abc import Callable, Sequence

from engine.base.base import Rows
from engine.drafters.drafter import Draft, PickRow
from engine.records import DrafterInfo

ChoiceOf = Callable[[Sequence[int]], int]
"""The base's choice after a history of tokens."""


class ScriptedDrafter:
    """Drafts as many tokens as it may, of which the scripted number are the base's own choices.

    Args:
        takes: how many leading drafts are right in each drafted round, the last entry repeating; ``None``: all.
        p: the probability it claims by draft position, the last entry repeating.
    """

    def __init__(
        self,
        choice_of: ChoiceOf,
        vocab_size: int,
        takes: Sequence[int] | None,
        p: Sequence[float] = (0.9,),
        *,
        needs_anchor_row: bool = False,
    ) -> None:
        self.info = DrafterInfo(kind="scripted", name="scripted")
        self.vocab_size = vocab_size
        self.needs: frozenset[str] = frozenset()
        self.needs_anchor_row = needs_anchor_row
        self._choice_of = choice_of
        self._takes = takes
        self._p = p
        self._drafted_at: list[int] = []
        self._tokens: list[int] = []

    @property
    def consumed(self) -> int:
        return len(self._tokens)

    def draft(self, t1: int, limit: int, pick: PickRow, tau: float, anchor: Rows | None = None) -> Draft:  # noqa: ARG002
        right = limit if self._takes is None else self._takes[min(len(self._drafted_at), len(self._takes) - 1)]
        self._drafted_at.append(self.consumed)
        history = [*self._tokens, t1]
        for j in range(limit):
            history.append((self._choice_of(history) + (j == right)) % self.vocab_size)
        p = tuple(self._p[min(j, len(self._p) - 1)] for j in range(limit))
        return Draft(tuple(history[len(self._tokens) + 1 :]), p, p)

    def commit(self, tokens: Sequence[int], rows: Rows) -> None:  # noqa: ARG002
        self._tokens += tokens

    def rollback(self, keep: int) -> None:
        del self._tokens[keep:]
        self._drafted_at = [position for position in self._drafted_at if position < keep]
