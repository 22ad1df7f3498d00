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
            for i, token in enumerate(tokens):
                taken[0, i] = token
            return
        rows = self.embed(tokens)
        if rows.shape != taken.shape[1:]:
            raise EngineFault(f"the embed hook gave shape {rows.shape}, the drafter takes {taken.shape[1:]}")
        taken[0] = rows


NO_HOOKS = Hooks()


class Chain:
    """The picks of one draft by a ``choose`` hook, in order.

    ``position`` is where the first of them will stand, ``before`` stands ahead of it.
    """

    def __init__(self, choose: Choose, pick: PickRow, position: int, before: int) -> None:
        self._choose = choose
        self._pick = pick
        self._position = position
        self._before = before
        self._picks: list[Pick] = []
        self._logits: list[Floats] = []

    def add(self, hidden: Floats) -> Pick:
        """Choose from the next row's hidden state, which may be a buffer that is overwritten later."""
        pick = self._choose(hidden.copy(), self._before, self._picked)
        self._picks.append(pick)
        self._before = pick.token
        return pick

    def draft(self) -> Draft:
        """All of them, with the logits if every pick was made from some."""
        known = len(self._logits) == len(self._picks) > 0
        return Draft.of(self._picks, np.stack(self._logits) if known else None)

    def _picked(self, logits: Floats) -> Pick:
        """A pick with its figures: whether the others of this draft come from logits is not known yet."""
        self._logits.append(logits)
        pick = self._pick(logits, self._position + len(self._picks))
        if pick.p is not None:
            return pick
        (p,) = full_softmax_at(logits[None], (pick.token,))
        return pick._replace(p=p, confidence=p)
