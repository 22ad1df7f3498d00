"""Passes of a graph that takes its state as arrays and gives new ones, state that cannot be cut included."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.base.base import Floats, Rows
from engine.base.state import INTEGERS, State, StateTensor, state_pairs, state_tensors
from engine.base.wiring import Wiring
from engine.errors import ModelError
from engine.session import Session

RECENT, STRIDE = 16, 64
"""How many snapshots are kept of the last passes, and at least how many positions lie between older ones."""

LOGITS_FROM = "logits_from"
_LAST_ROW = "{}: it gives logits of the last row only, and cannot verify a draft so: export it with logits of every row"
_USUAL = Wiring()


class _Snapshot(NamedTuple):
    """The tensors of constant size after so many positions. A graph gives new arrays, so this is references only."""

    position: int
    values: dict[str, State]


class ArrayPasses:
    """Passes over arrays: keys and values that grow, and recurrent and convolution states that are overwritten.

    What grows is cut by a slice. What does not is restored: from the checkpoint after a row of the last pass where the
    graph gives those, else from the nearest snapshot before, one of which is taken before every pass.

    Raises:
        ModelError: inputs that are not known, logits of one row only, or a state as in ``state_tensors``.
    """

    def __init__(self, session: Session, wiring: Wiring = _USUAL) -> None:
        tensors = known_state(session, wiring)
        self._session = session
        self._wiring = wiring
        self._tensors = tensors
        self._growing = [tensor for tensor in tensors if tensor.axis is not None]
        self._constant = [tensor for tensor in tensors if tensor.axis is None]
        self._by_row = bool(self._constant) and all(tensor.by_row for tensor in self._constant)
        self._features = {ours: name for ours, name in wiring.features.items() if name in session.outputs}
        self._values = {tensor.past: tensor.empty for tensor in tensors}
        self._length = 0
        self._snapshots = [self._now()]
        self._rows: dict[str, State] = {}
        self._rows_from = 0

    @property
    def kind(self) -> str:
        """What a trace's header calls the state: "attention", or "hybrid" if some of it cannot be cut."""
        return "hybrid" if self._constant else "attention"

    @property
    def restorable(self) -> tuple[int, ...]:
        """Where state that cannot be cut can be put back to, in positions, without anything being run again."""
        return tuple(snapshot.position for snapshot in self._snapshots) if self._constant else ()

    @property
    def can_pad(self) -> bool:
        return self._by_row or not self._constant

    def run(self, tokens: Sequence[int], start: int, logit_rows: int, padding: int) -> Rows:
        assert start == self._length
        ids = [*tokens, *[tokens[-1]] * padding]
        logits = self._wiring.logits
        names = [logits, *self._features.values(), *(tensor.present for tensor in self._tensors)]
        feeds = self._values | self._positions(ids, logit_rows + padding)
        results = dict(zip(names, self._session.run(names, feeds), strict=True))
        first = results[logits].shape[1] - padding - logit_rows
        if first < 0:
            raise ModelError(_LAST_ROW.format(self._session.name))
        self._remember()
        count = len(tokens)
        for tensor in self._tensors:
            value = results[tensor.present]
            if tensor.axis is not None:
                value = tensor.cut(value, start + count)
            elif tensor.by_row:
                self._rows[tensor.past] = value
                value = value[:, count - 1].copy()
            self._values[tensor.past] = value
        self._rows_from = start
        self._length = start + count
        features = {ours: _float32(results[name])[0, :count] for ours, name in self._features.items()}
        return Rows(_float32(results[logits])[0, first : first + logit_rows], **features, width=len(ids))

    def cut(self, keep: int) -> int:
        if keep == self._length:
            return keep
        left = self.restore(keep) if self._constant else keep
        for tensor in self._growing:
            self._values[tensor.past] = tensor.cut(self._values[tensor.past], left)
        self._length = left
        while self._snapshots[-1].position > left:
            self._snapshots.pop()
        return left

    def restore(self, keep: int) -> int:
        """Put the tensors of constant size back to ``keep`` positions or the nearest known before; gives how many."""
        row = keep - self._rows_from - 1
        if self._by_row and row >= 0 and keep < self._length:
            self._values |= {name: rows[:, row].copy() for name, rows in self._rows.items()}
            return keep
        nearest = next(snapshot for snapshot in reversed(self._snapshots) if snapshot.position <= keep)
        self._values |= nearest.values
        # From here on the checkpoints by row are those of a pass that is undone.
        self._rows_from = nearest.position
        return nearest.position

    def lengths(self) -> dict[str, Any]:
        lengths: dict[str, Any] = {}
        for tensor in self._growing[:1]:
            lengths["kv_len"] = self._values[tensor.past].shape[tensor.axis or 0]
        return lengths | ({"recurrent": self._length} if self._constant else {})

    def _now(self) -> _Snapshot:
        return _Snapshot(self._length, {tensor.past: self._values[tensor.past] for tensor in self._constant})

    def _remember(self) -> None:
        """Take a snapshot, and thin out those that are not recent; the empty state is always one of them."""
        if not self._constant or self._snapshots[-1].position == self._length:
            return
        self._snapshots.append(self._now())
        if len(self._snapshots) > RECENT + 1:
            before, old = self._snapshots[-RECENT - 2 : -RECENT]
            if old.position - before.position < STRIDE:
                del self._snapshots[-RECENT - 1]

    def _positions(self, ids: Sequence[int], logit_rows: int) -> dict[str, NDArray[Any]]:
        """The inputs beside the state."""
        count, total = len(ids), self._length + len(ids)
        feeds = {
            self._wiring.ids: np.array([ids]),
            self._wiring.mask: np.ones((1, total)),
            self._wiring.positions: np.arange(self._length, total)[None],
            LOGITS_FROM: np.array([count - logit_rows]),
        }
        inputs = self._session.inputs
        typed = {name: value.astype(INTEGERS[inputs[name].type]) for name, value in feeds.items() if name in inputs}
        # Some multimodal families want a position each for time, height and width; for text they are the same.
        if self._wiring.positions in inputs and len(inputs[self._wiring.positions].shape) == 3:
            typed[self._wiring.positions] = np.repeat(typed[self._wiring.positions][None], 3, axis=0)
        return typed


def known_state(session: Session, wiring: Wiring) -> tuple[StateTensor, ...]:
    """The state tensors of a graph whose every input is known, and which can verify.

    Raises:
        ModelError: inputs that are not known, logits of one row only, or a state as in ``state_tensors``.
    """
    session.require(wiring.ids, wiring.logits)
    pairs = state_pairs(session) if wiring.pairs is None else wiring.pairs
    unknown = [name for name in session.inputs if name not in (*wiring.inputs, LOGITS_FROM, *pairs)]
    if unknown:
        raise ModelError(f"{session.name}: the graph wants {', '.join(unknown)}, which a base has no value for")
    for name in (*wiring.inputs, LOGITS_FROM):
        if name in session.inputs and session.inputs[name].type not in INTEGERS:
            raise ModelError(f"{session.name}: {name} is {session.inputs[name].type}, expected int64 or int32")
    if LOGITS_FROM not in session.inputs and session.outputs[wiring.logits].shape[1] == 1:
        raise ModelError(_LAST_ROW.format(session.name))
    return state_tensors(session, pairs, wiring.sizes)


def _float32(array: NDArray[Any]) -> Floats:
    return np.asarray(array, np.float32)
