"""The state tensors of a graph, told apart by their shapes: those that grow with the text, and those that do not."""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.errors import ModelError
from engine.session import Session

PAST, PRESENT = ("past_key_values.", "past."), "present."
TYPES: dict[str, type[np.floating]] = {"tensor(float)": np.float32, "tensor(float16)": np.float16}
INTEGERS: dict[str, type[np.integer]] = {"tensor(int64)": np.int64, "tensor(int32)": np.int32}

State = NDArray[np.floating]


class StateTensor(NamedTuple):
    """One tensor that a pass reads as ``past`` and gives back as ``present``.

    ``axis`` is the one along which it grows with the text (keys and values, ``past_key_values.0.key``); ``None`` for
    one of constant size (a recurrent or convolution state, ``past.0.recurrent``), which cannot be cut. Of the latter a
    graph may give checkpoints: ``by_row`` says that its present has one more axis, behind the batch, with the state
    after each row of the pass. ``empty`` is its value before any text.
    """

    past: str
    present: str
    axis: int | None
    by_row: bool
    empty: State

    def shape(self, positions: int) -> tuple[int, ...]:
        """Its shape when it covers so many positions."""
        return tuple(positions if i == self.axis else size for i, size in enumerate(self.empty.shape))

    def zeros(self, positions: int) -> State:
        """A tensor of that shape."""
        return np.zeros(self.shape(positions), self.empty.dtype)

    def cut(self, value: State, keep: int) -> State:
        """The first ``keep`` positions of a growing tensor."""
        assert self.axis is not None
        return value[(slice(None),) * self.axis + (slice(0, keep),)]


class KeyValueSizes(NamedTuple):
    """What a graph may leave open of its keys and values, where something else says it."""

    heads: int | None = None
    head_dim: int | None = None


UNKNOWN_SIZES = KeyValueSizes()


def state_pairs(session: Session) -> dict[str, str]:
    """The present of each past, by their usual names."""
    prefixes = ((name, next((prefix for prefix in PAST if name.startswith(prefix)), None)) for name in session.inputs)
    return {name: PRESENT + name.removeprefix(prefix) for name, prefix in prefixes if prefix is not None}


def state_tensors(
    session: Session, pairs: Mapping[str, str] | None = None, sizes: KeyValueSizes = UNKNOWN_SIZES
) -> tuple[StateTensor, ...]:
    """All state tensors of a graph: ``pairs`` of past and present, by default those with the usual names.

    Raises:
        ModelError: a past without a present, a type that is no float, or a size that is left open.
    """
    return tuple(
        _state_tensor(session, past, present, sizes)
        for past, present in (state_pairs(session) if pairs is None else pairs).items()
    )


def _state_tensor(session: Session, past: str, present: str, sizes: KeyValueSizes) -> StateTensor:
    session.require(past, present)
    (type_, shape), after = session.inputs[past], session.outputs[present].shape
    if type_ not in TYPES:
        raise ModelError(f"{session.name}: {past} is {type_}: a state has to be float or float16")
    open_ = [i for i, size in enumerate(shape) if i and not isinstance(size, int)]
    # Where more than one axis is open, the one that grows has another name afterwards; one that is fixed then does not.
    renamed = [i for i in open_ if len(after) == len(shape) and after[i] != shape[i]]
    growing = [i for i in renamed if not isinstance(after[i], int)] or renamed or open_
    axis = growing[0] if growing else None
    empty = [1]
    for i in range(1, len(shape)):
        known = sizes.head_dim if i == len(shape) - 1 else sizes.heads
        if i == axis:
            empty.append(0)
        elif i in open_ and axis is not None and known is not None:
            empty.append(known)
        else:
            empty.append(session.size(past, i))
    rows = len(after) - len(shape)
    if rows not in (0, 1) or (rows == 1 and axis is not None):
        raise ModelError(f"{session.name}: {present} has {rows} more axes than {past}, and no known meaning")
    return StateTensor(past, present, axis, rows == 1, np.zeros(empty, TYPES[type_]))
