"""The graphs of the block drafters that read a base's taps: DFlash and DFlash 2."""

import dataclasses
from typing import NamedTuple

import numpy as np
from onnx import TensorProto

from engine.models.graph import CONTRIB, Graph
from engine.models.graph_decoder import KV_NAMES, Decoder, Sizes

_END = np.iinfo(np.int64).max


class Sight(NamedTuple):
    """What a layer's rows see: all of the block or those before them too, and of all that a ``window`` of positions."""

    causal: bool = False
    window: int | None = None


@dataclasses.dataclass(frozen=True)
class Block:
    """A block drafter: its layers, the rows of its block (the anchor is one of them), the taps it reads.

    ``candidates`` of each row are what DFlash 2 selects from. ``sights`` are those of the layers, if not all see all.
    Embeddings are multiplied by ``embedding_scale``, logits by ``logit_scale`` and then kept within ``logit_cap``:
    ``cap * tanh(logit / cap)``. ``tables`` is a name for its rotary tables, if they are not the base's.
    """

    layers: int
    rows: int
    taps: int
    candidates: int = 16
    sights: tuple[Sight, ...] = ()
    embedding_scale: float = 1.0
    logit_scale: float = 1.0
    logit_cap: float | None = None
    tables: str = "rope"


def dflash_graph(graph: Graph, sizes: Sizes, block: Block) -> None:
    """One pass of a DFlash drafter: a block of an anchor token and ``rows - 1`` mask rows, denoised at once.

    The block sees itself whole and a context of earlier positions, which comes in as ``taps`` ``[1, S, taps * hidden]``
    of the positions that are new and as ``past_key_values.*`` ``[1, P, kv_heads, head_dim]`` of those before them.
    ``present.*`` ``[1, S, kv_heads, head_dim]`` are the new positions' keys and values alone; those of the block are
    not kept. The anchor stands at position ``P + S``; row ``i`` of the block, 1 and up, gives the token at ``P + S +
    i``. Weights are ``dflash.*``, embedding and head those of the base.
    """
    _Denoiser(graph, sizes, block, "dflash").logits()


def dflash2_graph(graph: Graph, sizes: Sizes, block: Block) -> None:
    """DFlash 2: a dynamic convolution over the block around every sublayer, and a selector over the best tokens.

    Beside what ``dflash_graph`` gives, ``candidates`` ``int64 [1, rows - 1, K]`` are the best tokens of each row and
    ``scores`` ``[1, rows - 1, K, K]`` the score of each (last axis) after each of the row before (of row 0: after the
    anchor, the same K times). Weights are ``dflash2.*``.
    """
    denoiser, candidates = _Denoiser(graph, sizes, block, "dflash2"), block.candidates
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
        self.decoder = Decoder(graph, sizes, block.tables)
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
        embedded = self._times(decoder.embed(self.anchor_token), block.embedding_scale)
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
        logits = self._times(decoder.logits(rows), block.logit_scale)
        if block.logit_cap is not None:
            bent = graph.op("Tanh", self._times(logits, 1 / block.logit_cap))
            logits = self._times(bent, block.logit_cap)
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
        if self.block.sights:
            scores = self._seen(scores, self.block.sights[layer], groups)
        mixed = graph.op("MatMul", graph.op("Softmax", scores), graph.op("Transpose", values, perm=[0, 2, 1, 3]))
        mixed = graph.op("Reshape", mixed, graph.integers(0, 0, groups, -1, sizes.head_dim))
        mixed = graph.op("Transpose", mixed, perm=[0, 3, 1, 2, 4])
        return graph.linear(graph.op("Reshape", mixed, graph.integers(0, 0, -1)), f"{prefix}.o_proj")

    def _seen(self, scores: str, sight: Sight, groups: int) -> str:
        """``scores`` ``[1, kv_heads, groups * B, P + S + B]`` without those of keys that a row does not see."""
        graph = self.graph
        zero, one = (graph.op("Squeeze", graph.integers(n), graph.integers(0)) for n in (0, 1))
        end = graph.op("ReduceMax", self.block_positions, keepdims=0)
        keys = graph.op("Range", zero, graph.op("Add", end, one), one)
        ago = graph.op("Sub", graph.op("Unsqueeze", self.block_positions, graph.integers(2)), keys)
        unseen = []
        if sight.window is not None:
            unseen.append(graph.op("GreaterOrEqual", ago, graph.integers(sight.window)))
        if sight.causal:
            unseen.append(graph.op("Less", ago, graph.integers(0)))
        if not unseen:
            return scores
        hidden = unseen[0] if len(unseen) == 1 else graph.op("Or", *unseen)
        rows = graph.op("Unsqueeze", graph.op("Concat", *[hidden] * groups, axis=1), graph.integers(0))
        return graph.op("Where", rows, graph.vector("unseen", np.array(np.finfo(np.float32).min)), scores)

    def _times(self, x: str, factor: float) -> str:
        if factor == 1:
            return x
        return self.graph.op("Mul", x, self.graph.vector(f"{self.prefix}.times_{factor!r}", np.array(factor)))

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
