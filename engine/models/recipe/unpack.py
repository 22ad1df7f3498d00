"""A bundle's weights back as torch state dicts, to train a drafter for a base that is already there.

``python -m engine.models.recipe.unpack --out DIR`` writes ``base.pt`` and ``tokenizer.json``, with ``--drafters`` those
of the drafters too: ``export`` makes of these the same weight file again, with graphs as they are built now. The rows
are what the graphs compute with (int8 times its scale), so a drafter that learns from them learns from the very base
that it will serve.
"""

import argparse
import shutil
from pathlib import Path

import numpy as np
import torch
from torch import nn

from engine.models.bundled import BUNDLED, TOKENIZER, open_bundle
from engine.models.recipe.drafter_nets import MTP, DFlash, DFlash2
from engine.models.recipe.qwen3 import Base, Shape
from engine.models.unpack import stored, unstacked


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bundle", type=Path, default=BUNDLED)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--drafters", action="store_true", help="the drafters as well as the base")
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    bundle, shape = open_bundle(args.bundle), Shape()
    graphs: dict[str, tuple[str, nn.Module, str]] = {"base": (bundle.manifest.base.graph, Base(shape), "")}
    if args.drafters:
        nets = {"mtp": MTP, "dflash": DFlash, "dflash2": DFlash2}
        for kind, entry in bundle.manifest.drafters.items():
            graphs[kind] = (entry.graph, nets[kind](shape), f"{kind}.")
    for kind, (graph, net, prefix) in graphs.items():
        shapes = {prefix + name: tuple(tensor.shape) for name, tensor in net.state_dict().items()}
        arrays = unstacked(stored(args.bundle / graph), shapes)
        state = {
            name.removeprefix(prefix): torch.from_numpy(np.ascontiguousarray(array)) for name, array in arrays.items()
        }
        torch.save(state, args.out / f"{kind}.pt")
    shutil.copy(args.bundle / TOKENIZER, args.out / TOKENIZER)


if __name__ == "__main__":
    main()
