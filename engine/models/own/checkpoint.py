"""A folder of a model as transformers saves it: its settings, and its tensors as float32."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open

from engine.errors import ModelError
from engine.folders.config import CONFIG, read

Value = TypeVar("Value")

FLOATS = ("F64", "F32", "F16", "BF16")
_KINDS: dict[type, str] = {int: "a whole number", float: "a number", list: "a list", dict: "a map", str: "a text"}


class Settings:
    """A map of settings, with the types that are expected of them. ``where`` is for messages."""

    def __init__(self, values: Mapping[str, Any], where: str) -> None:
        self._values = values
        self._where = where

    def __contains__(self, key: str) -> bool:
        return self._values.get(key) is not None

    def need(self, key: str, kind: type[Value]) -> Value:
        """A setting.

        Raises:
            ModelError: it is not there, or of another kind.
        """
        if key not in self:
            raise ModelError(f"{self._where}: it does not say {key!r}, which has to be known")
        value = self._values[key]
        if kind is float and isinstance(value, int) and not isinstance(value, bool):
            value = float(value)
        if not isinstance(value, kind) or (kind is not bool and isinstance(value, bool)):
            raise ModelError(f"{self._where}: its {key!r} is {value!r}, expected {_KINDS.get(kind, kind.__name__)}")
        return value

    def get(self, key: str, kind: type[Value], default: Value) -> Value:
        """A setting, or ``default`` where it is not there or null. Raises as ``need``."""
        return self.need(key, kind) if key in self else default

    def within(self, key: str) -> "Settings":
        """The settings in a map of that name, none where it is not there."""
        return Settings(self.get(key, dict, {}), f"{self._where}, {key}")


class Checkpoint:
    """The folder. Files are opened when a tensor is read.

    Raises:
        ModelError: there is no such folder, it lacks its settings or tensors, or one of its files is damaged.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        path = folder / CONFIG
        files = sorted(folder.glob("*.safetensors"))
        if not folder.is_dir():
            raise ModelError(f"{folder}: no such folder: give one with {CONFIG} and *.safetensors")
        if not path.is_file() or not files:
            raise ModelError(f"{folder}: {'no *.safetensors' if path.is_file() else f'no {CONFIG}'} is in it")
        self.settings = Settings(read(path), str(path))
        self.shapes: dict[str, tuple[int, ...]] = {}
        self._types: dict[str, str] = {}
        self._files: dict[str, Path] = {}
        for file in files:
            self._look_into(file)

    @property
    def bytes(self) -> int:
        """Of its tensors' files."""
        return sum(path.stat().st_size for path in set(self._files.values()))

    @property
    def types(self) -> Mapping[str, str]:
        """The type of each tensor, as safetensors calls it."""
        return self._types

    def array(self, name: str) -> NDArray[np.float32]:
        """A tensor.

        Raises:
            ModelError: it cannot be read.
        """
        path = self._files[name]
        try:
            with safe_open(path, framework="np") as file:
                return np.asarray(file.get_tensor(name)).astype(np.float32)
        except (SafetensorError, OSError, AttributeError) as error:
            raise ModelError(f"{path}: tensor {name} cannot be read: {error}") from error

    def _look_into(self, path: Path) -> None:
        try:
            with safe_open(path, framework="np") as file:
                for name in file.keys():  # noqa: SIM118 (no mapping)
                    part = file.get_slice(name)
                    self.shapes[name] = tuple(part.get_shape())
                    self._types[name] = part.get_dtype()
                    self._files[name] = path
        except (SafetensorError, OSError) as error:
            raise ModelError(f"{path}: no safetensors file, or cut short ({error}): fetch it again") from error


class NamedTensors(Mapping[str, NDArray[np.float32]]):
    """Tensors by other names than the checkpoint's, read when they are asked for; ``made`` are some more."""

    def __init__(
        self, checkpoint: Checkpoint, names: Mapping[str, str], made: Mapping[str, NDArray[np.float32]]
    ) -> None:
        self._checkpoint = checkpoint
        self._names = names
        self._made = made

    def __getitem__(self, name: str) -> NDArray[np.float32]:
        return self._made[name] if name in self._made else self._checkpoint.array(self._names[name])

    def __contains__(self, name: object) -> bool:
        return name in self._names or name in self._made

    def __iter__(self) -> Iterator[str]:
        return iter([*self._made, *self._names])

    def __len__(self) -> int:
        return len(self._made) + len(self._names)
