"""Parts of a drafter that may stand outside its graph: the embedding of tokens, and the choice from a hidden state."""

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.base.base import Floats
from engine.drafters.drafter import Draft, Pick, PickRow, full_softmax_at
from engine.errors import EngineFault

Embed = Callable[[Sequence[int]], Floats]
"""From ``n`` tokens to their embeddings ``[n, hidden]``."""

Choose = Callable[[Floats, int, Callable[[Floats], Pick]], Pick]
"""From a row's hidden state ``[hidden]`` and the token before it to the row's pick.

The third argument picks from logits ``[vocab]`` as the run does. A pick that is drawn in any other way has to say from
which ``q``; one without ``q`` has to be a function of what it was given, or sampling is no longer exact.
"""


@dataclasses.dataclass(frozen=True)
class Hooks:
    """What a drafter's graph leaves to its caller.

    With ``embed`` the graph takes ``inputs_embeds`` ``[1, n, hidden]`` in place of ``input_ids``, with ``choose`` its
    ``hidden_out`` is chosen from and it needs no ``logits``.
    """

    embed: Embed | None = None
    choose: Choose | None = None

    @property
    def tokens_in(self) -> str:
        """The graph's input for tokens."""
        return "inputs_embeds" if self.embed else "input_ids"

    @property
    def rows_out(self) -> str:
        """The graph's output that is chosen from."""
        return "hidden_out" if self.choose else "logits"

    def fill(self, taken: NDArray[Any], tokens: Sequence[int]) -> None:
        """Write what that input is given: ids ``[1, n]``, or embeddings ``[1, n, width]``.

        Raises:
            EngineFault: the embeddings have another shape.
        """
        if self.embed is None:
            taken[0] = tokens
            return
        rows = self.embed(tokens)
        if rows.shape != taken.shape[1:]:
            raise EngineFault(f"the embed hook gave shape {rows.shape}, the drafter takes {taken.shape[1:]}")
        taken[0] = rows


NO_HOOKS = Hooks()


class Chain:
    """The picks of one draft, in order, ``limit`` at most.

    ``position`` is where the first of them will stand, ``before`` stands ahead of it.
    """

    def __init__(self, hooks: Hooks, pick: PickRow, position: int, before: int, limit: int) -> None:
        self._choose = hooks.choose
        self._pick = pick
        self._position = position
        self._before = before
        self._limit = limit
        self._picks: list[Pick] = []
        self._logits: Floats | None = None
        self._known = 0

    def add(self, row: Floats) -> Pick:
        """Choose from the next row, of logits or of hidden state; it may be a buffer that is overwritten later."""
        if self._choose is None:
            own = self._kept(row)
            pick = self._pick(own, self._position + len(self._picks))
        else:
            pick = self._choose(row.copy(), self._before, self._judged)
            self._before = pick.token
        self._picks.append(pick)
        return pick

    def draft(self) -> Draft:
        """All of them, with the logits if every pick was made from some."""
        known = self._known == len(self._picks)
        return Draft.of(self._picks, self._logits[: self._known] if known and self._logits is not None else None)

    def _kept(self, logits: Floats) -> Floats:
        """The same in memory of its own."""
        if self._logits is None:
            self._logits = np.empty((self._limit, len(logits)), np.float32)
        own: Floats = self._logits[self._known]
        own[:] = logits
        self._known += 1
        return own

    def _judged(self, logits: Floats) -> Pick:
        """A pick with its figures: whether the others of this draft come from logits is not known yet."""
        pick = self._pick(self._kept(logits), self._position + len(self._picks))
        if pick.p is not None:
            return pick
        (p,) = full_softmax_at(logits[None], (pick.token,))
        return pick._replace(p=p, confidence=p)
