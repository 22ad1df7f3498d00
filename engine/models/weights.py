"""The one file that holds the weights of a bundle's graphs, each tensor once, whichever graphs read it."""

import dataclasses
import hashlib
from enum import StrEnum
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Self

import numpy as np
from numpy.typing import NDArray
from onnx import TensorProto, helper

ALIGNMENT = 64
"""Bytes; tensors start at multiples of it, so that a mapped file gives aligned arrays."""


class Storage(StrEnum):
    """How a matrix is kept on disk. It is computed in float32 in every case."""

    FLOAT32 = "float32"
    FLOAT16 = "float16"
    INT8 = "int8"


@dataclasses.dataclass(frozen=True)
class Stored:
    """A tensor in the file: enough for a graph to refer to it."""

    name: str
    dtype: int
    shape: tuple[int, ...]
    offset: int
    length: int

    def proto(self, location: str) -> TensorProto:
        """An initializer that points into the file ``location`` beside the graph."""
        tensor = TensorProto(name=self.name, data_type=self.dtype, dims=self.shape)
        tensor.data_location = TensorProto.EXTERNAL
        for key, value in (("location", location), ("offset", self.offset), ("length", self.length)):
            tensor.external_data.add(key=key, value=str(value))
        return tensor


def quantize_rows(matrix: NDArray[np.float32], top: int = 127) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
    """Symmetric int8 with one scale a row: ``matrix`` is about ``rows * scales``, shapes ``[m, n]`` and ``[m, 1]``.

    The largest number of a row becomes ``top``. With 63 a sum of two products with uint8 fits into 16 bits, as
    processors without VNNI need it.
    """
    peak = np.abs(matrix).max(axis=1, keepdims=True)
    scales = np.where(peak > 0, peak / top, 1).astype(np.float32)
    return np.clip(np.rint(matrix / scales), -top, top).astype(np.int8), scales


class WeightFile:
    """Appends tensors to a file that several graphs share. Use it as a context; one name is written once."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._stored: dict[str, Stored] = {}
        self._digests: dict[str, bytes] = {}
        self._file: BinaryIO | None = None

    def __enter__(self) -> Self:
        self._file = self.path.open("wb")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._file is not None
        self._file.close()
        self._file = None

    def digest(self, name: str) -> bytes:
        """The SHA-256 of a tensor's bytes, empty for a name that is not in the file."""
        return self._digests.get(name, b"")

    def add(self, name: str, array: NDArray[np.generic]) -> Stored:
        """Write ``array``, unless the name is already there."""
        if (known := self._stored.get(name)) is not None:
            return known
        assert self._file is not None, "the weight file is not open"
        self._file.write(b"\0" * (-self._file.tell() % ALIGNMENT))
        data = np.ascontiguousarray(array)
        raw = data.reshape(-1).data.cast("B")  # where they are: a large tensor is not copied once more
        dtype = helper.np_dtype_to_tensor_dtype(data.dtype)
        stored = Stored(name, dtype, data.shape, self._file.tell(), data.nbytes)
        self._file.write(raw)
        self._stored[name] = stored
        self._digests[name] = hashlib.sha256(raw).digest()
        return stored
