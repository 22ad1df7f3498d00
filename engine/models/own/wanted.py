"""The tensors that a network has, held against those of a file or a folder."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

from engine.errors import ModelError

Shape = tuple[int, ...]


class Wanted(NamedTuple):
    """A tensor that a network has, or may have: its name where it stands, and its shape."""

    name: str
    shape: Shape
    required: bool = True


def check_tensors(where: Path, kind: str, wanted: Iterable[Wanted], shapes: Mapping[str, Shape]) -> None:
    """Check that all are there, of their shapes, and none beside them. ``kind`` is for messages: "llama model".

    Raises:
        ModelError: one is not.
    """
    by_name = {tensor.name: tensor for tensor in wanted}
    missing = [tensor.name for tensor in by_name.values() if tensor.required and tensor.name not in shapes]
    if missing:
        others = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
        raise ModelError(f"{where}: it lacks {missing[0]}{others}, which a {kind} has")
    if extra := shapes.keys() - by_name.keys():
        raise ModelError(f"{where}: tensor {min(extra)!r} is in it, which is no part of a {kind} here")
    for name, tensor in by_name.items():
        if name in shapes and shapes[name] != tensor.shape:
            raise ModelError(f"{where}: tensor {name} has the shape {shapes[name]}, expected {tensor.shape}")
