"""Passes of a graph that a mask tells how long the text is, over arrays that are bound once and filled in place."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import onnxruntime as ort
from numpy.typing import NDArray

from engine.base.kv import KeyValues
from engine.base.state import INTEGERS
from engine.base.wiring import Wiring
from engine.execution import PASS_ERRORS
from engine.session import Session

_AHEAD = 32
"""So many masks are made at once. Right behind a pass one by itself takes fifteen times as long (0.04 ms)."""


class MaskedGraph:
    """A graph with its keys and values, whose passes find as many positions as were there and not cut.

    ``names`` are the graph's own for what passes call otherwise.
    """

    def __init__(self, session: Session, wiring: Wiring, kv: KeyValues, names: Mapping[str, str] = {}) -> None:
        self.session = session
        self.wiring = wiring
        self.kv = kv
        self._names = names
        self._ones = np.ones((1, 0), np.int64)
        self._masks: dict[int, Any] = {}
        self._places = np.arange(0)

    def require(self, *names: str) -> None:
        """As ``Session.require``."""
        self.session.require(*map(self.name, names))

    def size(self, name: str, axis: int = -1) -> int:
        """As ``Session.size``."""
        return self.session.size(self.name(name), axis)

    def name(self, name: str) -> str:
        """What the graph calls an input or output."""
        return self._names.get(name, name)

    def pass_(self, inputs: Mapping[str, NDArray[Any]], outputs: Mapping[str, NDArray[Any]]) -> "MaskedPass":
        """A pass over these arrays, ``[1, width, ...]`` each."""
        return MaskedPass(self, inputs, outputs)

    def mask(self, total: int) -> Any:
        """A mask of so many ones; ``None`` for a graph without."""
        if (value := self._masks.get(total)) is None and (name := self.wiring.mask) in self.session.inputs:
            if self._ones.shape[1] < total + _AHEAD:
                self._ones = np.ones((1, 2 * (total + _AHEAD)), INTEGERS[self.session.inputs[name].type])
            lengths = range(total, total + _AHEAD)
            self._masks = {each: ort.OrtValue.ortvalue_from_numpy(self._ones[:, :each]) for each in lengths}
            value = self._masks[total]
        return value

    def places(self, first: int, last: int) -> NDArray[np.int64]:
        """The positions from ``first`` up to ``last``."""
        if len(self._places) < last:
            self._places = np.arange(2 * last)
        return self._places[first:last]


class MaskedPass:
    """A pass of one width. ``inputs`` may be written and ``outputs`` read between runs."""

    def __init__(
        self, graph: MaskedGraph, inputs: Mapping[str, NDArray[Any]], outputs: Mapping[str, NDArray[Any]]
    ) -> None:
        session, wiring = graph.session, graph.wiring
        self.inputs, self.outputs = inputs, outputs
        self._graph, self._session, self._kv = graph, session, graph.kv
        self._mask = wiring.mask
        self._width = next(iter(inputs.values())).shape[1]
        self._binding = session.binding()
        self._given = {graph.name(name): array for name, array in inputs.items()}
        self._positions: NDArray[Any] | None = None
        if (signature := session.inputs.get(wiring.positions)) is not None:
            shape = (3, 1, self._width) if len(signature.shape) == 3 else (1, self._width)
            self._positions = self._given[wiring.positions] = np.zeros(shape, INTEGERS[signature.type])
        for name, array in outputs.items():
            self._binding.bind_ortvalue_output(graph.name(name), ort.OrtValue.ortvalue_from_numpy(array))
        self._again = session.copies_inputs
        self._bound = -1
        self._bind_inputs()

    def run(self, length_after: int) -> None:
        """Run; ``length_after`` is how many positions there are afterwards. Raises as ``Session.run_bound``."""
        first = length_after - self._width
        if self._positions is not None:
            self._positions[...] = self._graph.places(first, length_after)
        if (mask := self._graph.mask(length_after)) is not None:
            self._binding.bind_ortvalue_input(self._mask, mask)
        if self._again:
            self._bind_inputs()
        self._bound = self._kv.bind(self._binding, first, length_after, self._bound)
        try:
            self._session.bound_pass(self._binding)
        except PASS_ERRORS as error:
            raise self._session.failed(error) from error
        self._kv.ran(length_after)

    def _bind_inputs(self) -> None:
        """Bind what is filled before every run."""
        for name, array in self._given.items():
            self._binding.bind_ortvalue_input(name, ort.OrtValue.ortvalue_from_numpy(array))
        self._bound = -1
