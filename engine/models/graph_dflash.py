"""The graphs of the block drafters that read a base's taps: DFlash and DFlash 2."""

import dataclasses

import numpy as np
from onnx import TensorProto

from engine.models.graph import CONTRIB, Graph
from engine.models.graph_decoder import KV_NAMES, Decoder, Sizes

_END = np.iinfo(np.int64).max


@dataclasses.dataclass(frozen=True)
class Block:
    """Sizes of a block drafter: its layers, the rows of its block (the anchor is one of them), the taps it reads."""

    layers: int
    rows: int
    taps: int


def dflash_graph(graph: Graph, sizes: Sizes, block: Block) -> None:
    """One pass of a DFlash drafter: a block of an anchor token and ``rows - 1`` mask rows, denoised at once.

    The block sees itself whole and a context of earlier positions, which comes in as ``taps`` ``[1, S, taps * hidden]``
    of the positions that are new and as ``past_key_values.*`` ``[1, P, kv_heads, head_dim]`` of those before them.
    ``present.*`` ``[1, S, kv_heads, head_dim]`` are the new positions' keys and values alone; those of the block are
    not kept. The anchor stands at position ``P + S``; row ``i`` of the block, 1 and up, gives the token at ``P + S +
    i``. Weights are ``dflash.*``, embedding and head those of the base.
    """
    _Denoiser(graph, sizes, block, "dflash").logits()


def dflash2_graph(graph: Graph, sizes: Sizes, block: Block, candidates: int) -> None:
    """DFlash 2: a dynamic convolution over the block around every sublayer, and a selector over the best tokens.

    Beside what ``dflash_graph`` gives, ``candidates`` ``int64 [1, rows - 1, K]`` are the best tokens of each row and
    ``scores`` ``[1, rows - 1, K, K]`` the score of each (last axis) after each of the row before (of row 0: after the
    anchor, the same K times). Weights are ``dflash2.*``.
    """
    denoiser = _Denoiser(graph, sizes, block, "dflash2")
    rows, logits = denoiser.logits()
    outputs = ["unary", "candidates"]
    best, tokens = graph.ops("TopK", [logits, graph.integers(candidates)], outputs, axis=-1, largest=1, sorted=1)
    first = graph.op("Expand", denoiser.anchor_token, graph.integers(1, 1, candidates))
    earlier = graph.op("Slice", tokens, graph.integers(0), graph.integers(-1), graph.integers(1))
    before = graph.op("Concat", first, earlier, axis=1)
    left = graph.op("Gather", graph.matrix("dflash2.predecessor_embed"), before)
    projected = graph.linear(rows, "dflash2.hidden_projection")
    left = graph.op("Mul", left, graph.op("Unsqueeze", projected, graph.integers(2)))
    right = graph.op("Gather", graph.matrix("dflash2.successor_embed"), tokens)
    pairs = graph.op("MatMul", left, graph.op("Transpose", right, perm=[0, 1, 3, 2]))
    scores = graph.op("Add", pairs, graph.op("Unsqueeze", best, graph.integers(2)))
    graph.output(tokens, "candidates", [1, block.rows - 1, candidates], TensorProto.INT64)
    graph.output(scores, "scores", [1, block.rows - 1, candidates, candidates])


class _Denoiser:
    """The layers of a block drafter. A block attends its context and itself, without a causal mask."""

    def __init__(self, graph: Graph, sizes: Sizes, block: Block, prefix: str) -> None:
        self.graph, self.sizes, self.block, self.prefix = graph, sizes, block, prefix
        self.decoder = Decoder(graph, sizes)
        self.anchor_token = graph.input("input_ids", [1, 1], TensorProto.INT64)
        taps = graph.input("taps", [1, "S", block.taps * sizes.hidden_size])
        shape: list[int | str] = [1, "P", sizes.num_key_value_heads, sizes.head_dim]
        for i in range(block.layers):
            for part in ("key", "value"):
                graph.input(KV_NAMES[0].format(i, part), shape)
        self.context = self.decoder.norm(graph.linear(taps, f"{prefix}.fc"), f"{prefix}.norm_context")
        self.past = graph.op("Shape", KV_NAMES[0].format(0, "key"), start=1, end=2)
        self.new = graph.op("Shape", taps, start=1, end=2)
        anchor = graph.op("Add", self.past, self.new)
        # Every row's position is given, though the first would do: OpenVINO turns all rows by one that stands alone.
        block_rows = graph.op("Add", anchor, graph.integers(*range(block.rows)))
        self.block_positions = graph.op("Unsqueeze", block_rows, graph.integers(0))
        ends = [graph.op("Add", anchor, graph.integers(block.rows)), self.past]
        last, first = (graph.op("Squeeze", end, graph.integers(0)) for end in ends)
        rows = graph.op("Range", first, last, graph.op("Squeeze", graph.integers(1), graph.integers(0)))
        self.row_positions = graph.op("Unsqueeze", rows, graph.integers(0))

    def logits(self) -> tuple[str, str]:
        """The whole pass: the final states of rows 1 and up, and their logits, which become an output."""
        graph, decoder, prefix, block = self.graph, self.decoder, self.prefix, self.block
        hidden = self.sizes.hidden_size
        mask = np.broadcast_to(graph.weights[f"{prefix}.mask"], (1, block.rows - 1, hidden))
        embedded = decoder.embed(self.anchor_token)
        x = graph.op("Concat", embedded, graph.vector(f"{prefix}.mask_rows", mask), axis=1)
        normed = decoder.norm(x, f"{prefix}.layers.0.input_layernorm")
        for i in range(block.layers):
            mix = _Mixer(self, f"{prefix}.attention_conv.{i}", normed)
            out = mix.after(self._attend(mix.before(normed), i))
            normed, x = decoder.add_norm(x, out, f"{prefix}.layers.{i}.post_attention_layernorm")
            mix = _Mixer(self, f"{prefix}.mlp_conv.{i}", normed)
            change = mix.after(decoder.mlp(mix.before(normed), f"{prefix}.layers.{i}.mlp"))
            following = "norm" if i + 1 == block.layers else f"layers.{i + 1}.input_layernorm"
            normed, x = decoder.add_norm(x, change, f"{prefix}.{following}")
        rows = graph.op("Slice", normed, graph.integers(1), graph.integers(_END), graph.integers(1))
        logits = decoder.logits(rows)
        graph.output(logits, "logits", [1, block.rows - 1, self.sizes.vocab_size])
        return rows, logits

    def _attend(self, normed: str, layer: int) -> str:
        """The layer's attention output for the rows ``normed``; the context's new keys and values become outputs."""
        graph, sizes, decoder = self.graph, self.sizes, self.decoder
        prefix = f"{self.prefix}.layers.{layer}.self_attn"
        groups = sizes.num_attention_heads // sizes.num_key_value_heads
        q = decoder.head_norm(graph.linear(normed, f"{prefix}.q_proj"), f"{prefix}.q_norm")
        q = self._rotate(q, self.block_positions)
        rows = graph.op("Concat", self.context, normed, axis=1)
        packed = graph.linear(rows, f"{prefix}.k_proj", f"{prefix}.v_proj")
        k, v = graph.ops("Split", [packed], 2, axis=-1, num_outputs=2)
        k = self._rotate(decoder.head_norm(k, f"{prefix}.k_norm"), self.row_positions)
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

    def _rotate(self, x: str, positions: str) -> str:
        """``positions`` ``[1, n]`` are those of the rows ``x`` ``[1, n, heads * head_dim]``."""
        attributes = {"interleaved": int(self.sizes.rope_interleaved)}
        return self.graph.op("RotaryEmbedding", x, positions, *self.decoder.tables, domain=CONTRIB, **attributes)

    def _with_past(self, x: str, layer: int, part: str) -> str:
        """Past, new and block rows in one ``[1, P + S + B, kv_heads, head_dim]``; the new ones are given out."""
        graph, sizes = self.graph, self.sizes
        heads = graph.op("Reshape", x, graph.integers(0, 0, -1, sizes.head_dim))
        new = graph.op("Slice", heads, graph.integers(0), self.new, graph.integers(1))
        past, present = (name.format(layer, part) for name in KV_NAMES)
        graph.output(new, present, [1, "S", sizes.num_key_value_heads, sizes.head_dim])
        return graph.op("Concat", past, heads, axis=1)


class _Mixer:
    """What DFlash 2 does to a sublayer's input and output; nothing, where the weights ``prefix`` are not there.

    ``C_s(u)[i, c] = sum_t (base[s, t, c] + delta[i, s, t, group(c)]) u[i - t, c]`` for s = before, after and t = 0, 1;
    rows before the block are zero, delta is a projection of the sublayer's normed input.
    """

    def __init__(self, denoiser: _Denoiser, prefix: str, normed: str) -> None:
        self.graph, self.rows, self.hidden = denoiser.graph, denoiser.block.rows, denoiser.sizes.hidden_size
        self.kernels: list[str] = []
        projection = f"{prefix}.kernel_projection"
        if f"{projection}.weight" not in self.graph.weights:
            return
        graph = self.graph
        self.groups = graph.weights[f"{projection}.weight"].shape[0] // 4
        base = graph.weights[f"{prefix}.base_kernel"].reshape(2, 2, self.groups, -1)
        deltas = graph.op("Reshape", graph.linear(normed, projection), graph.integers(1, -1, 2, 2, self.groups, 1))
        both = graph.op("Add", graph.vector(f"{prefix}.base_kernel.grouped", base), deltas)
        self.kernels = graph.ops("Split", [both], 2, axis=2, num_outputs=2)

    def before(self, x: str) -> str:
        return self._convolved(x, 0)

    def after(self, x: str) -> str:
        return self._convolved(x, 1)

    def _convolved(self, x: str, side: int) -> str:
        if not self.kernels:
            return x
        graph = self.graph
        nothing = graph.vector(f"zero_row_{self.hidden}", np.zeros((1, 1, self.hidden), np.float32))
        earlier = graph.op("Slice", x, graph.integers(0), graph.integers(-1), graph.integers(1))
        shifted = graph.op("Concat", nothing, earlier, axis=1)
        pair = graph.op("Concat", x, shifted, axis=-1)
        pair = graph.op("Reshape", pair, graph.integers(1, self.rows, 1, 2, self.groups, -1))
        weighted = graph.op("Mul", pair, self.kernels[side])
        total = graph.op("ReduceSum", weighted, graph.integers(3), keepdims=0)
        return graph.op("Reshape", total, graph.integers(1, self.rows, self.hidden))
