"""A bundle's weights back as torch state dicts, to train a drafter for a base that is already there.

``python -m engine.models.recipe.unpack --out DIR`` writes ``base.pt`` and ``tokenizer.json``. The
rows are what the graphs compute with (int8 times its scale), so a drafter that learns from them learns from the very
base that it will serve.
"""

import argparse
import shutil
from pathlib import Path

import numpy as np
import torch

from engine.models.bundled import BUNDLED, TOKENIZER, open_bundle
from engine.models.recipe.qwen3 import Base, Shape
from engine.models.unpack import stored, unstacked


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
