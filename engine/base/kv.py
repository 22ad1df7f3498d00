"""Keys and values in memory that stays where it is, bound to the passes of a graph and not copied in and out."""

import math
from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
import onnxruntime as ort

from engine.base.state import State, StateTensor

FIRST_CAPACITY = 512
"""Positions that there is room for at first; it doubles when they are used up."""


class KeyValues(Protocol):
    """The keys and values of all layers, behind a graph's inputs and outputs."""

    kind: str
    """For people: how they are kept."""

    def bind(self, binding: Any, past: int, total: int, bound: int) -> int:
        """Bind them for a pass that finds ``past`` positions and leaves ``total``.

        ``bound`` is what the last call for this binding gave, -1 at first: where nothing moved, nothing is bound again.
        """

    def ran(self, total: int) -> None:
        """The pass is done."""


class SharedKeyValues:
    """One buffer for each tensor, which is its past and its present: a pass adds its own rows and copies nothing.

    For graphs whose attention (com.microsoft GroupQueryAttention) allows that. ``[1, heads, capacity, head_dim]``.
    """

    kind = "one buffer, written in place"

    def __init__(self, tensors: Sequence[StateTensor]) -> None:
        self._tensors = tensors
        self._capacity = self._moves = 0
        self._arrays: list[State] = []
        self._values: list[Any] = []

    def bind(self, binding: Any, past: int, total: int, bound: int) -> int:
        if total > self._capacity:
            self._grow(past, total)
        if bound != self._moves:
            for tensor, value in zip(self._tensors, self._values, strict=True):
                binding.bind_ortvalue_input(tensor.past, value)
                binding.bind_ortvalue_output(tensor.present, value)
        return self._moves

    def ran(self, total: int) -> None:
        pass

    def _grow(self, held: int, total: int) -> None:
        self._capacity = max(FIRST_CAPACITY, 2 * self._capacity, total)
        grown = [tensor.zeros(self._capacity) for tensor in self._tensors]
        for tensor, new, old in zip(self._tensors, grown, self._arrays, strict=False):
            tensor.cut(new, held)[...] = tensor.cut(old, held)
        self._arrays = grown
        self._values = [ort.OrtValue.ortvalue_from_numpy(array) for array in grown]
        self._moves += 1


class TurnedKeyValues:
    """Two buffers for each tensor, which take turns: a pass reads its past from one and writes its present to another.

    For graphs that put the new rows behind the old ones, all over again, in every pass. Rows that were cut are squeezed
    out when the next pass begins, if they stand in the way.
    """

    kind = "two buffers that take turns"

    def __init__(self, tensors: Sequence[StateTensor]) -> None:
        self._tensors = tensors
        self._capacity = self._held = 0
        self._now: list[State] = []
        self._next: list[State] = []
        self._grow(FIRST_CAPACITY)

    def bind(self, binding: Any, past: int, total: int, bound: int) -> int:
        if total > self._capacity:
            self._grow(max(2 * self._capacity, total))
        if past != self._held:
            self._squeeze(past)
        for tensor, now, after in zip(self._tensors, self._now, self._next, strict=True):
            binding.bind_ortvalue_input(tensor.past, _value(tensor, now, past))
            binding.bind_ortvalue_output(tensor.present, _value(tensor, after, total))
        return bound

    def ran(self, total: int) -> None:
        self._now, self._next = self._next, self._now
        self._held = total

    def _squeeze(self, keep: int) -> None:
        """Bring what is kept of every tensor together."""
        for j, tensor in enumerate(self._tensors):
            if math.prod(tensor.empty.shape[: tensor.axis]) == 1:
                continue
            kept = tensor.cut(_view(tensor, self._now[j], self._held), keep)
            np.copyto(_view(tensor, self._next[j], keep), kept)
            self._now[j], self._next[j] = self._next[j], self._now[j]
        self._held = keep

    def _grow(self, capacity: int) -> None:
        grown = [tensor.zeros(capacity).reshape(-1) for tensor in self._tensors]
        for new, old in zip(grown, self._now, strict=False):
            new[: old.size] = old
        self._now = grown
        self._next = [tensor.zeros(capacity).reshape(-1) for tensor in self._tensors]
        self._capacity = capacity


def _view(tensor: StateTensor, flat: State, positions: int) -> State:
    """The beginning of a buffer as so many positions of a tensor."""
    shape = tensor.shape(positions)
    return flat[: math.prod(shape)].reshape(shape)


def _value(tensor: StateTensor, flat: State, positions: int) -> Any:
    return ort.OrtValue.ortvalue_from_numpy(_view(tensor, flat, positions))
