"""The decoder layers of the Llama family (Llama, Qwen2, Qwen3) as graph nodes, and a whole base model of them."""

import dataclasses

import numpy as np
from numpy.typing import NDArray
from onnx import TensorProto

from engine.models.graph import CONTRIB, Graph

KV_NAMES = ("past_key_values.{}.{}", "present.{}.{}")


@dataclasses.dataclass(frozen=True)
class Sizes:
    """What the weights alone do not tell (names as in a Hugging Face ``config.json``).

    Biases, QK norm and an untied head are there if their weights are. ``rope_positions`` is how many positions the
    rotary tables cover; ``rope_frequencies`` ``[rotary_dim / 2]`` takes the place of those that ``rope_theta`` gives,
    and ``rope_scale`` is what cosine and sine are multiplied by (YaRN).
    """

    vocab_size: int
    hidden_size: int
    num_hidden_layers: int
    num_attention_heads: int
    num_key_value_heads: int
    head_dim: int
    rope_positions: int
    rope_theta: float = 10000.0
    rope_frequencies: tuple[float, ...] | None = None
    rope_scale: float = 1.0
    rope_interleaved: bool = False
    rms_norm_eps: float = 1e-6

    def rope_tables(self) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Cosine and sine, scaled, each ``[rope_positions, rotary_dim / 2]``."""
        if self.rope_frequencies is None:
            frequencies = self.rope_theta ** (-np.arange(0, self.head_dim, 2) / self.head_dim)
        else:
            frequencies = np.asarray(self.rope_frequencies)
        angles = np.arange(self.rope_positions)[:, None] * frequencies[None]
        cos, sin = (self.rope_scale * table(angles) for table in (np.cos, np.sin))
        return cos.astype(np.float32), sin.astype(np.float32)


class Decoder:
    """Adds the parts of a decoder to a graph. Values are ``[1, n, features]`` unless said otherwise."""

    def __init__(self, graph: Graph, sizes: Sizes, tables: str = "rope") -> None:
        """``tables`` is what the weight file calls the rotary tables: graphs of other tables have other names."""
        self.graph = graph
        self.sizes = sizes
        cos, sin = sizes.rope_tables()
        self.tables = graph.vector(f"{tables}.cos", cos), graph.vector(f"{tables}.sin", sin)

    def norm(self, x: str, name: str) -> str:
        return self._rms(x, self.graph.vector(f"{name}.weight"))

    def add_norm(self, x: str, y: str, name: str, normed: str = "") -> tuple[str, str]:
        """``x + y`` and its norm, in one node: (norm, sum). ``normed`` is a name for the first, of an output."""
        outputs = [normed or f"{name}.normed", "", "", f"{name}.sum"]
        inputs = [x, y, self.graph.vector(f"{name}.weight")]
        self.graph.ops("SkipSimplifiedLayerNormalization", inputs, outputs, CONTRIB, epsilon=self.sizes.rms_norm_eps)
        return outputs[0], outputs[3]

    def head_norm(self, x: str, name: str) -> str:
        """RMS norm of each head of ``x`` ``[1, n, heads * head_dim]``, where the model has that weight."""
        if f"{name}.weight" not in self.graph.weights:
            return x
        graph = self.graph
        heads = graph.op("Reshape", x, graph.integers(0, 0, -1, self.sizes.head_dim))
        return graph.op("Reshape", self.norm(heads, name), graph.integers(0, 0, -1))

    def embed(self, tokens: str) -> str:
        return self.graph.op("Gather", self.graph.matrix("embed_tokens.weight"), tokens)

    def logits(self, hidden: str) -> str:
        """By the head of its own, or by the embedding where there is none."""
        if "lm_head.weight" in self.graph.weights:
            return self.graph.linear(hidden, "lm_head")
        table = self.graph.op("Transpose", self.graph.matrix("embed_tokens.weight"), perm=[1, 0])
        return self.graph.op("MatMul", hidden, table)

    def mlp(self, x: str, prefix: str) -> str:
        """SwiGLU: ``down(silu(gate(x)) * up(x))``."""
        graph = self.graph
        both = graph.linear(x, f"{prefix}.gate_proj", f"{prefix}.up_proj")
        gate, up = graph.ops("Split", [both], 2, axis=-1, num_outputs=2)
        swish = graph.op("QuickGelu", gate, domain=CONTRIB, alpha=1.0)
        return graph.linear(graph.op("Mul", swish, up), f"{prefix}.down_proj")

    def query_key_value(self, x: str, prefix: str) -> list[str]:
        """Projected and normed, before the rotation."""
        graph, sizes = self.graph, self.sizes
        packed = graph.linear(x, *(f"{prefix}.{part}_proj" for part in "qkv"))
        q_size, kv_size = (n * sizes.head_dim for n in (sizes.num_attention_heads, sizes.num_key_value_heads))
        q, k, v = graph.ops("Split", [packed, graph.integers(q_size, kv_size, kv_size)], 3, axis=-1)
        return [self.head_norm(q, f"{prefix}.q_norm"), self.head_norm(k, f"{prefix}.k_norm"), v]

    def causal_layer(self, x: str, normed: str, prefix: str, cache: int) -> tuple[str, str]:
        """A layer over the shared KV buffer number ``cache``: the stream before its last sum, and what is to be added.

        ``normed`` is ``x`` after the layer's input norm.
        """
        sizes = self.sizes
        past, present = ([name.format(cache, part) for part in ("key", "value")] for name in KV_NAMES)
        q, k, v = self.query_key_value(normed, f"{prefix}.self_attn")
        inputs = [q, k, v, *past, "seqlens_k", "total_sequence_length", *self.tables]
        attended = f"{prefix}.attended"
        self.graph.ops(
            "GroupQueryAttention",
            inputs,
            [attended, *present],
            CONTRIB,
            num_heads=sizes.num_attention_heads,
            kv_num_heads=sizes.num_key_value_heads,
            do_rotary=1,
            rotary_interleaved=int(sizes.rope_interleaved),
        )
        out = self.graph.linear(attended, f"{prefix}.self_attn.o_proj")
        normed, x = self.add_norm(x, out, f"{prefix}.post_attention_layernorm")
        return x, self.mlp(normed, f"{prefix}.mlp")

    def shared_cache(self, count: int) -> None:
        """Declare ``count`` layers' KV, past and present of one shape, and the two lengths that say what is in them.

        ``seqlens_k`` ``int32 [1]`` is the length after the pass less one, ``total_sequence_length`` ``int32 []`` the
        length after the pass. Present has to be bound to the buffer of past: then only the new rows are written.
        """
        graph, sizes = self.graph, self.sizes
        shape: list[int | str] = [1, sizes.num_key_value_heads, "capacity", sizes.head_dim]
        graph.input("seqlens_k", [1], TensorProto.INT32)
        graph.input("total_sequence_length", [], TensorProto.INT32)
        for i in range(count):
            for part in ("key", "value"):
                graph.input(KV_NAMES[0].format(i, part), shape)
                graph.output(KV_NAMES[1].format(i, part), KV_NAMES[1].format(i, part), shape)

    def _rms(self, x: str, weight: str) -> str:
        return self.graph.op(
            "SimplifiedLayerNormalization", x, weight, axis=-1, epsilon=self.sizes.rms_norm_eps, stash_type=1
        )


def base_graph(graph: Graph, sizes: Sizes, taps: tuple[int, ...]) -> None:
    """A base model: tokens to logits, hidden states and the outputs of the layers ``taps`` (0-based, concatenated).

    ``logits_from`` ``int64 [1]`` is the first row whose logits are wanted: a prefill asks for its last row only.
    """
    decoder = Decoder(graph, sizes)
    tokens = graph.input("input_ids", [1, "n"], TensorProto.INT64)
    first = graph.input("logits_from", [1], TensorProto.INT64)
    decoder.shared_cache(sizes.num_hidden_layers)
    x = decoder.embed(tokens)
    normed = decoder.norm(x, "layers.0.input_layernorm")
    tapped = {}
    for i in range(sizes.num_hidden_layers):
        x, change = decoder.causal_layer(x, normed, f"layers.{i}", i)
        last = i + 1 == sizes.num_hidden_layers
        if last:
            normed, x = decoder.add_norm(x, change, "norm", "hidden")
        else:
            normed, x = decoder.add_norm(x, change, f"layers.{i + 1}.input_layernorm")
        if i in taps:
            tapped[i] = x
    hidden = sizes.hidden_size
    graph.output(normed, "hidden", [1, "n", hidden])
    if taps:
        joined = graph.op("Concat", *(tapped[i] for i in taps), axis=-1)
        graph.output(joined, "taps", [1, "n", len(taps) * hidden])
    rows = graph.op("Slice", normed, first, graph.integers(np.iinfo(np.int64).max), graph.integers(1))
    graph.output(decoder.logits(rows), "logits", [1, "rows", sizes.vocab_size])
