"""The drafters' training text: what the base itself writes after prompts from code, and code as it stands."""

import argparse
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from tokenizers import Tokenizer
from torch import Tensor

from engine.models.recipe.data import corpus, documents
from engine.models.recipe.qwen3 import Base, Shape, rope_tables


@torch.no_grad()
def write(model: Base, prompts: Tensor, length: int, temperature: Tensor, generator: torch.Generator) -> Tensor:
    """Continue ``prompts`` ``[batch, n]`` to ``length`` tokens; ``temperature`` ``[batch]``, 0 is greedy."""
    shape = model.shape
    batch, start = prompts.shape
    size = (batch, shape.num_key_value_heads, length, shape.head_dim)
    cache = [(torch.zeros(size), torch.zeros(size)) for _ in model.layers]
    text = torch.zeros(batch, length, dtype=torch.long)
    text[:, :start] = prompts
    at, new = 0, start
    while at + new < length:
        cos, sin = rope_tables(torch.arange(at, at + new), shape)
        x = model.embed_tokens(text[:, at : at + new])
        end = at + new
        mask = torch.ones(new, end, dtype=torch.bool).tril(at)
        for layer, (keys, values) in zip(model.layers, cache, strict=True):
            attention = layer.self_attn
            normed = layer.input_layernorm(x)
            q = attention.query(normed, cos, sin)
            keys[:, :, at:end], values[:, :, at:end] = attention.key_value(normed, cos, sin)
            groups = q.shape[1] // keys.shape[1]
            grouped = q.reshape(batch, keys.shape[1], groups * new, -1) * shape.head_dim**-0.5
            scores = (grouped @ keys[:, :, :end].mT).view(batch, keys.shape[1], groups, new, end)
            weights = torch.softmax(torch.where(mask, scores, -1e9), -1).flatten(2, 3)
            mixed = (weights @ values[:, :, :end]).reshape(batch, -1, new, shape.head_dim)
            x = x + attention.o_proj(mixed.transpose(1, 2).flatten(2))
            x = x + layer.mlp(layer.post_attention_layernorm(x))
        logits = model.logits(model.norm(x[:, -1]))
        noise = -torch.log(-torch.log(torch.rand(logits.shape, generator=generator).clamp_min(1e-20)))
        text[:, end] = (logits + noise * temperature[:, None]).argmax(-1)
        at, new = end, 1
    return text


def prompts_from(streams: list[NDArray[np.uint16]], counts: list[int], size: int, rng: np.random.Generator) -> Tensor:
    """Random windows of ``size`` tokens, so many from each stream."""
    windows = [
        stream[start : start + size].astype(np.int64)
        for stream, count in zip(streams, counts, strict=True)
        for start in rng.integers(0, len(stream) - size, count)
    ]
    return torch.from_numpy(np.stack(windows))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True, help="holds base.pt and tokenizer.json; text.npy is written")
    parser.add_argument("--sequences", type=int, default=1024)
    parser.add_argument("--length", type=int, default=512)
    parser.add_argument("--greedy", action="store_true", help="no sampling, and fewer prompts from the showcase")
    parser.add_argument("--windows", type=int, default=1800, help="windows of the training code itself, added behind")
    parser.add_argument("--seed", type=int, default=11)
    args = parser.parse_args()
    model = Base(Shape())
    model.load_state_dict(torch.load(args.out / "base.pt"))
    model.eval()
    data = corpus(documents(args.data), Tokenizer.from_file(str(args.out / "tokenizer.json")), 7)
    rng = np.random.default_rng(args.seed)
    generator = torch.Generator().manual_seed(args.seed)
    written = []
    batch = 128
    for _ in range(args.sequences // batch):
        size = int(rng.integers(24, 80 if args.greedy else 96))
        counts = [112, 16] if args.greedy else [80, 48]
        prompts = prompts_from([data.train["code"], data.showcase["heart"]], counts, size, rng)
        temperature = torch.tensor([0.0, 0.0, 0.0 if args.greedy else 0.5, 0.0 if args.greedy else 0.8])
        temperature = temperature[torch.arange(batch) % 4]
        written.append(write(model, prompts, args.length, temperature, generator).numpy().astype(np.uint16))
        print(len(written) * batch, "sequences", flush=True)
    windows = prompts_from([data.train["code"]], [args.windows], args.length, rng).numpy().astype(np.uint16)
    np.save(args.out / "text.npy", np.concatenate([*written, windows]))


if __name__ == "__main__":
    main()
