"""The networks once more in plain numpy and double precision, whole text at once, without any cache."""

import dataclasses
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from engine.models.graph import Weights
from engine.models.graph_decoder import Sizes
from engine.models.graph_dflash import Sight

Array = NDArray[np.float64]


@dataclasses.dataclass(frozen=True)
class Reference:
    """A base of these weights, and the drafters that share its embedding and head."""

    sizes: Sizes
    base: Weights

    def states(self, tokens: list[int], taps: tuple[int, ...]) -> tuple[Array, Array, Array]:
        """Logits ``[n, vocab]``, hidden ``[n, hidden]`` and taps ``[n, taps * hidden]``."""
        x = self.embed(tokens)
        positions = np.arange(len(tokens))
        tapped = {}
        for i in range(self.sizes.num_hidden_layers):
            x = self._layer(self.base, x, f"layers.{i}", positions)
            tapped[i] = x
        hidden = self._norm(x, self.base["norm.weight"])
        return self.head(hidden), hidden, np.concatenate([tapped[i] for i in taps], -1)

    def embed(self, tokens: list[int]) -> Array:
        return self.base["embed_tokens.weight"].astype(np.float64)[tokens]

    def head(self, hidden: Array) -> Array:
        return hidden @ self.base.get("lm_head.weight", self.base["embed_tokens.weight"]).T.astype(np.float64)

    def mtp_chain(self, mtp: Weights, tokens: list[int], hidden: Array, chained: list[int]) -> Array:
        """Logits of the chain over committed ``tokens`` plus ``t1`` at their end, feeding itself ``chained``."""
        rows, tokens = hidden, list(tokens)
        logits = []
        for token in [*chained, None]:
            embedded = self._norm(self.embed(tokens[1:]), mtp["norm_embed.weight"])
            pair = np.concatenate([embedded, self._norm(rows, mtp["norm_hidden.weight"])], -1)
            x = self._layer(mtp, pair @ mtp["fc.weight"].T, "layer", np.arange(len(pair)))
            out = self._norm(x, mtp["norm.weight"])[-1:]
            logits.append(self.head(out)[0])
            if token is not None:
                tokens.append(token)
                rows = np.concatenate([rows, out])
        return np.stack(logits)

    def dflash_rows(
        self, dflash: Weights, t1: int, taps: Array, block: int, sights: Sequence[Sight] = (), scale: float = 1.0
    ) -> Array:
        """Final states of a block's rows 1 and up, over a context of ``taps``; convolved where there are kernels.

        ``scale`` is that of the embedding of ``t1``.
        """
        context = self._norm(taps @ dflash["fc.weight"].T, dflash["norm_context.weight"])
        x = np.concatenate([scale * self.embed([t1]), np.tile(dflash["mask"], (block - 1, 1))])
        before, own = np.arange(len(taps)), len(taps) + np.arange(block)
        layers = 1 + max(int(name.split(".")[1]) for name in dflash if name.startswith("layers."))
        for i in range(layers):
            prefix = f"layers.{i}"
            normed = self._norm(x, dflash[f"{prefix}.input_layernorm.weight"])
            kernels = _kernels(dflash, f"attention_conv.{i}", normed)
            mixed = _convolved(normed, kernels, 0)
            rows, positions = np.concatenate([context, mixed]), np.concatenate([before, own])
            out = self._attend(dflash, prefix, mixed, own, rows, positions, sights[i] if sights else Sight())
            x = x + _convolved(out, kernels, 1)
            normed = self._norm(x, dflash[f"{prefix}.post_attention_layernorm.weight"])
            kernels = _kernels(dflash, f"mlp_conv.{i}", normed)
            x = x + _convolved(self._mlp(dflash, prefix, _convolved(normed, kernels, 0)), kernels, 1)
        return self._norm(x, dflash["norm.weight"])[1:]

    def selector_walk(self, dflash2: Weights, t1: int, rows: Array, top: int) -> tuple[list[int], Array]:
        """The greedy walk over each row's ``top`` best tokens, and its scores ``[rows, vocab]``, elsewhere -inf."""
        logits = self.head(rows)
        tokens, scores = [t1], np.full_like(logits, -np.inf)
        for t, row in enumerate(rows):
            best = np.argsort(-logits[t], kind="stable")[:top]
            left = dflash2["predecessor_embed"][tokens[-1]] * (dflash2["hidden_projection.weight"] @ row)
            scores[t, best] = logits[t, best] + dflash2["successor_embed"][best] @ left
            tokens.append(int(scores[t].argmax()))
        return tokens[1:], scores

    def _layer(self, weights: Weights, x: Array, prefix: str, positions: NDArray[np.int64]) -> Array:
        normed = self._norm(x, weights[f"{prefix}.input_layernorm.weight"])
        x = x + self._attend(weights, prefix, normed, positions, normed, positions, Sight(causal=True))
        return x + self._mlp(weights, prefix, self._norm(x, weights[f"{prefix}.post_attention_layernorm.weight"]))

    def _mlp(self, weights: Weights, prefix: str, normed: Array) -> Array:
        gate = normed @ weights[f"{prefix}.mlp.gate_proj.weight"].T
        up = normed @ weights[f"{prefix}.mlp.up_proj.weight"].T
        down: Array = (gate / (1 + np.exp(-gate)) * up) @ weights[f"{prefix}.mlp.down_proj.weight"].T
        return down

    def _attend(
        self,
        weights: Weights,
        prefix: str,
        queries: Array,
        query_positions: NDArray[np.int64],
        keys: Array,
        key_positions: NDArray[np.int64],
        sight: Sight,
    ) -> Array:
        sizes = self.sizes
        q = self._heads(weights, f"{prefix}.self_attn", "q", queries, query_positions)
        k = self._heads(weights, f"{prefix}.self_attn", "k", keys, key_positions)
        v = self._heads(weights, f"{prefix}.self_attn", "v", keys, None)
        groups = sizes.num_attention_heads // sizes.num_key_value_heads
        out = []
        for head in range(sizes.num_attention_heads):
            scores = q[:, head] @ k[:, head // groups].T / np.sqrt(sizes.head_dim)
            ago = query_positions[:, None] - key_positions
            unseen = sight.causal & (ago < 0) | (sight.window is not None and ago >= (sight.window or 0))
            scores = np.where(unseen, -np.inf, scores)
            probs = np.exp(scores - scores.max(-1, keepdims=True))
            out.append(probs / probs.sum(-1, keepdims=True) @ v[:, head // groups])
        attended: Array = np.concatenate(out, -1) @ weights[f"{prefix}.self_attn.o_proj.weight"].T
        return attended

    def _heads(self, weights: Weights, prefix: str, part: str, x: Array, positions: NDArray[np.int64] | None) -> Array:
        """Projected, normed and rotated: ``[n, heads, head_dim]``."""
        out = x @ weights[f"{prefix}.{part}_proj.weight"].T + weights.get(f"{prefix}.{part}_proj.bias", np.float32(0))
        out = out.reshape(len(x), -1, self.sizes.head_dim)
        if (scale := weights.get(f"{prefix}.{part}_norm.weight")) is not None:
            out = self._norm(out, scale)
        return out if positions is None else self._rotate(out, positions)

    def _rotate(self, x: Array, positions: NDArray[np.int64]) -> Array:
        half = self.sizes.head_dim // 2
        angles = positions[:, None] * self.sizes.rope_theta ** (-np.arange(half) / half)
        cos, sin = np.cos(angles)[:, None], np.sin(angles)[:, None]
        first, second = (
            (slice(0, None, 2), slice(1, None, 2))
            if self.sizes.rope_interleaved
            else (
                slice(0, half),
                slice(half, None),
            )
        )
        out = np.empty_like(x)
        out[..., first] = x[..., first] * cos - x[..., second] * sin
        out[..., second] = x[..., second] * cos + x[..., first] * sin
        return out

    def _norm(self, x: Array, scale: NDArray[np.float32]) -> Array:
        normed: Array = x / np.sqrt((x**2).mean(-1, keepdims=True) + self.sizes.rms_norm_eps) * scale
        return normed


def _kernels(weights: Weights, name: str, normed: Array) -> Array | None:
    """Convolution coefficients ``[rows, side, tap, hidden]`` of a sublayer of DFlash 2, ``None`` for DFlash."""
    if f"{name}.base_kernel" not in weights:
        return None
    deltas = normed @ weights[f"{name}.kernel_projection.weight"].T
    deltas = deltas.reshape(len(normed), 2, 2, -1)
    per_group = normed.shape[-1] // deltas.shape[-1]
    return np.asarray(weights[f"{name}.base_kernel"] + np.repeat(deltas, per_group, -1), np.float64)


def _convolved(rows: Array, kernels: Array | None, side: int) -> Array:
    if kernels is None:
        return rows
    before = np.concatenate([np.zeros_like(rows[:1]), rows[:-1]])
    return np.asarray(kernels[:, side, 0] * rows + kernels[:, side, 1] * before, np.float64)
