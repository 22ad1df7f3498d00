"""Reads back the weights that a bundle's graphs compute with: int8 rows times their scales, float16 widened."""

from pathlib import Path

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, numpy_helper


def stored(graph: Path) -> dict[str, NDArray[np.float32]]:
    """The tensors that ``graph`` reads from its weight file, int8 rows multiplied by their scales."""
    model = onnx.load(str(graph))
    arrays = {
        tensor.name: numpy_helper.to_array(tensor)
        for tensor in model.graph.initializer
        if tensor.data_location == TensorProto.DEFAULT and not tensor.name.startswith("i64_")
    }
    found = {}
    for name, array in arrays.items():
        if name.endswith(".int8"):
            stem = name.removesuffix(".int8")
            found[stem] = array.astype(np.float32) * arrays[f"{stem}.scales"]
        elif not name.endswith(".scales"):
            found[name.removesuffix(".f16")] = array.astype(np.float32)
    return found


def unstacked(
    tensors: dict[str, NDArray[np.float32]], shapes: dict[str, tuple[int, ...]]
) -> dict[str, NDArray[np.float32]]:
    """The weights of a graph under the names and in the shapes of ``shapes``.

    A graph keeps matrices side by side and transposed, a mask once for each row and kernels in groups.
    """
    found = {name: array for name, array in tensors.items() if name in shapes}
    for label, array in tensors.items():
        if (name := label.removesuffix("_rows")) in shapes:
            found[name] = array.reshape(-1, *shapes[name])[0]
        if (name := label.removesuffix(".grouped")) in shapes:
            found[name] = array.reshape(shapes[name])
        if label.endswith(".transposed"):
            names = [f"{name}.weight" for name in label.removesuffix(".transposed").split("+")]
            ends = np.cumsum([shapes[name][0] for name in names if name in shapes])
            if len(ends) == len(names):
                found.update(zip(names, np.split(array.T, ends[:-1]), strict=True))
    missing = shapes.keys() - found.keys()
    if missing:
        raise ValueError(f"the graph has no {', '.join(sorted(missing))}")
    return found
