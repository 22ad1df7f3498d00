"""Parts of a drafter that may stand outside its graph: the embedding of tokens, and the choice from a hidden state."""

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.base.base import Floats
from engine.drafters.drafter import Draft, Pick, PickRow
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

    def value(self, tokens: Sequence[int], width: int) -> NDArray[Any]:
        """What that input is given: ids ``[1, n]``, or embeddings ``[1, n, width]``.

        Raises:
            EngineFault: the embeddings have another shape.
        """
        if self.embed is None:
            return np.array([tokens], np.int64)
        rows = self.embed(tokens)
        if rows.shape != (len(tokens), width):
            raise EngineFault(f"the embed hook gave shape {rows.shape}, the drafter takes {(len(tokens), width)}")
        return np.asarray(rows, np.float32)[None]


NO_HOOKS = Hooks()


class Chain:
    """The picks of one draft, in order. ``position`` is where the first of them will stand, ``before`` stands ahead."""

    def __init__(self, hooks: Hooks, pick: PickRow, position: int, before: int) -> None:
        self._choose = hooks.choose
        self._pick = pick
        self._position = position
        self._before = before
        self._picks: list[Pick] = []
        self._logits: list[Floats] = []

    def add(self, row: Floats) -> Pick:
        """Choose from the next row, of logits or of hidden state; it may be a buffer that is overwritten later."""
        own = np.array(row)
        pick = self._picked(own) if self._choose is None else self._choose(own, self._before, self._picked)
        self._picks.append(pick)
        self._before = pick.token
        return pick

    def draft(self) -> Draft:
        """All of them, with the logits if every pick was made from some."""
        known = len(self._logits) == len(self._picks) > 0
        return Draft.of(self._picks, np.stack(self._logits) if known else None)

    def _picked(self, logits: Floats) -> Pick:
        self._logits.append(logits)
        return self._pick(logits, self._position + len(self._picks))
