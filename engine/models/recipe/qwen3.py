"""The three networks in torch, in Qwen3's shapes and weight names, for training only."""

import dataclasses
import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn


@dataclasses.dataclass(frozen=True)
class Shape:
    """Sizes shared by the base and its drafters (names as in a Hugging Face ``config.json``)."""

    vocab_size: int = 2048
    hidden_size: int = 256
    intermediate_size: int = 512
    num_hidden_layers: int = 10
    num_attention_heads: int = 8
    num_key_value_heads: int = 2
    head_dim: int = 32
    rope_theta: float = 10000.0
    rms_norm_eps: float = 1e-6
    taps: tuple[int, ...] = (1, 5, 8)
    block_size: int = 8
    drafter_layers: int = 4
    drafter_key_value_heads: int = 8
    conv_group: int = 16
    selector_rank: int = 32
    selector_top: int = 16


class RMSNorm(nn.Module):
    def __init__(self, size: int, eps: float) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(size))
        self.eps = eps

    def forward(self, x: Tensor) -> Tensor:
        return F.rms_norm(x.float(), (x.shape[-1],), self.weight, self.eps)


def rope_tables(positions: Tensor, shape: Shape) -> tuple[Tensor, Tensor]:
    """Cosine and sine, each ``[..., head_dim]``, half-split convention."""
    inverse = shape.rope_theta ** (-torch.arange(0, shape.head_dim, 2).float() / shape.head_dim)
    angles = positions.float()[..., None] * inverse
    angles = torch.cat([angles, angles], -1)
    return angles.cos(), angles.sin()


def rotate(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """``x`` is ``[batch, heads, n, head_dim]``; the tables broadcast over heads."""
    half = x.shape[-1] // 2
    turned = torch.cat([-x[..., half:], x[..., :half]], -1)
    return x * cos + turned * sin


def _causal(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """Causal attention in four blocks of queries, each over the keys before its end only.

    torch's CPU flash kernel spends four times its forward time in the backward pass; this compiles to less.
    """
    batch, heads, n, d = q.shape
    kv_heads = k.shape[1]
    groups, size = heads // kv_heads, n // 4
    dtype = v.dtype
    q = (q * d**-0.5).to(dtype).view(batch, kv_heads, groups, n, d)
    k = k.to(dtype)
    blocks = []
    for i in range(4):
        end = (i + 1) * size
        rows = q[:, :, :, i * size : end].reshape(batch * kv_heads, groups * size, d)
        keys = k[:, :, :end].reshape(batch * kv_heads, end, d)
        values = v[:, :, :end].reshape(batch * kv_heads, end, d)
        scores = (rows @ keys.mT).view(batch * kv_heads, groups, size, end).float()
        seen = torch.ones(size, end, dtype=torch.bool).tril(i * size)
        weights = torch.softmax(torch.where(seen, scores, -1e9), -1).to(dtype)
        blocks.append(
            (weights.view(batch * kv_heads, groups * size, end) @ values).view(batch, kv_heads, groups, size, d)
        )
    return torch.cat(blocks, 3).view(batch, heads, n, d)


class Attention(nn.Module):
    def __init__(self, shape: Shape) -> None:
        super().__init__()
        h, d = shape.hidden_size, shape.head_dim
        self.shape = shape
        self.q_proj = nn.Linear(h, shape.num_attention_heads * d, bias=False)
        self.k_proj = nn.Linear(h, shape.num_key_value_heads * d, bias=False)
        self.v_proj = nn.Linear(h, shape.num_key_value_heads * d, bias=False)
        self.o_proj = nn.Linear(shape.num_attention_heads * d, h, bias=False)
        self.q_norm = RMSNorm(d, shape.rms_norm_eps)
        self.k_norm = RMSNorm(d, shape.rms_norm_eps)

    def heads(self, x: Tensor) -> Tensor:
        return x.view(*x.shape[:2], -1, self.shape.head_dim)

    def query(self, x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
        return rotate(self.q_norm(self.heads(self.q_proj(x))).transpose(1, 2), cos, sin)

    def key_value(self, x: Tensor, cos: Tensor, sin: Tensor) -> tuple[Tensor, Tensor]:
        keys = rotate(self.k_norm(self.heads(self.k_proj(x))).transpose(1, 2), cos, sin)
        return keys, self.heads(self.v_proj(x)).transpose(1, 2)

    def attend(self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, causal: bool) -> Tensor:
        if causal and q.shape[2] % 128 == 0:
            return self.o_proj(_causal(q, k, v).transpose(1, 2).flatten(2))
        groups = q.shape[1] // k.shape[1]
        dtype = v.dtype
        k, v = k.repeat_interleave(groups, 1).to(dtype), v.repeat_interleave(groups, 1)
        out = F.scaled_dot_product_attention(q.to(dtype), k, v, attn_mask=mask, is_causal=causal)
        return self.o_proj(out.transpose(1, 2).flatten(2))


class MLP(nn.Module):
    def __init__(self, shape: Shape) -> None:
        super().__init__()
        h, f = shape.hidden_size, shape.intermediate_size
        self.gate_proj = nn.Linear(h, f, bias=False)
        self.up_proj = nn.Linear(h, f, bias=False)
        self.down_proj = nn.Linear(f, h, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        return self.down_proj(F.silu(self.gate_proj(x)) * self.up_proj(x))


class Layer(nn.Module):
    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.self_attn = Attention(shape)
        self.mlp = MLP(shape)
        self.input_layernorm = RMSNorm(shape.hidden_size, shape.rms_norm_eps)
        self.post_attention_layernorm = RMSNorm(shape.hidden_size, shape.rms_norm_eps)

    def forward(
        self, x: Tensor, cos: Tensor, sin: Tensor, mask: Tensor | None = None, past: list[Tensor] | None = None
    ) -> Tensor:
        n = self.input_layernorm(x)
        q = self.self_attn.query(n, cos, sin)
        k, v = self.self_attn.key_value(n, cos, sin)
        if past is not None:
            if past:
                k, v = torch.cat([past[0], k], 2), torch.cat([past[1], v], 2)
            past[:] = [k, v]
        causal = mask is None and q.shape[2] == k.shape[2]
        x = x + self.self_attn.attend(q, k, v, mask, causal)
        return x + self.mlp(self.post_attention_layernorm(x))


class Base(nn.Module):
    """The target model: Qwen3 with tied embedding."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.shape = shape
        self.embed_tokens = nn.Embedding(shape.vocab_size, shape.hidden_size)
        self.layers = nn.ModuleList(Layer(shape) for _ in range(shape.num_hidden_layers))
        self.norm = RMSNorm(shape.hidden_size, shape.rms_norm_eps)
        for name, weight in self.named_parameters():
            if weight.ndim == 2:
                scale = 0.02 if "embed" in name else 0.5 / math.sqrt(weight.shape[1])
                nn.init.normal_(weight, std=scale)
            if name.endswith(("o_proj.weight", "down_proj.weight")):
                nn.init.zeros_(weight)

    def hidden(self, tokens: Tensor) -> Tensor:
        """Hidden states after the final norm, ``[batch, n, hidden]``."""
        cos, sin = rope_tables(torch.arange(tokens.shape[1]), self.shape)
        x = self.embed_tokens(tokens)
        for layer in self.layers:
            x = layer(x, cos, sin)
        return self.norm(x)

    def hidden_and_taps(
        self, tokens: Tensor, start: int = 0, past: list[list[Tensor]] | None = None
    ) -> tuple[Tensor, Tensor]:
        """The same with the taps ``[batch, n, taps * hidden]``, optionally over a cache that is extended in place."""
        cos, sin = rope_tables(torch.arange(start, start + tokens.shape[1]), self.shape)
        x = self.embed_tokens(tokens)
        taps = []
        for i, layer in enumerate(self.layers):
            x = layer(x, cos, sin, past=None if past is None else past[i])
            if i in self.shape.taps:
                taps.append(x)
        return self.norm(x), torch.cat(taps, -1)

    def logits(self, hidden: Tensor) -> Tensor:
        return F.linear(hidden, self.embed_tokens.weight)

    def loss(self, tokens: Tensor) -> Tensor:
        """Mean next-token cross-entropy in nats of ``tokens`` ``[batch, n + 1]``."""
        logits = self.logits(self.hidden(tokens[:, :-1])).float()
        return F.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten())
