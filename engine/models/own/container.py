"""A GGUF file: its metadata with the types that are expected of it, and its tensors as float32."""

from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from gguf import GGUFReader
from gguf.gguf_reader import ReaderTensor
from gguf.quants import dequantize
from numpy.typing import NDArray

from engine.errors import ModelError
from engine.unloadable import problem_of, reason

Value = TypeVar("Value")

_DAMAGE = (ArithmeticError, LookupError, TypeError, ValueError)
"""What the reader raises on bytes that are no whole GGUF file: it checks little and has no error type of its own."""


class _Reader(GGUFReader):
    """The package's reader over plain arrays: slices of a mapped array cost four times as much, a million of them."""

    def _get(self, *place: Any, **form: Any) -> NDArray[Any]:
        self.data = np.asarray(self.data)  # type: ignore[assignment]
        return super()._get(*place, **form)


class GgufFile:
    """An open GGUF file. Its bytes are mapped, and a tensor is unpacked when it is asked for.

    Raises:
        ModelError: the file is missing, no GGUF file, cut short, or one of several parts.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            if path.is_dir():
                there = ", ".join(sorted(each.name for each in path.glob("*.gguf"))) or "no GGUF file"
                raise ModelError(f"{path}: a folder, and a GGUF file is needed; in it is {there}")
            if (problem := problem_of(path)) is not None:
                raise ModelError(problem)
            self._reader = _Reader(path)
        except OSError as error:
            raise ModelError(f"{path}: it cannot be read: {reason(error)}") from error
        except _DAMAGE as error:
            raise ModelError(
                f"{path}: no GGUF file, or cut short, or with a type of tensor that the gguf package does not know "
                f"({error}): fetch it again"
            ) from error
        self._tensors = {tensor.name: tensor for tensor in self._reader.tensors}
        if self._reader.byte_order != "I":
            raise ModelError(f"{path}: a GGUF file of the other byte order: convert it on a machine like this one")
        parts = self.get("split.count", int, 0)
        if parts > 1:
            raise ModelError(f"{path}: one of {parts} parts: put them together with `gguf-split --merge` first")

    def get(self, key: str, kind: type[Value], default: Value) -> Value:
        """A metadata value, or ``default`` where there is none.

        Raises:
            ModelError: it is of another kind.
        """
        field = self._reader.get_field(key)
        if field is None:
            return default
        value: Any = self._text_safe(key)
        if kind is float and isinstance(value, int):
            value = float(value)
        if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
            raise ModelError(f"{self.path}: {key} is {str(value)[:60]!r}, not of the type {kind.__name__}")
        return value

    def need(self, key: str, kind: type[Value]) -> Value:
        """A metadata value that has to be there.

        Raises:
            ModelError: it is not, or it is of another kind.
        """
        if self._reader.get_field(key) is None:
            raise ModelError(f"{self.path}: it does not say {key}, without which the model cannot be built")
        return self.get(key, kind, kind())

    def has(self, key: str) -> bool:
        """Whether there is a metadata value of that name."""
        return self._reader.get_field(key) is not None

    @property
    def tensors(self) -> dict[str, ReaderTensor]:
        """By name, still packed."""
        return self._tensors

    def shape(self, name: str) -> tuple[int, ...]:
        """The shape of a tensor as numpy has it: a matrix is ``[out, in]``."""
        return tuple(int(size) for size in reversed(self._tensors[name].shape))

    def array(self, name: str) -> NDArray[np.float32]:
        """A tensor unpacked.

        Raises:
            ModelError: the gguf package cannot unpack its type.
        """
        return self._unpacked(self._tensors[name], self._tensors[name].data)

    def check_types(self) -> None:
        """Unpack one row of each type of tensor.

        Raises:
            ModelError: the gguf package cannot unpack one of the types.
        """
        firsts = {tensor.tensor_type: tensor for tensor in reversed(self._tensors.values())}
        for tensor in firsts.values():
            self._unpacked(tensor, tensor.data.reshape(-1, tensor.data.shape[-1])[:1])

    def _unpacked(self, tensor: ReaderTensor, data: NDArray[Any]) -> NDArray[np.float32]:
        try:
            return np.asarray(dequantize(data, tensor.tensor_type), np.float32)
        except NotImplementedError as error:
            raise ModelError(
                f"{self.path}: tensor {tensor.name} is of type {tensor.tensor_type.name}, which the gguf package "
                "cannot unpack: take a file of another quantisation"
            ) from error

    def _text_safe(self, key: str) -> Any:
        field = self._reader.get_field(key)
        assert field is not None
        try:
            return field.contents()
        except UnicodeDecodeError as error:
            raise ModelError(f"{self.path}: {key} is not UTF-8 text: {error.reason}") from error
