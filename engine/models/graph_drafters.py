"""The graphs of the two drafters that read a base's states: the MTP head and the DFlash block drafter."""

import numpy as np
from onnx import TensorProto

from engine.models.graph import CONTRIB, Graph
from engine.models.graph_decoder import KV_NAMES, Decoder, Sizes

_END = np.iinfo(np.int64).max


def mtp_graph(graph: Graph, sizes: Sizes) -> None:
    """One step of an MTP head in Qwen's form: from (token ``i + 1``, hidden ``i``) pairs to the token at ``i + 2``.

    Weights are ``mtp.*``, embedding and head those of the base. Gives ``logits`` and ``hidden_out`` of the last row
    only; the latter is what the next step of a chain takes as its hidden state.
    """
    decoder = Decoder(graph, sizes)
    tokens = graph.input("input_ids", [1, "n"], TensorProto.INT64)
    hidden = graph.input("hidden", [1, "n", sizes.hidden_size])
    decoder.shared_cache(1)
    embedded = decoder.norm(decoder.embed(tokens), "mtp.norm_embed")
    joined = graph.op("Concat", embedded, decoder.norm(hidden, "mtp.norm_hidden"), axis=-1)
    x = graph.linear(joined, "mtp.fc")
    x, change = decoder.causal_layer(x, decoder.norm(x, "mtp.layer.input_layernorm"), "mtp.layer", 0)
    normed, _ = decoder.add_norm(x, change, "mtp.norm")
    last = graph.op("Slice", normed, graph.integers(-1), graph.integers(_END), graph.integers(1))
    graph.output(last, "hidden_out", [1, 1, sizes.hidden_size])
    graph.output(decoder.logits(last), "logits", [1, 1, sizes.vocab_size])


def dflash_graph(graph: Graph, sizes: Sizes, layers: int, block_size: int, taps: int) -> None:
    """One pass of a DFlash drafter: a block of an anchor token and ``block_size - 1`` mask rows, denoised at once.

    The block sees itself whole and a context of earlier positions, which comes in as ``taps`` ``[1, S, taps * hidden]``
    of the positions that are new and as ``past_key_values.*`` ``[1, P, kv_heads, head_dim]`` of those before them.
    ``present.*`` ``[1, S, kv_heads, head_dim]`` are the new positions' keys and values alone; those of the block are
    not kept. The anchor stands at position ``P + S``; row ``i`` of the block, 1 and up, gives the token at ``P + S +
    i``. Weights are ``dflash.*``, embedding and head those of the base.
    """
    decoder = Decoder(graph, sizes)
    anchor = graph.input("input_ids", [1, 1], TensorProto.INT64)
    new_taps = graph.input("taps", [1, "S", taps * sizes.hidden_size])
    context = decoder.norm(graph.linear(new_taps, "dflash.fc"), "dflash.norm_context")
    mask = np.broadcast_to(graph.weights["dflash.mask"], (1, block_size - 1, sizes.hidden_size))
    x = graph.op("Concat", decoder.embed(anchor), graph.vector("dflash.mask_rows", mask), axis=1)
    shape: list[int | str] = [1, "P", sizes.num_key_value_heads, sizes.head_dim]
    for i in range(layers):
        for part in ("key", "value"):
            graph.input(KV_NAMES[0].format(i, part), shape)
    past = graph.op("Shape", KV_NAMES[0].format(0, "key"), start=1, end=2)
    new = graph.op("Shape", new_taps, start=1, end=2)
    block = _Block(decoder, context, past, new)
    normed = decoder.norm(x, "dflash.layers.0.input_layernorm")
    for i in range(layers):
        prefix = f"dflash.layers.{i}"
        out = block.attend(normed, i)
        normed, x = decoder.add_norm(x, out, f"{prefix}.post_attention_layernorm")
        change = decoder.mlp(normed, f"{prefix}.mlp")
        last = i + 1 == layers
        normed, x = decoder.add_norm(x, change, "dflash.norm" if last else f"dflash.layers.{i + 1}.input_layernorm")
    rows = graph.op("Slice", normed, graph.integers(1), graph.integers(_END), graph.integers(1))
    graph.output(decoder.logits(rows), "logits", [1, block_size - 1, sizes.vocab_size])


class _Block:
    """The attention of a block over its context and itself, without a causal mask."""

    def __init__(self, decoder: Decoder, context: str, past: str, new: str) -> None:
        self.decoder, self.graph, self.sizes = decoder, decoder.graph, decoder.sizes
        self.context = context
        self.past, self.new = past, new
        self.anchor = self.graph.op("Add", past, new)

    def attend(self, normed: str, layer: int) -> str:
        """The layer's attention output for the rows ``normed``; the context's new keys and values become outputs."""
        graph, sizes, decoder = self.graph, self.sizes, self.decoder
        prefix = f"dflash.layers.{layer}.self_attn"
        groups = sizes.num_attention_heads // sizes.num_key_value_heads
        q = decoder.head_norm(graph.linear(normed, f"{prefix}.q_proj"), f"{prefix}.q_norm")
        q = self._rotate(q, self.anchor)
        rows = graph.op("Concat", self.context, normed, axis=1)
        packed = graph.linear(rows, f"{prefix}.k_proj", f"{prefix}.v_proj")
        k, v = graph.ops("Split", [packed], 2, axis=-1, num_outputs=2)
        k = self._rotate(decoder.head_norm(k, f"{prefix}.k_norm"), self.past)
        keys, values = self._with_past(k, layer, "key"), self._with_past(v, layer, "value")
        # [1, B, heads, d] -> [1, kv_heads, groups * B, d]: the queries that share a key head lie side by side.
        q = graph.op("Reshape", q, graph.integers(0, 0, sizes.num_key_value_heads, groups, sizes.head_dim))
        q = graph.op("Transpose", q, perm=[0, 2, 3, 1, 4])
        q = graph.op("Reshape", q, graph.integers(0, 0, -1, sizes.head_dim))
        scale = graph.vector("rsqrt_head_dim", np.array(sizes.head_dim**-0.5, np.float32))
        scores = graph.op("MatMul", graph.op("Mul", q, scale), graph.op("Transpose", keys, perm=[0, 2, 3, 1]))
        mixed = graph.op("MatMul", graph.op("Softmax", scores), graph.op("Transpose", values, perm=[0, 2, 1, 3]))
        mixed = graph.op("Reshape", mixed, graph.integers(0, 0, groups, -1, sizes.head_dim))
        mixed = graph.op("Transpose", mixed, perm=[0, 3, 1, 2, 4])
        return graph.linear(graph.op("Reshape", mixed, graph.integers(0, 0, -1)), f"{prefix}.o_proj")

    def _rotate(self, x: str, offset: str) -> str:
        attributes = {"interleaved": int(self.sizes.rope_interleaved)}
        return self.graph.op("RotaryEmbedding", x, offset, *self.decoder.tables, domain=CONTRIB, **attributes)

    def _with_past(self, x: str, layer: int, part: str) -> str:
        """Past, new and block rows in one ``[1, P + S + B, kv_heads, head_dim]``; the new ones are given out."""
        graph, sizes = self.graph, self.sizes
        heads = graph.op("Reshape", x, graph.integers(0, 0, -1, sizes.head_dim))
        new = graph.op("Slice", heads, graph.integers(0), self.new, graph.integers(1))
        past, present = (name.format(layer, part) for name in KV_NAMES)
        graph.output(new, present, [1, "S", sizes.num_key_value_heads, sizes.head_dim])
        return graph.op("Concat", past, heads, axis=1)
