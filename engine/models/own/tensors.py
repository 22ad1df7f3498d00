"""The tensors of a GGUF file of the Llama family under the names that the graph builder reads, checked and unpacked."""

import dataclasses
from collections.abc import Callable, Iterator, Mapping

import numpy as np
from numpy.typing import NDArray

from engine.models.graph_decoder import Sizes
from engine.models.own.container import GgufFile
from engine.models.own.rope import FACTORS
from engine.models.own.wanted import Wanted, check_tensors

_ATTENTION = {
    "attn_q": ("self_attn.q_proj", "query", "hidden"),
    "attn_k": ("self_attn.k_proj", "key", "hidden"),
    "attn_v": ("self_attn.v_proj", "key", "hidden"),
}
_LAYER = _ATTENTION | {
    "attn_norm": ("input_layernorm", "hidden", ""),
    "attn_output": ("self_attn.o_proj", "hidden", "query"),
    "ffn_norm": ("post_attention_layernorm", "hidden", ""),
    "ffn_gate": ("mlp.gate_proj", "inner", "hidden"),
    "ffn_up": ("mlp.up_proj", "inner", "hidden"),
    "ffn_down": ("mlp.down_proj", "hidden", "inner"),
}
_HEAD_NORMS = {"attn_q_norm": ("self_attn.q_norm", "head", ""), "attn_k_norm": ("self_attn.k_norm", "head", "")}
_TOGETHER = (("attn_q", "attn_k", "attn_v"), ("ffn_gate", "ffn_up"))
"""Parts that the graph computes side by side: all of them have biases, or none."""


@dataclasses.dataclass(frozen=True)
class Architecture:
    """What tells the members of the family apart.

    ``permuted``: rows of query and key stand in the order of rotated pairs. ``biased``: query, key and value must have
    biases. ``normed_heads``: query and key are normed.
    """

    permuted: bool = False
    biased: bool = False
    normed_heads: bool = False


ARCHITECTURES = {
    "llama": Architecture(permuted=True),
    "qwen2": Architecture(biased=True),
    "qwen3": Architecture(normed_heads=True),
}


def wanted(file: GgufFile, architecture: str, sizes: Sizes, inner: int) -> dict[str, Wanted]:
    """All tensors that a model of these sizes can have, by the builder's names; ``inner`` is that of its MLPs."""
    arch = ARCHITECTURES[architecture]
    length = {
        "hidden": sizes.hidden_size,
        "query": sizes.num_attention_heads * sizes.head_dim,
        "key": sizes.num_key_value_heads * sizes.head_dim,
        "head": sizes.head_dim,
        "inner": inner,
    }
    table = (sizes.vocab_size, sizes.hidden_size)
    found = {
        "embed_tokens.weight": Wanted("token_embd.weight", table, True),
        "norm.weight": Wanted("output_norm.weight", table[1:], True),
        "lm_head.weight": Wanted("output.weight", table, False),
    }
    for i in range(sizes.num_hidden_layers):
        biased = {part for parts in _TOGETHER for part in parts if _any_bias(file, i, parts)}
        biased |= _ATTENTION.keys() if arch.biased else set()
        for part, (to, rows, columns) in (_LAYER | (_HEAD_NORMS if arch.normed_heads else {})).items():
            shape = (length[rows], length[columns]) if columns else (length[rows],)
            found[f"layers.{i}.{to}.weight"] = Wanted(f"blk.{i}.{part}.weight", shape, True)
            if columns:
                found[f"layers.{i}.{to}.bias"] = Wanted(f"blk.{i}.{part}.bias", shape[:1], part in biased)
    return found


def check(file: GgufFile, architecture: str, tensors: Mapping[str, Wanted]) -> None:
    """Check that the tensors are there, of their shapes and of types that can be unpacked, and none beside them.

    Raises:
        ModelError: one is not.
    """
    shapes = {name: file.shape(name) for name in file.tensors if name != FACTORS}
    check_tensors(file.path, f"{architecture} model", tensors.values(), shapes)
    file.check_types()


class GgufWeights(Mapping[str, NDArray[np.float32]]):
    """Tensors of a file by the builder's names, unpacked one at a time when they are read.

    ``read`` is told the name in the file of each when it is read for the first time.
    """

    def __init__(
        self, file: GgufFile, tensors: Mapping[str, Wanted], permuted: Mapping[str, int], read: Callable[[str], None]
    ) -> None:
        self._file = file
        self._names = {to: tensor.name for to, tensor in tensors.items() if tensor.name in file.tensors}
        self._permuted = permuted
        self._read = read
        self._seen: set[str] = set()

    def __getitem__(self, name: str) -> NDArray[np.float32]:
        array = self._file.array(self._names[name])
        heads = self._permuted.get(name.split(".")[-2])
        if heads is not None:
            array = in_halves(array, heads)
        if name not in self._seen:
            self._seen.add(name)
            self._read(self._names[name])
        return array

    def __contains__(self, name: object) -> bool:
        return name in self._names

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


def in_halves(rows: NDArray[np.float32], heads: int) -> NDArray[np.float32]:
    """Rows ``[heads * dim, ...]`` whose rotated pairs are neighbours, as rows whose pairs are half a head apart."""
    pairs = rows.reshape(heads, -1, 2, *rows.shape[1:])
    return pairs.swapaxes(1, 2).reshape(rows.shape)


def _any_bias(file: GgufFile, layer: int, parts: tuple[str, ...]) -> bool:
    return any(f"blk.{layer}.{part}.bias" in file.tensors for part in parts)
