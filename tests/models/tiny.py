"""A family of tiny networks with random weights, and bundles of them: built in a fraction of a second."""

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer, decoders, models, pre_tokenizers

from engine.models.bundle_writer import Layout, Networks, write_bundle
from engine.models.bundled import Bundle, open_bundle
from engine.models.graph_decoder import Sizes
from engine.models.graph_dflash import Block
from engine.models.weights import Storage

VOCAB, CONTEXT, BLOCK, TAPS, SELECTOR_TOP = 257, 96, 6, (0, 2), 8
SIZES = Sizes(
    vocab_size=VOCAB,
    hidden_size=32,
    num_hidden_layers=3,
    num_attention_heads=4,
    num_key_value_heads=2,
    head_dim=16,
    rope_positions=CONTEXT + BLOCK,
)
FFN = 48
Arrays = dict[str, NDArray[np.float32]]


@dataclasses.dataclass(frozen=True)
class Family:
    """Which of the optional parts a base has."""

    qk_norm: bool = True
    bias: bool = False
    tied: bool = True
    interleaved: bool = False

    @property
    def sizes(self) -> Sizes:
        return dataclasses.replace(SIZES, rope_interleaved=self.interleaved)


def networks(seed: int, family: Family = Family()) -> Networks:
    """Random weights of about the scale that keeps the residual stream at the scale of its input."""
    rng = np.random.default_rng(seed)
    hidden = SIZES.hidden_size
    base = {"embed_tokens.weight": _matrix(rng, VOCAB, hidden) * 3, "norm.weight": _scale(rng, hidden)}
    for i in range(SIZES.num_hidden_layers):
        base |= _layer(rng, f"layers.{i}", family)
    if not family.tied:
        base["lm_head.weight"] = _matrix(rng, VOCAB, hidden) * 3
    mtp = {"fc.weight": _matrix(rng, hidden, 2 * hidden), **_layer(rng, "layer", family)}
    for name in ("norm_embed", "norm_hidden", "norm"):
        mtp[f"{name}.weight"] = _scale(rng, hidden)
    dflash = {"fc.weight": _matrix(rng, hidden, len(TAPS) * hidden), "mask": _matrix(rng, 1, hidden)[0]}
    for name in ("norm_context", "norm"):
        dflash[f"{name}.weight"] = _scale(rng, hidden)
    for i in range(2):
        dflash |= _layer(rng, f"layers.{i}", family)
    return Networks(base, mtp, dflash, _dflash2(rng, dflash))


def write(folder: Path, nets: Networks, family: Family = Family(), storage: Storage = Storage.FLOAT32) -> Bundle:
    """Write and open a bundle."""
    layout = Layout(
        name="tiny",
        context_length=CONTEXT,
        taps=TAPS,
        block=Block(2, BLOCK, len(TAPS), SELECTOR_TOP),
        start_token=256,
        stop_tokens=(256,),
        storage=storage,
    )
    write_bundle(folder, nets, family.sizes, layout, tokenizer().to_str().encode())
    return open_bundle(folder)


def tokenizer() -> Tokenizer:
    """A byte-level tokenizer without merges: one id a byte, and the end of text."""
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    library = Tokenizer(models.BPE(vocab={character: i for i, character in enumerate(alphabet)}, merges=[]))
    library.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    library.decoder = decoders.ByteLevel()
    library.add_special_tokens(["<|endoftext|>"])
    return library


def prompt(length: int, seed: int = 0) -> list[int]:
    """Random tokens."""
    return [int(token) for token in np.random.default_rng(seed).integers(0, 256, length)]


def assert_close(actual: NDArray[np.float32] | None, wanted: NDArray[np.floating[Any]]) -> None:
    """Equal up to the rounding of a few layers in single precision."""
    assert actual is not None
    np.testing.assert_allclose(actual, wanted, rtol=2e-4, atol=2e-4)


def _dflash2(rng: np.random.Generator, dflash: Arrays) -> Arrays:
    """The same layers with convolutions of groups of 8 and a selector of rank 4."""
    hidden = SIZES.hidden_size
    made = dict(dflash)
    for name in (f"{part}_conv.{i}" for part in ("attention", "mlp") for i in range(2)):
        made[f"{name}.base_kernel"] = rng.normal([[[1.0], [0.3]]] * 2, 0.1, (2, 2, hidden)).astype(np.float32)
        made[f"{name}.kernel_projection.weight"] = _matrix(rng, 4 * hidden // 8, hidden) * 0.3
    made |= {f"{side}_embed": _matrix(rng, VOCAB, 4) * 4 for side in ("predecessor", "successor")}
    made["hidden_projection.weight"] = _matrix(rng, 4, hidden)
    return made


def _layer(rng: np.random.Generator, prefix: str, family: Family) -> Arrays:
    hidden, d = SIZES.hidden_size, SIZES.head_dim
    outputs = {
        "q": SIZES.num_attention_heads * d,
        "k": SIZES.num_key_value_heads * d,
        "v": SIZES.num_key_value_heads * d,
    }
    attention = f"{prefix}.self_attn"
    made = {f"{attention}.{part}_proj.weight": _matrix(rng, size, hidden) for part, size in outputs.items()}
    if family.bias:
        made |= {f"{attention}.{part}_proj.bias": _scale(rng, size) - 1 for part, size in outputs.items()}
    if family.qk_norm:
        made |= {f"{attention}.{part}_norm.weight": _scale(rng, d) for part in "qk"}
    made[f"{attention}.o_proj.weight"] = _matrix(rng, hidden, outputs["q"])
    for part in ("gate", "up"):
        made[f"{prefix}.mlp.{part}_proj.weight"] = _matrix(rng, FFN, hidden)
    made[f"{prefix}.mlp.down_proj.weight"] = _matrix(rng, hidden, FFN)
    for norm in ("input_layernorm", "post_attention_layernorm"):
        made[f"{prefix}.{norm}.weight"] = _scale(rng, hidden)
    return made


def _matrix(rng: np.random.Generator, rows: int, columns: int) -> NDArray[np.float32]:
    return rng.normal(0, columns**-0.5, (rows, columns)).astype(np.float32)


def _scale(rng: np.random.Generator, size: int) -> NDArray[np.float32]:
    return rng.normal(1, 0.1, size).astype(np.float32)
