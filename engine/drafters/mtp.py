"""The MTP head: one extra layer of the base, chained from its own output to draft several tokens."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.base.base import Rows
from engine.drafters.drafter import Draft, PickRow
from engine.drafters.hooks import NO_HOOKS, Chain, Hooks
from engine.drafters.store import RowStore
from engine.records import DrafterInfo
from engine.session import Pass, Session, SharedBuffer

CACHED_WIDTH = 32


class MtpDrafter:
    """Chains a graph as ``engine.models.graph_mtp.mtp_graph`` makes it.

    Its input is pairs: pair ``i`` is (token ``i + 1``, the base's hidden state ``i``). Over ``n`` committed positions
    the pairs up to ``n - 2`` are known; pair ``n - 1`` is made with ``t1`` when it drafts, in one pass with those that
    were put off, and the last row of that pass is the first draft. What it feeds itself after that is forgotten: the
    next draft feeds the same positions again, from the base's own hidden states.
    """

    def __init__(self, session: Session, info: DrafterInfo, context_length: int, hooks: Hooks = NO_HOOKS) -> None:
        session.require(hooks.tokens_in, "hidden")
        self.info = info
        self.vocab_size: int | None = None if hooks.choose else session.size("logits")
        self.needs = frozenset({"hidden"})
        self.needs_anchor_row = False
        self._session = session
        self._hooks = hooks
        width = session.size("hidden_out")
        self._cache = SharedBuffer(session, context_length)
        self._hidden = RowStore(context_length, width, "hidden states")
        self._tokens: list[int] = []
        self._cached = 0
        self._fed_t1: int | None = None
        self._outputs: dict[str, NDArray[np.float32]] = {"hidden_out": np.zeros((1, 1, width), np.float32)}
        if self.vocab_size is not None:
            self._outputs["logits"] = np.zeros((1, 1, self.vocab_size), np.float32)
        self._row: NDArray[np.float32] = self._outputs[hooks.rows_out][0, 0]
        self._passes: dict[int, Pass] = {}
        self._one = self._pass(1)
        self._one_token, self._one_hidden = self._one.inputs[hooks.tokens_in], self._one.inputs["hidden"][0]
        self._own_hidden = self._outputs["hidden_out"][0]

    @property
    def consumed(self) -> int:
        return len(self._tokens)

    def draft(self, t1: int, limit: int, pick: PickRow, tau: float, anchor: Rows | None = None) -> Draft:  # noqa: ARG002
        count = len(self._tokens)
        if count == 0:
            return Draft()
        first = min(self._cached, count - 1)
        self._fed_t1 = None
        row = self._feed([*self._tokens[first + 1 :], t1], self._hidden.rows[first:count], first)
        self._cached, self._fed_t1 = count - 1, t1
        chain = Chain(self._hooks, pick, count + 1, t1, limit)
        for place in range(count, count + limit - 1):
            chosen = chain.add(row)
            if tau and chosen.under(tau):
                return chain.draft()
            self._feed_own(chosen.token, place)
        chain.add(row)
        return chain.draft()

    def commit(self, tokens: Sequence[int], rows: Rows) -> None:
        start = len(self._tokens)
        self._hidden.put(start, rows.hidden, len(tokens))
        if self._fed_t1 is not None and tokens and tokens[0] == self._fed_t1:
            self._cached = start
        self._fed_t1 = None
        self._tokens += tokens

    def close(self) -> None:
        """Give the session up; to draft after that is a fault."""
        self._session.close()

    def rollback(self, keep: int) -> None:
        del self._tokens[keep:]
        self._cached = min(self._cached, max(0, keep - 1))
        self._fed_t1 = None

    def _feed(self, tokens: Sequence[int], hidden: NDArray[np.float32], start: int) -> NDArray[np.float32]:
        """Run pairs from ``start`` on; what to choose from in the last one, a buffer that the next call overwrites."""
        pass_ = self._pass(len(tokens))
        self._hooks.fill(pass_.inputs[self._hooks.tokens_in], tokens)
        pass_.inputs["hidden"][0] = hidden
        pass_.run(start + len(tokens))
        return self._row

    def _feed_own(self, token: int, place: int) -> None:
        """Run one more pair, of a token that it drafted and the hidden state that it drafted from."""
        pass_ = self._one
        self._hooks.fill(self._one_token, (token,))
        self._one_hidden[:] = self._own_hidden
        pass_.run(place + 1)

    def _pass(self, width: int) -> Pass:
        if (known := self._passes.get(width)) is not None:
            return known
        hidden = np.zeros((1, width, self._hidden.rows.shape[1]), np.float32)
        tokens: NDArray[Any] = np.zeros((1, width), np.int64)
        if self._hooks.embed is not None:
            tokens = np.zeros((1, width, self._session.size("inputs_embeds")), np.float32)
        inputs = {self._hooks.tokens_in: tokens, "hidden": hidden}
        made = Pass(self._session, self._cache, inputs, self._outputs)
        if width <= CACHED_WIDTH:
            self._passes[width] = made
        return made
