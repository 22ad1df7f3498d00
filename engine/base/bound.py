"""Passes of a graph over keys and values that are bound to it once, for graphs whose whole state can be cut."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import onnxruntime as ort
from numpy.typing import NDArray

from engine.base.arrays import INTEGERS
from engine.base.base import Floats, Rows
from engine.base.kv import KeyValues
from engine.base.passes import CACHED_WIDTH
from engine.base.state import TYPES
from engine.base.wiring import Wiring
from engine.session import Session

PREFILL_LOGITS = 2**26
"""A prompt is run in parts whose logits, of which only the last row is wanted, are no more numbers than this."""


class _Made(NamedTuple):
    """A pass of one width: its arrays, bound. ``bound`` is what the keys and values gave for this binding."""

    binding: Any
    ids: NDArray[Any]
    positions: NDArray[Any] | None
    rows: Mapping[str, NDArray[Any]]
    bound: list[int]

    def bind_inputs(self, wiring: Wiring) -> None:
        """Bind what is filled before every run."""
        self.binding.bind_ortvalue_input(wiring.ids, ort.OrtValue.ortvalue_from_numpy(self.ids))
        if self.positions is not None:
            self.binding.bind_ortvalue_input(wiring.positions, ort.OrtValue.ortvalue_from_numpy(self.positions))


class BoundPasses:
    """Passes whose inputs and outputs stay where they are; a cut is a shorter length.

    ``sizes`` are the widths of the rows of ``logits`` and of the features that the graph gives.
    """

    can_pad = True

    def __init__(self, session: Session, wiring: Wiring, kv: KeyValues, sizes: Mapping[str, int]) -> None:
        self._session = session
        self._wiring = wiring
        self._kv = kv
        self._sizes = sizes
        self._names = {"logits": wiring.logits, **wiring.features}
        self._part = max(2, PREFILL_LOGITS // sizes["logits"])
        self._passes: dict[int, _Made] = {}
        self._mask = np.ones((1, 0), np.int64)
        self._length = 0

    def run(self, tokens: Sequence[int], start: int, logit_rows: int, padding: int) -> Rows:
        assert start == self._length
        if len(tokens) <= self._part or logit_rows > 1:
            return self._pass(tokens, logit_rows, padding)
        ends = [*range(self._part, len(tokens) - 1, self._part), len(tokens)]
        features: dict[str, list[Floats]] = {name: [] for name in self._sizes if name != "logits"}
        for a, b in zip([0, *ends], ends, strict=False):
            rows = self._pass(tokens[a:b], 1, 0)
            for name, parts in features.items():
                parts.append(getattr(rows, name).copy())
        return Rows(rows.logits, **{name: np.concatenate(parts) for name, parts in features.items()}, width=len(tokens))

    def cut(self, keep: int) -> int:
        self._length = keep
        return keep

    def lengths(self) -> dict[str, Any]:
        return {"kv_len": self._length}

    def _pass(self, tokens: Sequence[int], logit_rows: int, padding: int) -> Rows:
        count, start = len(tokens), self._length
        width, total = count + padding, start + count + padding
        made = self._made(width)
        made.ids[0, :count] = tokens
        made.ids[0, count:] = tokens[-1]
        if made.positions is not None:
            made.positions[...] = np.arange(start, total)
        if self._wiring.mask in self._session.inputs:
            made.binding.bind_ortvalue_input(self._wiring.mask, self._mask_of(total))
        if self._session.copies_inputs:
            made.bind_inputs(self._wiring)
            made.bound[0] = -1
        made.bound[0] = self._kv.bind(made.binding, start, total, made.bound[0])
        self._session.run_bound(made.binding)
        self._kv.ran(total)
        self._length = start + count
        rows = {name: _float32(rows[0, :count]) for name, rows in made.rows.items()}
        return Rows(rows.pop("logits")[count - logit_rows :], **rows, width=width)

    def _mask_of(self, total: int) -> Any:
        if self._mask.shape[1] < total:
            type_ = INTEGERS[self._session.inputs[self._wiring.mask].type]
            self._mask = np.ones((1, 2 * total), type_)
        return ort.OrtValue.ortvalue_from_numpy(self._mask[:, :total])

    def _made(self, width: int) -> _Made:
        if (known := self._passes.get(width)) is not None:
            return known
        inputs, outputs = self._session.inputs, self._session.outputs
        ids = np.zeros((1, width), INTEGERS[inputs[self._wiring.ids].type])
        positions = None
        if (signature := inputs.get(self._wiring.positions)) is not None:
            shape = (3, 1, width) if len(signature.shape) == 3 else (1, width)
            positions = np.zeros(shape, INTEGERS[signature.type])
        rows = {
            name: np.zeros((1, width, size), TYPES[outputs[self._names[name]].type])
            for name, size in self._sizes.items()
        }
        binding = self._session.binding()
        for name, array in rows.items():
            binding.bind_ortvalue_output(self._names[name], ort.OrtValue.ortvalue_from_numpy(array))
        made = _Made(binding, ids, positions, rows, [-1])
        made.bind_inputs(self._wiring)
        if width <= CACHED_WIDTH:
            self._passes[width] = made
        return made


def _float32(array: NDArray[Any]) -> Floats:
    return np.asarray(array, np.float32)
