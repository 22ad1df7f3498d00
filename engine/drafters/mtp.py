"""The MTP head: one extra layer of the base, chained from its own output to draft several tokens."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from engine.base.base import Rows
from engine.compiled import ANY, Widths
from engine.drafters.drafter import Draft, Pick, PickRow, first_best
from engine.drafters.hooks import NO_HOOKS, Chain, Hooks
from engine.drafters.store import RowStore
from engine.records import DrafterInfo
from engine.session import Session, SharedBuffer

CACHED_WIDTH = 32


class HeadPass(Protocol):
    """A pass of one width over arrays that may be written and read between its runs."""

    @property
    def inputs(self) -> Mapping[str, NDArray[Any]]: ...

    def run(self, length_after: int) -> None:
        """Run; ``length_after`` is how many pairs the keys and values hold afterwards."""


class HeadGraph(Protocol):
    """A head's graph with its keys and values, under the names of ``engine.models.graph_mtp.mtp_graph``."""

    def require(self, *names: str) -> None: ...
    def size(self, name: str, axis: int = -1) -> int: ...
    def pass_(self, inputs: Mapping[str, NDArray[Any]], outputs: Mapping[str, NDArray[Any]]) -> HeadPass: ...


class _Slot(NamedTuple):
    """Where a draft's pass writes, the row it is picked from, and that pass: the first one's may have any width."""

    outputs: dict[str, NDArray[np.float32]]
    row: NDArray[np.float32]
    pass_: HeadPass | None


class MtpDrafter:
    """Chains a graph as ``engine.models.graph_mtp.mtp_graph`` makes it, or another ``graph`` that computes the same.

    Its input is pairs: pair ``i`` is (token ``i + 1``, the base's hidden state ``i``). Over ``n`` committed positions
    the pairs up to ``n - 2`` are known; pair ``n - 1`` is made with ``t1`` when it drafts, in one pass with those that
    were put off, and the last row of that pass is the first draft. What it feeds itself after that is forgotten: the
    next draft feeds the same positions again, from the base's own hidden states. A pass that has to be wider, by
    ``widths``, runs the pairs before it again; where there are too few of them, nothing is drafted.
    """

    def __init__(
        self,
        session: Session,
        info: DrafterInfo,
        context_length: int,
        hooks: Hooks = NO_HOOKS,
        widths: Widths = ANY,
        graph: HeadGraph | None = None,
    ) -> None:
        self._graph = graph or SharedBuffer(session, context_length)
        self._graph.require(hooks.tokens_in, "hidden")
        self.info = info
        self.vocab_size: int | None = None if hooks.choose else self._graph.size("logits")
        self.needs = frozenset({"hidden"})
        self.needs_anchor_row = False
        self._session = session
        self._hooks = hooks
        self._widths = widths
        self._narrowest = widths.narrowest
        self._one_id = self._narrowest == 1 and hooks.embed is None
        width = self._graph.size("hidden_out")
        self._hidden = RowStore(context_length, width, "hidden states")
        self._tokens: list[int] = []
        self._cached = 0
        self._fed_t1: int | None = None
        self._width = width
        self._slots: list[_Slot] = []
        self._rows: NDArray[np.float32] = np.zeros((0, 0), np.float32)
        self._passes: dict[int, HeadPass] = {}
        self._make_room(1)

    @property
    def consumed(self) -> int:
        return len(self._tokens)

    def draft(self, t1: int, limit: int, pick: PickRow, tau: float, anchor: Rows | None = None) -> Draft:  # noqa: ARG002
        count = len(self._tokens)
        if count == 0:
            return Draft()
        self._make_room(limit)
        spans = self._widths.ending_at(min(self._cached, count - 1), count)
        if spans is None:
            return Draft()
        self._fed_t1 = None
        for first, last in spans:
            self._feed([*self._tokens[first + 1 : last + 1], t1][: last - first], first, last)
        self._cached, self._fed_t1 = count - 1, t1
        chain = None if self._hooks.choose is None else Chain(self._hooks.choose, pick, count + 1, t1)
        bare = chain is None and pick is first_best
        tokens: list[int] = []
        picks: list[Pick] = []
        for j, slot in enumerate(self._slots[:limit]):
            if slot.pass_ is not None:
                if self._one_id:
                    self._token[0, 0] = tokens[-1]
                else:
                    self._fill(slot.pass_, t1, tokens)
                slot.pass_.run(count + j)
            if bare:
                tokens.append(int(slot.row.argmax()))
                continue
            picks.append(pick(slot.row, count + 1 + j) if chain is None else chain.add(slot.row))
            tokens.append(picks[-1].token)
            if picks[-1].under(tau):
                break
        if bare:
            return Draft(tuple(tokens), logits=self._rows[: len(tokens)])
        return Draft.of(picks, self._rows[: len(picks)]) if chain is None else chain.draft()

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

    def _feed(self, tokens: Sequence[int], first: int, last: int) -> None:
        """Run pairs ``first`` up to ``last``, of the base's hidden states, into the first slot."""
        pass_ = self._pass(len(tokens))
        self._hooks.fill(pass_.inputs[self._hooks.tokens_in], tokens)
        pass_.inputs["hidden"][0] = self._hidden.rows[first:last]
        pass_.run(last)

    def _fill(self, pass_: HeadPass, t1: int, drafts: Sequence[int]) -> None:
        """Give a pass behind the first one its last pair, and those before it that its width has room for.

        The last pair's hidden state is there already.
        """
        width = self._narrowest
        if width == 1:
            self._hooks.fill(self._token, drafts[-1:])
            return
        own = [t1, *drafts]
        count, made = len(self._tokens), len(drafts)
        first = count + made - width
        self._hooks.fill(pass_.inputs[self._hooks.tokens_in], [*self._tokens[first + 1 :], *own][-width:])
        hidden, known = pass_.inputs["hidden"][0], max(0, count - first)
        hidden[:known] = self._hidden.rows[first:count]
        hidden[known:] = self._own[max(0, first - count) : made, 0, 0]

    def _pass(self, width: int) -> HeadPass:
        if (known := self._passes.get(width)) is not None:
            return known
        inputs = {self._hooks.tokens_in: self._empty(width), "hidden": _no_hidden(width, self._width)}
        made = self._graph.pass_(inputs, self._slots[0].outputs)
        if width <= CACHED_WIDTH:
            self._passes[width] = made
        return made

    def _empty(self, width: int) -> NDArray[Any]:
        """An array for the tokens of a pass."""
        if self._hooks.embed is not None:
            return np.zeros((1, width, self._graph.size("inputs_embeds")), np.float32)
        return np.zeros((1, width), np.int64)

    def _make_room(self, count: int) -> None:
        """Bind a pass for each of ``count`` drafts. Each reads the hidden state that the one before it wrote."""
        if count <= len(self._slots):
            return
        hidden = np.zeros((count, 1, 1, self._width), np.float32)
        logits = np.zeros((count, 1, 1, self.vocab_size or 0), np.float32)
        self._rows = (logits if self._hooks.choose is None else hidden)[:, 0, 0]
        self._own, width = hidden, self._narrowest
        self._token = self._empty(1)
        self._passes.clear()
        self._slots = []
        for j in range(count):
            outputs = {"hidden_out": hidden[j]}
            if self.vocab_size is not None:
                outputs["logits"] = logits[j]
            pass_ = None
            if j:
                inputs = {self._hooks.tokens_in: self._token, "hidden": hidden[j - 1]}
                if width > 1:
                    inputs = {self._hooks.tokens_in: self._empty(width), "hidden": _no_hidden(width, self._width)}
                pass_ = self._graph.pass_(inputs, outputs)
            self._slots.append(_Slot(outputs, self._rows[j], pass_))


def _no_hidden(rows: int, width: int) -> NDArray[np.float32]:
    return np.zeros((1, rows, width), np.float32)
