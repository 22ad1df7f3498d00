"""The drafters in torch, with a training pass each that sees exactly what inference will see."""

import dataclasses
from collections.abc import Callable

import torch
from torch import Tensor, nn

from engine.models.recipe.qwen3 import Layer, RMSNorm, Shape, rope_tables


def _merge(heads: Tensor) -> Tensor:
    return heads.transpose(1, 2).flatten(2)


class MTP(nn.Module):
    """One more decoder layer over pairs (token i + 1, base hidden i) that predicts token i + 2, chained on itself.

    Row i: ``fc [norm_embed(E[x_{i+1}]); norm_hidden(h_i)]``, the layer, the final norm. The normed output is both what
    the tied head reads and the next row's hidden state (the Qwen convention).
    """

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        h, eps = shape.hidden_size, shape.rms_norm_eps
        self.shape = shape
        self.norm_embed = RMSNorm(h, eps)
        self.norm_hidden = RMSNorm(h, eps)
        self.fc = nn.Linear(2 * h, h, bias=False)
        self.layer = Layer(shape)
        self.norm = RMSNorm(h, eps)
        _init(self)

    def unrolled(self, embeds: Tensor, hidden: Tensor, depth: int) -> list[Tensor]:
        """Outputs of ``depth`` chained steps for every anchor, ``[batch, n, hidden]`` each.

        ``embeds`` ``[batch, n + depth - 1, hidden]`` are the embeddings of tokens 1.. of the text, ``hidden``
        ``[batch, n, hidden]`` the base's. Step s of anchor a feeds token a + 1 + s with the output of step s - 1 and
        attends what it will find in the cache: the step-0 rows up to a, and the chained rows of the same anchor.
        """
        n = hidden.shape[1]
        attention = self.layer.self_attn
        groups = self.shape.num_attention_heads // self.shape.num_key_value_heads
        scale = self.shape.head_dim**-0.5
        seen = torch.ones(n, n, dtype=torch.bool).tril()
        outputs: list[Tensor] = []
        first: tuple[Tensor, Tensor] | None = None
        chained: list[tuple[Tensor, Tensor]] = []
        for step in range(depth):
            pair = torch.cat([self.norm_embed(embeds[:, step : step + n]), self.norm_hidden(hidden)], -1)
            x = self.fc(pair)
            normed = self.layer.input_layernorm(x)
            cos, sin = rope_tables(torch.arange(n) + step, self.shape)
            q = attention.query(normed, cos, sin)
            k, v = attention.key_value(normed, cos, sin)
            k, v = k.repeat_interleave(groups, 1), v.repeat_interleave(groups, 1)
            if first is None:
                first = (k, v)
            else:
                chained.append((k, v))
            q = (q * scale).to(v.dtype)
            scores = torch.where(seen, (q @ first[0].to(v.dtype).mT).float(), -1e9)
            own = [(q * key.to(v.dtype)).sum(-1, keepdim=True).float() for key, _ in chained]
            weights = torch.softmax(torch.cat([scores, *own], -1), -1).to(v.dtype)
            mixed = weights[..., :n] @ first[1]
            for i, (_, value) in enumerate(chained):
                mixed = mixed + weights[..., n + i : n + i + 1] * value
            x = x + attention.o_proj(_merge(mixed))
            x = x + self.layer.mlp(self.layer.post_attention_layernorm(x))
            hidden = self.norm(x)
            outputs.append(hidden)
        return outputs


class DFlash(nn.Module):
    """Block drafter: one bidirectional pass over ``[anchor, mask, mask, ...]`` that attends the base's taps.

    Row i of the block predicts the token at its own position; row 0, the anchor, predicts nothing. Context keys and
    values are made from the taps of positions before the anchor, by the same weights as the block's.
    """

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        shape = dataclasses.replace(shape, num_key_value_heads=shape.drafter_key_value_heads)
        h, eps = shape.hidden_size, shape.rms_norm_eps
        self.shape = shape
        self.fc = nn.Linear(len(shape.taps) * h, h, bias=False)
        self.norm_context = RMSNorm(h, eps)
        self.mask = nn.Parameter(torch.randn(h) * 0.02)
        self.layers = nn.ModuleList(Layer(shape) for _ in range(shape.drafter_layers))
        self.norm = RMSNorm(h, eps)
        _init(self)

    def blocks(self, taps: Tensor, anchor_embeds: Tensor, anchors: Tensor) -> Tensor:
        """Outputs ``[batch, anchors, block, hidden]`` for blocks that start at positions ``anchors`` ``[count]``.

        ``taps`` is ``[batch, n, taps * hidden]`` of the whole text, of which a block sees positions strictly before
        its anchor; ``anchor_embeds`` is ``[batch, anchors, hidden]``.
        """
        shape, size, count = self.shape, self.shape.block_size, len(anchors)
        batch, n = taps.shape[:2]
        groups = shape.num_attention_heads // shape.num_key_value_heads
        context = self.norm_context(self.fc(taps))
        masks = self.mask.expand(batch, count, size - 1, -1)
        x = torch.cat([anchor_embeds[:, :, None], masks], 2).flatten(1, 2)
        positions = (anchors[:, None] + torch.arange(size)).flatten()
        cos, sin = rope_tables(positions, shape)
        context_cos, context_sin = rope_tables(torch.arange(n), shape)
        seen = (torch.arange(n) < anchors[:, None]).repeat_interleave(size, 0)
        for i, layer in enumerate(self.layers):
            attention = layer.self_attn
            normed = layer.input_layernorm(x)
            mix = self.mixer(i, "attention", normed)
            normed = mix(normed, 0)
            q = attention.query(normed, cos, sin)
            keys, values = attention.key_value(context, context_cos, context_sin)
            own_keys, own_values = attention.key_value(normed, cos, sin)
            keys, values, own_keys, own_values = (
                t.repeat_interleave(groups, 1).to(own_values.dtype) for t in (keys, values, own_keys, own_values)
            )
            heads, d = q.shape[1], q.shape[3]
            q = (q * d**-0.5).to(own_values.dtype)
            scores = torch.where(seen, (q @ keys.mT).float(), -1e9)
            inside = q.view(batch, heads, count, size, d) @ own_keys.view(batch, heads, count, size, d).mT
            weights = torch.softmax(torch.cat([scores, inside.float().flatten(2, 3)], -1), -1).to(values.dtype)
            mixed = weights[..., :n] @ values
            blockwise = weights[..., n:].view(batch, heads, count, size, size)
            mixed = mixed + (blockwise @ own_values.view(batch, heads, count, size, d)).flatten(2, 3)
            x = x + mix(attention.o_proj(_merge(mixed)), 1)
            normed = layer.post_attention_layernorm(x)
            mix = self.mixer(i, "mlp", normed)
            x = x + mix(layer.mlp(mix(normed, 0)), 1)
        return self.norm(x).view(batch, count, size, -1)

    def mixer(self, layer: int, part: str, normed: Tensor) -> Callable[[Tensor, int], Tensor]:
        """What is done to a sublayer's input (0) and output (1): nothing here."""
        return lambda rows, _: rows


class BlockConv(nn.Module):
    """Grouped dynamic depthwise convolution over two block rows, before and after a sublayer (DFlash 2).

    ``C_s(u)[i, c] = sum_t (base[s, t, c] + delta[i, s, t, group(c)]) u[i - t, c]``, zero before the block, with delta
    a projection of the sublayer's normed input. It starts as the identity.
    """

    def __init__(self, hidden: int, group: int) -> None:
        super().__init__()
        self.groups = hidden // group
        base = torch.zeros(2, 2, hidden)
        base[:, 0] = 1.0
        self.base_kernel = nn.Parameter(base)
        self.kernel_projection = nn.Linear(hidden, 4 * self.groups, bias=False)

    def deltas(self, normed: Tensor) -> Tensor:
        """``[..., 2, 2, groups]`` from the sublayer's normed input ``[..., hidden]``."""
        return self.kernel_projection(normed).unflatten(-1, (2, 2, self.groups))

    def forward(self, rows: Tensor, deltas: Tensor, side: int, size: int) -> Tensor:
        """``rows`` ``[batch, blocks * size, hidden]``, each block on its own."""
        per = rows.shape[-1] // self.groups
        kernel = self.base_kernel[side] + deltas[:, :, side].repeat_interleave(per, -1)
        blocks = rows.unflatten(1, (-1, size))
        before = torch.cat([torch.zeros_like(blocks[:, :, :1]), blocks[:, :, :-1]], 2).flatten(1, 2)
        return kernel[:, :, 0] * rows + kernel[:, :, 1] * before


class DFlash2(DFlash):
    """DFlash with a dynamic convolution around every sublayer and a selector that walks the candidates.

    Score of candidate b after token a at row t: ``U_t(b) + (A[a] * W h_t) . B[b]``, over the 16 best of the row.
    """

    def __init__(self, shape: Shape) -> None:
        super().__init__(shape)
        h, rank = shape.hidden_size, shape.selector_rank
        self.attention_conv = nn.ModuleList(BlockConv(h, shape.conv_group) for _ in range(shape.drafter_layers))
        self.mlp_conv = nn.ModuleList(BlockConv(h, shape.conv_group) for _ in range(shape.drafter_layers))
        for conv in (*self.attention_conv, *self.mlp_conv):
            nn.init.zeros_(conv.kernel_projection.weight)
        self.predecessor_embed = nn.Parameter(torch.randn(shape.vocab_size, rank) * 0.02)
        self.successor_embed = nn.Parameter(torch.zeros(shape.vocab_size, rank))
        self.hidden_projection = nn.Linear(h, rank, bias=False)

    def mixer(self, layer: int, part: str, normed: Tensor) -> Callable[[Tensor, int], Tensor]:
        convs = self.attention_conv if part == "attention" else self.mlp_conv
        conv = convs[layer]
        deltas = conv.deltas(normed)
        return lambda rows, side: conv(rows, deltas, side, self.shape.block_size)

    def scores(self, hidden: Tensor, logits: Tensor, candidates: Tensor, previous: Tensor) -> Tensor:
        """Scores ``[..., 16]`` of ``candidates`` after the tokens ``previous`` ``[...]``."""
        left = self.predecessor_embed[previous] * self.hidden_projection(hidden)
        bilinear = (self.successor_embed[candidates] @ left[..., None])[..., 0]
        return logits.gather(-1, candidates) + bilinear


def _init(module: nn.Module) -> None:
    for name, weight in module.named_parameters():
        if weight.ndim == 2:
            nn.init.normal_(weight, std=0.5 / weight.shape[1] ** 0.5)
        if name.endswith(("o_proj.weight", "down_proj.weight")):
            nn.init.zeros_(weight)
