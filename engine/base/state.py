"""The state tensors of a graph, told apart by their shapes: those that grow with the text, and those that do not."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.errors import ModelError
from engine.session import Session

PAST, PRESENT = ("past_key_values.", "past."), "present."
_TYPES: dict[str, type[np.floating]] = {"tensor(float)": np.float32, "tensor(float16)": np.float16}

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

    def cut(self, value: State, keep: int) -> State:
        """The first ``keep`` positions of a growing tensor."""
        assert self.axis is not None
        return value[(slice(None),) * self.axis + (slice(0, keep),)]


def state_tensors(session: Session) -> tuple[StateTensor, ...]:
    """All state tensors of a graph.

    Raises:
        ModelError: a past without a present, a type that is no float, or a size that the graph leaves open.
    """
    found = []
    for name, (type_, shape) in session.inputs.items():
        prefix = next((prefix for prefix in PAST if name.startswith(prefix)), None)
        if prefix is None:
            continue
        present = PRESENT + name.removeprefix(prefix)
        session.require(present)
        if type_ not in _TYPES:
            raise ModelError(f"{session.name}: {name} is {type_}: a state has to be float or float16")
        axis = next((i for i, size in enumerate(shape) if i and not isinstance(size, int)), None)
        sizes = [1, *(0 if i == axis else session.size(name, i) for i in range(1, len(shape)))]
        rows = len(session.outputs[present].shape) - len(shape)
        if rows not in (0, 1) or (rows == 1 and axis is not None):
            raise ModelError(f"{session.name}: {present} has {rows} more axes than {name}, and no known meaning")
        found.append(StateTensor(name, present, axis, rows == 1, np.zeros(sizes, _TYPES[type_])))
    return tuple(found)
