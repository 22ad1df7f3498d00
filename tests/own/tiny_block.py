"""Folders of tiny DFlash and DFlash 2 drafters as their authors publish them, with random weights."""

import dataclasses
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import save_file

from engine.models.graph_decoder import Sizes
from tests.own.tiny_gguf import LAYERS, NARROW, WORDS, Arrays, Tiny

ROWS, TAPS, MASK, GROUPS, RANK, TOP = 5, (0, 1), 7, 4, 3, 6
HIDDEN, INNER = NARROW.hidden, 48


@dataclasses.dataclass(frozen=True)
class Published:
    """What to write. ``changes`` are settings, ``own`` those of ``dflash_config``; ``None`` leaves one out.

    ``without`` and ``extra`` are tensors by their published names, ``dtype`` is the type of all.
    """

    kind: str = "dflash"
    changes: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    own: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    without: tuple[str, ...] = ()
    extra: Mapping[str, NDArray[Any]] = dataclasses.field(default_factory=dict)
    dtype: Any = np.float32
    biased: bool = False


SIZES = dataclasses.replace(
    Tiny().sizes,
    num_hidden_layers=2,
    num_attention_heads=2,
    num_key_value_heads=1,
    head_dim=8,
    rope_theta=500.0,
    rms_norm_eps=1e-6,
)


def sizes(rope_theta: float = 500.0) -> Sizes:
    return dataclasses.replace(SIZES, rope_theta=rope_theta)


def publish(folder: Path, what: Published = Published(), seed: int = 11) -> Arrays:
    """Write the folder; the weights by the graph builder's names, as they are after their type's rounding."""
    folder.mkdir(parents=True, exist_ok=True)
    two = what.kind == "dflash2"
    own: dict[str, Any] = {"target_layer_ids": list(TAPS), "mask_token_id": MASK}
    if two:
        own |= {"conv_kernel_size": 2, "conv_group_size": HIDDEN // GROUPS, "selector_rank": RANK}
        own |= {"selector_top_k": TOP, "block_size": ROWS}
    config = {
        "architectures": ["DFlash2DraftModel" if two else "DFlashDraftModel"],
        "hidden_size": HIDDEN,
        "intermediate_size": INNER,
        "num_hidden_layers": SIZES.num_hidden_layers,
        "num_attention_heads": SIZES.num_attention_heads,
        "num_key_value_heads": SIZES.num_key_value_heads,
        "head_dim": SIZES.head_dim,
        "vocab_size": len(WORDS),
        "rms_norm_eps": SIZES.rms_norm_eps,
        "rope_parameters": {"rope_type": "default", "rope_theta": SIZES.rope_theta},
        "hidden_act": "silu",
        "num_target_layers": LAYERS,
        "block_size": ROWS,
        "dflash_config": {key: value for key, value in {**own, **what.own}.items() if value is not None},
        **what.changes,
    }
    config = {key: value for key, value in config.items() if value is not None}
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    tensors = {name: array.astype(what.dtype) for name, array in network(what, seed).items()}
    written = {name: array for name, array in {**tensors, **what.extra}.items() if name not in what.without}
    names = sorted(written)
    for part, chosen in enumerate((names[::2], names[1::2])):
        save_file({name: written[name] for name in chosen}, folder / f"model-0000{part + 1}-of-00002.safetensors")
    return {ours(name): array.astype(np.float32) for name, array in tensors.items()}


def network(what: Published, seed: int) -> Arrays:
    """Random weights by their published names."""
    rng = np.random.default_rng(seed)

    def matrix(rows: int, columns: int) -> NDArray[np.float32]:
        return rng.normal(0, columns**-0.5, (rows, columns)).astype(np.float32)

    def around(middle: float, size: int) -> NDArray[np.float32]:
        return rng.normal(middle, 0.1, size).astype(np.float32)

    query, key = (n * SIZES.head_dim for n in (SIZES.num_attention_heads, SIZES.num_key_value_heads))
    made = {"fc.weight": matrix(HIDDEN, len(TAPS) * HIDDEN)}
    made |= {f"{name}.weight": around(1, HIDDEN) for name in ("hidden_norm", "norm")}
    for i in range(what.changes.get("num_hidden_layers", SIZES.num_hidden_layers)):
        attention, mlp = f"layers.{i}.self_attn", f"layers.{i}.mlp"
        for part, rows, columns in (("q", query, HIDDEN), ("k", key, HIDDEN), ("v", key, HIDDEN), ("o", HIDDEN, query)):
            made[f"{attention}.{part}_proj.weight"] = matrix(rows, columns)
            if what.biased:
                made[f"{attention}.{part}_proj.bias"] = around(0, rows)
        made |= {f"{attention}.{part}_norm.weight": around(1, SIZES.head_dim) for part in "qk"}
        made |= {f"{mlp}.{part}_proj.weight": matrix(INNER, HIDDEN) for part in ("gate", "up")}
        made[f"{mlp}.down_proj.weight"] = matrix(HIDDEN, INNER)
        for norm in ("input_layernorm", "post_attention_layernorm"):
            made[f"layers.{i}.{norm}.weight"] = around(1, HIDDEN)
        for conv in ("attention_conv", "mlp_conv") if what.kind == "dflash2" else ():
            name = f"layers.{i}.{conv}"
            made[f"{name}.base_kernel"] = rng.normal([[[1.0], [0.3]]] * 2, 0.1, (2, 2, HIDDEN)).astype(np.float32)
            made[f"{name}.kernel_projection.weight"] = matrix(4 * GROUPS, HIDDEN) * 0.3
    if what.kind == "dflash2":
        for side in ("predecessor", "successor"):
            made[f"candidate_selector.{side}_codebook"] = matrix(len(WORDS), RANK) * 4
        made["candidate_selector.hidden_projection.weight"] = matrix(RANK, HIDDEN)
    return made


def ours(name: str) -> str:
    """What the graph builder calls a published tensor."""
    if name == "hidden_norm.weight":
        return "norm_context.weight"
    if name.startswith("candidate_selector."):
        return name.removeprefix("candidate_selector.").replace("_codebook", "_embed")
    _, layer, *rest = name.split(".")
    return f"{rest[0]}.{layer}.{'.'.join(rest[1:])}" if rest and rest[0].endswith("_conv") else name


HALF = ml_dtypes.bfloat16
