"""A bundle's weights back as torch state dicts, to train a drafter for a base that is already there.

``python -m engine.models.recipe.unpack --out DIR`` writes ``base.pt``, ``mtp.pt``, ... and ``tokenizer.json``. The
rows are what the graphs compute with (int8 times its scale), so a drafter that learns from them learns from the very
base that it will serve.
"""

import argparse
import shutil
from pathlib import Path

import numpy as np
import onnx
import torch
from numpy.typing import NDArray
from onnx import TensorProto, numpy_helper

from engine.models.bundled import BUNDLED, TOKENIZER, open_bundle
from engine.models.recipe.qwen3 import Base, Shape


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
            found[name] = array.astype(np.float32)
    return found


def unstacked(
    tensors: dict[str, NDArray[np.float32]], shapes: dict[str, tuple[int, ...]]
) -> dict[str, NDArray[np.float32]]:
    """Matrices that a graph keeps side by side and transposed, under the names and in the shapes of ``shapes``."""
    found = {name: array for name, array in tensors.items() if name in shapes}
    for label, array in tensors.items():
        if label.endswith(".transposed"):
            names = [f"{name}.weight" for name in label.removesuffix(".transposed").split("+")]
            ends = np.cumsum([shapes[name][0] for name in names if name in shapes])
            if len(ends) == len(names):
                found.update(zip(names, np.split(array.T, ends[:-1]), strict=True))
    missing = shapes.keys() - found.keys()
    if missing:
        raise ValueError(f"the graph has no {', '.join(sorted(missing))}")
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bundle", type=Path, default=BUNDLED)
    parser.add_argument("--out", type=Path, required=True)
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    bundle = open_bundle(args.bundle)
    shapes = {name: tuple(tensor.shape) for name, tensor in Base(Shape()).state_dict().items()}
    arrays = unstacked(stored(args.bundle / bundle.manifest.base.graph), shapes)
    torch.save(
        {name: torch.from_numpy(np.ascontiguousarray(array)) for name, array in arrays.items()}, args.out / "base.pt"
    )
    shutil.copy(args.bundle / TOKENIZER, args.out / TOKENIZER)


if __name__ == "__main__":
    main()
