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
from engine.execution import PASS_ERRORS
from engine.session import Session

PREFILL_LOGITS = 2**26
"""A prompt is run in parts whose logits, of which only the last row is wanted, are no more numbers than this."""


_AHEAD = 32
"""So many masks are made at once. Right behind a pass one by itself takes fifteen times as long (0.04 ms)."""


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

    def wanted(self, count: int, logit_rows: int) -> Rows:
        """The rows of the first ``count`` tokens, logits of the last ``logit_rows`` of them, as the graph gave them."""
        rows = {name: rows[0, :count] for name, rows in self.rows.items()}
        return Rows(rows.pop("logits")[count - logit_rows :], **rows, width=self.ids.shape[1])


class _Masks:
    """Attention masks of nothing but ones, bound to a pass by how many positions there are after it."""

    def __init__(self, session: Session, name: str) -> None:
        self._session, self._name = session, name
        self._ones = np.ones((1, 0), np.int64)
        self._values: dict[int, Any] = {}

    def bind(self, binding: Any, total: int) -> None:
        """Bind that of ``total`` positions, where the graph has one."""
        if (value := self._values.get(total)) is None:
            if self._name not in self._session.inputs:
                return
            value = self._made(total)
        binding.bind_ortvalue_input(self._name, value)

    def _made(self, total: int) -> Any:
        if self._ones.shape[1] < total + _AHEAD:
            self._ones = np.ones((1, 2 * (total + _AHEAD)), INTEGERS[self._session.inputs[self._name].type])
        self._values = {
            length: ort.OrtValue.ortvalue_from_numpy(self._ones[:, :length]) for length in range(total, total + _AHEAD)
        }
        return self._values[total]


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
        self._wanted: dict[tuple[int, int, int], tuple[_Made, Rows]] = {}
        self._masks = _Masks(session, wiring.mask)
        self._places = np.arange(0)
        self._again = session.copies_inputs
        self._are_float32 = {session.outputs[name].type for name in self._names.values()} == {"tensor(float)"}
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
        key, total = (count, logit_rows, padding), start + count + padding
        made, rows = self._wanted.get(key) or self._want(*key)
        ids = made.ids
        for i, token in enumerate(tokens):
            ids[0, i] = token
        if padding:
            ids[0, count:] = tokens[-1]
        if made.positions is not None:
            if len(self._places) < total:
                self._places = np.arange(2 * total)
            made.positions[...] = self._places[start:total]
        self._masks.bind(made.binding, total)
        if self._again:
            made.bind_inputs(self._wiring)
            made.bound[0] = -1
        made.bound[0] = self._kv.bind(made.binding, start, total, made.bound[0])
        try:
            self._session.bound_pass(made.binding)
        except PASS_ERRORS as error:
            raise self._session.failed(error) from error
        self._kv.ran(total)
        self._length = start + count
        return rows if self._are_float32 else _float32(rows)

    def _want(self, count: int, logit_rows: int, padding: int) -> tuple[_Made, Rows]:
        made = self._made(count + padding)
        wanted = made, made.wanted(count, logit_rows)
        if made.ids.shape[1] <= CACHED_WIDTH:
            self._wanted[count, logit_rows, padding] = wanted
        return wanted

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


def _float32(rows: Rows) -> Rows:
    logits, hidden, taps = (None if rows is None else np.asarray(rows, np.float32) for rows in rows[:3])
    assert logits is not None
    return Rows(logits, hidden, taps, rows.width)
