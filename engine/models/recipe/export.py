"""From trained weights to the bundle: ``python -m engine.models.recipe.export --run DIR [--out DIR]``.

``DIR`` holds ``tokenizer.json``, the base (``base.pt``) and those drafters that were trained (``mtp.pt``, ...).
"""

import argparse
import dataclasses
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from engine.models.bundle_writer import Layout, Networks, write_bundle
from engine.models.bundled import BUNDLED
from engine.models.graph_decoder import Sizes
from engine.models.graph_dflash import Block
from engine.models.recipe.qwen3 import Shape
from engine.models.weights import Storage

CONTEXT_LENGTH = 512
"""What the base was trained on; it is of no use beyond."""


def weights(path: Path) -> dict[str, NDArray[np.float32]]:
    """A state dict as float32 arrays; the prefix that ``torch.compile`` puts before the names is taken off."""
    state = torch.load(path, map_location="cpu", weights_only=True)
    return {name.removeprefix("_orig_mod."): tensor.float().numpy() for name, tensor in state.items()}


def export(
    networks: Networks, shape: Shape, tokenizer: bytes, out: Path, name: str, storage: Storage = Storage.INT8
) -> None:
    """Write a bundle of networks in the recipe's shape."""
    layers = 1 + max(int(part.split(".")[1]) for part in networks.base if part.startswith("layers."))
    sizes = Sizes(
        vocab_size=shape.vocab_size,
        hidden_size=shape.hidden_size,
        num_hidden_layers=layers,
        num_attention_heads=shape.num_attention_heads,
        num_key_value_heads=shape.num_key_value_heads,
        head_dim=shape.head_dim,
        # The block of a drafter may reach past the end of the context.
        rope_positions=CONTEXT_LENGTH + shape.block_size,
        rope_theta=shape.rope_theta,
        rms_norm_eps=shape.rms_norm_eps,
    )
    layout = Layout(
        name=name,
        context_length=CONTEXT_LENGTH,
        taps=tuple(shape.taps),
        block=Block(shape.drafter_layers, shape.block_size, len(shape.taps), shape.selector_top),
        block_sizes=dataclasses.replace(sizes, num_key_value_heads=shape.drafter_key_value_heads),
        start_token=0,
        stop_tokens=(0,),
        storage=storage,
    )
    write_bundle(out, networks, sizes, layout, tokenizer)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--run", type=Path, required=True, help="what the training wrote")
    parser.add_argument("--out", type=Path, default=BUNDLED)
    parser.add_argument("--name", default="specstep-6m")
    parser.add_argument("--base", default="base.pt", help="the base's file in --run")
    parser.add_argument("--storage", type=Storage, choices=list(Storage), default=Storage.INT8)
    args = parser.parse_args()
    found = {kind: args.run / f"{kind}.pt" for kind in ("mtp", "dflash", "dflash2")}
    drafters = {kind: weights(path) for kind, path in found.items() if path.is_file()}
    networks = Networks(weights(args.run / args.base), **drafters)
    export(networks, Shape(), (args.run / "tokenizer.json").read_bytes(), args.out, args.name, args.storage)
    size = sum(path.stat().st_size for path in args.out.iterdir())
    print(f"{args.out}: base and {', '.join(drafters) or 'no drafter'}, {size / 1e6:.2f} MB")


if __name__ == "__main__":
    main()
