"""What model a GGUF file holds: its sizes, its rotation and its tensors, checked before anything is built."""

import dataclasses
from collections.abc import Callable, Mapping

from engine.errors import ModelError
from engine.models.graph_decoder import Sizes
from engine.models.own.container import GgufFile
from engine.models.own.rope import rope_of
from engine.models.own.tensors import ARCHITECTURES, GgufWeights, check, wanted
from engine.models.own.wanted import Wanted

_UNLIKE = (
    "expert_count",
    "attention.scale",
    "attention.clamp_kqv",
    "attention.max_alibi_bias",
    "embedding_scale",
    "residual_scale",
    "logit_scale",
)
"""Metadata that stands for arithmetic which the graph builder does not have."""


@dataclasses.dataclass(frozen=True)
class Network:
    """A model that can be built. ``allowed`` is how many positions it was made for, ``context`` for how many it is."""

    file: GgufFile
    architecture: str
    sizes: Sizes
    tensors: Mapping[str, Wanted]
    context: int
    allowed: int

    def weights(self, read: Callable[[str], None]) -> GgufWeights:
        """The tensors by the builder's names; ``read`` is told of each when it is read for the first time."""
        heads = {"q_proj": self.sizes.num_attention_heads, "k_proj": self.sizes.num_key_value_heads}
        permuted = heads if ARCHITECTURES[self.architecture].permuted else {}
        return GgufWeights(self.file, self.tensors, permuted, read)


def network_of(file: GgufFile, context: int | None = None, usual: int = 4096) -> Network:
    """Read what the file holds. The model gets room for ``context`` positions, by default for ``usual`` or fewer.

    Raises:
        ModelError: an architecture, a feature, or a set of tensors that cannot be built.
    """
    arch = file.need("general.architecture", str)
    if arch not in ARCHITECTURES:
        known = ", ".join(ARCHITECTURES)
        raise ModelError(f"{file.path}: its architecture is {arch!r}; those that can be built are {known}")
    for name in _UNLIKE:
        if file.get(f"{arch}.{name}", float, 0.0):
            raise ModelError(f"{file.path}: {arch}.{name} is set, and that arithmetic is not supported")
    if not file.get(f"{arch}.attention.causal", bool, True):
        raise ModelError(f"{file.path}: its rows see those behind them, so that it writes no text")
    allowed = file.need(f"{arch}.context_length", int)
    if allowed < 1:
        raise ModelError(f"{file.path}: {arch}.context_length is {allowed}, in which no text fits")
    window = file.get(f"{arch}.attention.sliding_window", int, 0)
    if window:
        # Within the window, attention that slides is attention to everything.
        allowed = min(allowed, window)
    if context is not None and not 1 <= context <= allowed:
        raise ModelError(f"{file.path}: a context of {context} positions was asked for, the model has 1 to {allowed}")
    context = context or min(usual, allowed)
    sizes = _sizes(file, arch, context)
    tensors = wanted(file, arch, sizes, file.need(f"{arch}.feed_forward_length", int))
    check(file, arch, tensors)
    return Network(file, arch, sizes, tensors, context, allowed)


def _sizes(file: GgufFile, arch: str, context: int) -> Sizes:
    hidden = file.need(f"{arch}.embedding_length", int)
    heads = file.need(f"{arch}.attention.head_count", int)
    key_value_heads = file.get(f"{arch}.attention.head_count_kv", int, heads)
    layers = file.need(f"{arch}.block_count", int)
    if min(hidden, heads, key_value_heads, layers) < 1 or heads % key_value_heads or layers > len(file.tensors):
        raise ModelError(
            f"{file.path}: {layers} layers of {hidden} with {heads} heads over {key_value_heads} key-value heads, in "
            f"{len(file.tensors)} tensors, cannot be"
        )
    head_dim = file.get(f"{arch}.attention.key_length", int, hidden // heads)
    rotated = file.get(f"{arch}.rope.dimension_count", int, head_dim)
    values = file.get(f"{arch}.attention.value_length", int, head_dim)
    if (rotated, values) != (head_dim, head_dim) or head_dim < 2 or head_dim % 2:
        raise ModelError(
            f"{file.path}: its heads are of {head_dim}, {rotated} of it rotated, with values of {values}; what can be "
            "built are heads of an even size, rotated whole, with values of the same size"
        )
    if "token_embd.weight" not in file.tensors:
        raise ModelError(f"{file.path}: it lacks token_embd.weight, which a {arch} model has")
    rope = rope_of(file, arch, head_dim)
    epsilon = file.need(f"{arch}.attention.layer_norm_rms_epsilon", float)
    if not 0 <= epsilon < 1:
        raise ModelError(f"{file.path}: {arch}.attention.layer_norm_rms_epsilon is {epsilon:g}, which norms nothing")
    return Sizes(
        vocab_size=file.shape("token_embd.weight")[0],
        hidden_size=hidden,
        num_hidden_layers=layers,
        num_attention_heads=heads,
        num_key_value_heads=key_value_heads,
        head_dim=head_dim,
        # One more than the context: the padding row of the last plain step stands there.
        rope_positions=context + 1,
        rope_theta=rope.theta,
        rope_frequencies=rope.frequencies,
        rope_scale=rope.scale,
        rms_norm_eps=epsilon,
    )
