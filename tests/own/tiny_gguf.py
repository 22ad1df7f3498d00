"""GGUF files of tiny networks with random weights, written by the gguf package, and the weights to compare with."""

import dataclasses
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from gguf import GGMLQuantizationType, GGUFWriter
from gguf.quants import dequantize, quantize
from numpy.typing import NDArray
from tokenizers import pre_tokenizers

from engine.models.graph_decoder import Sizes
from tests.own.blocks import Bytes, random_blocks, unpacked

Arrays = dict[str, NDArray[np.float32]]

HEADS, KV_HEADS, LAYERS, CONTEXT = 4, 2, 3, 96
ALPHABET = sorted(pre_tokenizers.ByteLevel.alphabet())
MERGES = ["h e", "l l", "he ll", "hell o", "Ġ w", "1 2"]
WORDS = [*ALPHABET, *(merge.replace(" ", "") for merge in MERGES), "<|im_start|>", "<|im_end|>", "<|tool|>"]
KINDS = [1] * (len(WORDS) - 3) + [3, 3, 4]
START, END, TOOL = (WORDS.index(text) for text in WORDS[-3:])
NAMES = {
    "self_attn.q_proj": "attn_q",
    "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output",
    "self_attn.q_norm": "attn_q_norm",
    "self_attn.k_norm": "attn_k_norm",
    "mlp.gate_proj": "ffn_gate",
    "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down",
    "input_layernorm": "attn_norm",
    "post_attention_layernorm": "ffn_norm",
    "embed_tokens": "token_embd",
    "norm": "output_norm",
    "lm_head": "output",
}


class Shape(NamedTuple):
    """Sizes that a type of tensor may ask for."""

    hidden: int
    head: int
    ffn: int


NARROW = Shape(32, 16, 64)
WIDE = Shape(256, 64, 256)
"""Its rows are whole blocks of 256 numbers."""
HEAD = NARROW.head


@dataclasses.dataclass(frozen=True)
class Tiny:
    """What to write. ``without`` and ``extra`` are tensors by the file's names, ``words`` of its tokenizer.

    ``blocks`` gives the type of a matrix by its name in the file: then its numbers are random blocks of that type.
    """

    arch: str = "llama"
    type: GGMLQuantizationType = GGMLQuantizationType.F32
    tied: bool = True
    without: tuple[str, ...] = ()
    extra: Mapping[str, NDArray[Any]] = dataclasses.field(default_factory=dict)
    words: tuple[str, ...] = tuple(WORDS)
    kinds: tuple[int, ...] = tuple(KINDS)
    changes: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    shape: Shape = NARROW
    blocks: Callable[[str], GGMLQuantizationType] | None = None

    @property
    def sizes(self) -> Sizes:
        return Sizes(
            vocab_size=len(WORDS),
            hidden_size=self.shape.hidden,
            num_hidden_layers=LAYERS,
            num_attention_heads=HEADS,
            num_key_value_heads=KV_HEADS,
            head_dim=self.shape.head,
            rope_positions=CONTEXT + 1,
            rope_theta=10000.0,
            rms_norm_eps=float(np.float32(1e-5)),
        )


def write(path: Path, tiny: Tiny = Tiny(), seed: int = 7) -> Arrays:
    """Write the file; the weights as Hugging Face has them, after the rounding of the file's type."""
    path.parent.mkdir(exist_ok=True)
    plain = network(tiny, seed)
    raw = _in_blocks(plain, tiny, seed)
    weights = {
        name: unpacked(*raw[name]).astype(np.float32) if name in raw else rounded(array, tiny.type)
        for name, array in plain.items()
    }
    writer = GGUFWriter(path, tiny.arch)
    numbers = {
        "context_length": CONTEXT,
        "embedding_length": tiny.shape.hidden,
        "block_count": LAYERS,
        "feed_forward_length": tiny.shape.ffn,
        "attention.head_count": HEADS,
        "attention.head_count_kv": KV_HEADS,
        "attention.key_length": tiny.shape.head,
        "attention.value_length": tiny.shape.head,
        "rope.freq_base": 10000.0,
        "attention.layer_norm_rms_epsilon": 1e-5,
    }
    tokenizer = {
        "tokenizer.ggml.model": "gpt2",
        "tokenizer.ggml.pre": "smollm",
        "tokenizer.ggml.bos_token_id": START,
        "tokenizer.ggml.eos_token_id": END,
        "tokenizer.ggml.add_bos_token": False,
        "tokenizer.ggml.tokens": list(tiny.words),
        "tokenizer.ggml.token_type": list(tiny.kinds),
        "tokenizer.ggml.merges": MERGES,
    }
    fields = {f"{tiny.arch}.{key}": value for key, value in numbers.items()} | tokenizer | dict(tiny.changes)
    for key, value in fields.items():
        add(writer, key, value)
    tensors = {file_name(name): _stored(name, array, tiny) for name, array in weights.items()}
    for name, (type_, rows) in raw.items():
        if file_name(name) not in tiny.without:
            writer.add_tensor(file_name(name), _stored(name, rows, tiny), raw_dtype=type_)
    for name, array in {**tensors, **tiny.extra}.items():
        if name not in tiny.without and name not in map(file_name, raw):
            type_ = tiny.type if array.ndim == 2 else GGMLQuantizationType.F32
            whole = np.issubdtype(array.dtype, np.integer)
            data = array if whole else quantize(np.ascontiguousarray(array), type_)
            writer.add_tensor(name, data, raw_dtype=None if whole else type_)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return weights


def network(tiny: Tiny, seed: int) -> Arrays:
    """Random weights of about the scale that keeps the residual stream at the scale of its input."""
    rng = np.random.default_rng(seed)
    hidden, head, ffn = tiny.shape

    def matrix(rows: int, columns: int) -> NDArray[np.float32]:
        return rng.normal(0, columns**-0.5, (rows, columns)).astype(np.float32)

    def around(middle: float, size: int) -> NDArray[np.float32]:
        return rng.normal(middle, 0.1, size).astype(np.float32)

    made = {"embed_tokens.weight": matrix(len(WORDS), hidden) * 3, "norm.weight": around(1, hidden)}
    for i in range(LAYERS):
        attention, mlp = f"layers.{i}.self_attn", f"layers.{i}.mlp"
        for part, rows in (("q", HEADS * head), ("k", KV_HEADS * head), ("v", KV_HEADS * head)):
            made[f"{attention}.{part}_proj.weight"] = matrix(rows, hidden)
            if tiny.arch == "qwen2":
                made[f"{attention}.{part}_proj.bias"] = around(0, rows)
        if tiny.arch == "qwen3":
            made |= {f"{attention}.{part}_norm.weight": around(1, head) for part in "qk"}
        made[f"{attention}.o_proj.weight"] = matrix(hidden, HEADS * head)
        made |= {f"{mlp}.{part}_proj.weight": matrix(ffn, hidden) for part in ("gate", "up")}
        made[f"{mlp}.down_proj.weight"] = matrix(hidden, ffn)
        for norm in ("input_layernorm", "post_attention_layernorm"):
            made[f"layers.{i}.{norm}.weight"] = around(1, hidden)
    if not tiny.tied:
        made["lm_head.weight"] = matrix(len(WORDS), hidden) * 3
    return made


def rounded(array: NDArray[np.float32], type_: GGMLQuantizationType) -> NDArray[np.float32]:
    """A matrix as it is after it was stored in a type; vectors are stored as they are."""
    return array if array.ndim == 1 else dequantize(quantize(array, type_), type_)


def file_name(name: str) -> str:
    """A tensor's name in a GGUF file."""
    stem, _, kind = name.rpartition(".")
    if not stem.startswith("layers."):
        return f"{NAMES[stem]}.{kind}"
    _, layer, part = stem.split(".", 2)
    return f"blk.{layer}.{NAMES[part]}.{kind}"


def _in_blocks(plain: Arrays, tiny: Tiny, seed: int) -> dict[str, tuple[GGMLQuantizationType, Bytes]]:
    """The matrices that are to be random blocks, packed."""
    if tiny.blocks is None:
        return {}
    rng = np.random.default_rng(seed)
    types = {name: tiny.blocks(file_name(name)) for name, array in plain.items() if array.ndim == 2}
    return {
        name: (type_, random_blocks(type_, plain[name].shape[0], plain[name].shape[1], rng))
        for name, type_ in types.items()
    }


def _stored(name: str, array: NDArray[Any], tiny: Tiny) -> NDArray[Any]:
    """A llama's rows of query and key stand in the file with the two halves of each head dealt out in turn."""
    heads = HEADS if ".q_proj." in name else KV_HEADS if ".k_proj." in name else 0
    if tiny.arch != "llama" or not heads:
        return array
    size = tiny.shape.head
    rows = [
        array[head * size + half * size // 2 + i] for head in range(heads) for i in range(size // 2) for half in (0, 1)
    ]
    return np.stack(rows)


def add(writer: GGUFWriter, key: str, value: Any) -> None:
    """Write a metadata value by its type; ``None`` is not written."""
    match value:
        case None:
            pass
        case bool():
            writer.add_bool(key, value)
        case int():
            writer.add_uint32(key, value)
        case float():
            writer.add_float32(key, value)
        case str():
            writer.add_string(key, value)
        case _:
            writer.add_array(key, value)
