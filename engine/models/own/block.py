"""A DFlash or DFlash 2 drafter as its authors publish it: what a folder holds, checked against the base it is for.

Names and settings are those of z-lab/dflash (``DFlashDraftModel``) and, for DFlash 2, of the checkpoints that
onnxruntime-genai 0.18 exports (``DFlash2DraftModel``). Neither has an embedding or a head: both are the base's.
"""

from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.errors import ModelError
from engine.models.graph import Weights
from engine.models.graph_decoder import Sizes
from engine.models.graph_dflash import Block, Sight
from engine.models.own.checkpoint import FLOATS, Checkpoint, NamedTensors, Settings
from engine.models.own.wanted import Wanted, check_tensors

DFLASH, DFLASH2 = "dflash", "dflash2"
_ARCHITECTURES = {"DFlashDraftModel": DFLASH, "DFlash2DraftModel": DFLASH2}
_CONFIG, _SLIDING = "dflash_config", "sliding_attention"
_JOINED = 2
"""Rows of the block that a convolution of DFlash 2 joins."""
_TABLES = "drafter_rope"


class _Selector(NamedTuple):
    """Sizes of what DFlash 2 has beside DFlash."""

    candidates: int
    rank: int
    groups: int


class BlockDrafter:
    """What is in a folder, for a base of ``base`` sizes that has room for ``context`` positions.

    ``taps`` are the layers of the base that it reads, ``block`` and ``sizes`` what its graph is built of.

    Raises:
        ModelError: it is none, is damaged, needs arithmetic that is not here, or was made for another base.
    """

    def __init__(self, folder: Path, base: Sizes, context: int) -> None:
        self.checkpoint = Checkpoint(folder)
        self._folder = folder
        settings, own = self.checkpoint.settings, self.checkpoint.settings.within(_CONFIG)
        self.kind = self._kind_of(settings)
        self.taps = self._taps_of(settings, own, base)
        rows = own.get("block_size", int, 0) or settings.need("block_size", int)
        self._mask_token = own.need("mask_token_id", int)
        if rows < 2 or not 0 <= self._mask_token < base.vocab_size:
            raise ModelError(f"{folder}: a block of {rows} rows with the mask token {self._mask_token} cannot be")
        # The block may reach past the end of the context.
        self.sizes = self._sizes_of(settings, base, context + rows)
        self._inner = settings.need("intermediate_size", int)
        selector = self._selector_of(own) if self.kind == DFLASH2 else None
        self.block = Block(
            layers=self.sizes.num_hidden_layers,
            rows=rows,
            taps=len(self.taps),
            candidates=selector.candidates if selector else 0,
            sights=self._sights_of(settings, own),
            embedding_scale=own.get("input_embedding_scale", float, 1.0),
            logit_scale=own.get("output_multiplier", float, 1.0),
            logit_cap=own.get("final_logit_softcapping", float, 0.0) or None,
            tables=_TABLES,
        )
        self._names = self._checked(self._parts(selector))

    @property
    def numbers(self) -> int:
        """How many there are in its tensors."""
        return sum(int(np.prod(shape)) for shape in self.checkpoint.shapes.values())

    def weights(self, embedding: NDArray[np.float32]) -> Weights:
        """Its tensors by the names of the graph builder; ``embedding`` ``[vocab, hidden]`` is the base's."""
        mask = embedding[self._mask_token] * np.float32(self.block.embedding_scale)
        return NamedTensors(self.checkpoint, self._names, {"mask": mask})

    def _kind_of(self, settings: Settings) -> str:
        names = settings.get("architectures", list, [])
        for name in names:
            if name in _ARCHITECTURES:
                return _ARCHITECTURES[name]
        told = ", ".join(map(str, names)) or "not told"
        raise ModelError(
            f"{self._folder}: its architecture is {told}; drafters that can be built are {', '.join(_ARCHITECTURES)}"
        )

    def _taps_of(self, settings: Settings, own: Settings, base: Sizes) -> tuple[int, ...]:
        """The layers that it reads; by the rule of its authors where it does not say."""
        layers = base.num_hidden_layers
        made_for = settings.get("num_target_layers", int, layers)
        if made_for != layers:
            raise ModelError(f"{self._folder}: it was made for a base of {made_for} layers, this one has {layers}")
        taps = own.get("target_layer_ids", list, [])
        if not taps:
            count = settings.need("num_hidden_layers", int)
            taps = [layers // 2]
            if count > 1:
                taps = [round(1 + i * (layers - 4) / (count - 1)) for i in range(count)]
        if any(not isinstance(tap, int) or not 0 <= tap < layers - 1 for tap in taps) or sorted(set(taps)) != taps:
            raise ModelError(
                f"{self._folder}: it reads the layers {taps}: they have to be ascending, from 0 to {layers - 2} (what "
                "the last one gives is not the same everywhere: before the final norm, or after it)"
            )
        return tuple(taps)

    def _sizes_of(self, settings: Settings, base: Sizes, positions: int) -> Sizes:
        for key, size in (("hidden_size", base.hidden_size), ("vocab_size", base.vocab_size)):
            own = settings.need(key, int)
            if own != size:
                raise ModelError(f"{self._folder}: its {key} is {own}, the base's {size}: it was made for another base")
        if (activation := settings.get("hidden_act", str, "silu")) != "silu":
            raise ModelError(f"{self._folder}: its MLPs are made with {activation!r}, which is not supported")
        rope = settings.within("rope_parameters")
        scaling = rope if "rope_theta" in rope else settings.within("rope_scaling")
        kind = scaling.get("rope_type", str, scaling.get("type", str, "default"))
        part = min(rope.get("partial_rotary_factor", float, 1.0), settings.get("partial_rotary_factor", float, 1.0))
        if kind != "default" or part != 1:
            raise ModelError(f"{self._folder}: its rotation is {kind!r} over {part:g} of a head: not supported")
        heads, kv_heads = settings.need("num_attention_heads", int), settings.need("num_key_value_heads", int)
        layers = settings.need("num_hidden_layers", int)
        if min(heads, kv_heads, layers) < 1 or heads % kv_heads:
            raise ModelError(f"{self._folder}: {layers} layers of {heads} heads over {kv_heads} cannot be")
        head_dim = settings.get("head_dim", int, base.hidden_size // heads)
        if head_dim < 2 or head_dim % 2:
            raise ModelError(f"{self._folder}: heads of {head_dim} cannot be rotated")
        return Sizes(
            vocab_size=base.vocab_size,
            hidden_size=base.hidden_size,
            num_hidden_layers=layers,
            num_attention_heads=heads,
            num_key_value_heads=kv_heads,
            head_dim=head_dim,
            rope_positions=positions,
            rope_theta=rope.need("rope_theta", float) if "rope_theta" in rope else settings.need("rope_theta", float),
            rms_norm_eps=settings.need("rms_norm_eps", float),
        )

    def _sights_of(self, settings: Settings, own: Settings) -> tuple[Sight, ...]:
        """What its layers see. Where it is not said, layers with a window are causal within the block, others not."""
        layers = self.sizes.num_hidden_layers
        types = settings.get("layer_types", list, [])
        if types and len(types) != layers:
            raise ModelError(f"{self._folder}: it names {len(types)} types of layers for {layers} layers")
        if unknown := set(types) - {_SLIDING, "full_attention"}:
            raise ModelError(f"{self._folder}: layers of {', '.join(sorted(map(str, unknown)))} are not supported")
        sights = []
        for type_ in types or ["full_attention"] * layers:
            slides = type_ == _SLIDING
            causal = settings.get("is_causal", bool, own.get("causal", bool, slides))
            window = settings.need("sliding_window", int) if slides else None
            if window is not None and window < 1:
                raise ModelError(f"{self._folder}: a window of {window} positions cannot be")
            sights.append(Sight(causal, window))
        return tuple(sights) if any(sight != Sight() for sight in sights) else ()

    def _selector_of(self, own: Settings) -> _Selector:
        rows, group = own.need("conv_kernel_size", int), own.need("conv_group_size", int)
        if rows != _JOINED or group < 1 or self.sizes.hidden_size % group:
            raise ModelError(
                f"{self._folder}: convolutions over {rows} rows in groups of {group} are not supported: they have to "
                f"be over {_JOINED}, in groups that {self.sizes.hidden_size} is a multiple of"
            )
        candidates, rank = own.need("selector_top_k", int), own.need("selector_rank", int)
        if not 1 <= candidates <= self.sizes.vocab_size or rank < 1:
            raise ModelError(f"{self._folder}: a selector of rank {rank} among {candidates} tokens cannot be")
        return _Selector(candidates, rank, self.sizes.hidden_size // group)

    def _parts(self, selector: _Selector | None) -> dict[str, Wanted]:
        """All tensors that it can have, by the names of the graph builder."""
        sizes, hidden = self.sizes, self.sizes.hidden_size
        query, key = sizes.num_attention_heads * sizes.head_dim, sizes.num_key_value_heads * sizes.head_dim
        shapes = {
            "self_attn.q_proj": (query, hidden),
            "self_attn.k_proj": (key, hidden),
            "self_attn.v_proj": (key, hidden),
            "self_attn.o_proj": (hidden, query),
            "self_attn.q_norm": (sizes.head_dim,),
            "self_attn.k_norm": (sizes.head_dim,),
            "mlp.gate_proj": (self._inner, hidden),
            "mlp.up_proj": (self._inner, hidden),
            "mlp.down_proj": (hidden, self._inner),
            "input_layernorm": (hidden,),
            "post_attention_layernorm": (hidden,),
        }
        parts = {
            "fc.weight": Wanted("fc.weight", (hidden, len(self.taps) * hidden)),
            "norm_context.weight": Wanted("hidden_norm.weight", (hidden,)),
            "norm.weight": Wanted("norm.weight", (hidden,)),
        }
        for i in range(sizes.num_hidden_layers):
            parts |= {
                f"layers.{i}.{to}.weight": Wanted(f"layers.{i}.{to}.weight", shape) for to, shape in shapes.items()
            }
            biases = {to: shape[:1] for to, shape in shapes.items() if to.startswith("self_attn") and len(shape) == 2}
            told = any(f"layers.{i}.{to}.bias" in self.checkpoint.shapes for to in biases)
            if told:
                parts |= {f"layers.{i}.{to}.bias": Wanted(f"layers.{i}.{to}.bias", s) for to, s in biases.items()}
            for conv in ("attention_conv", "mlp_conv") if selector else ():
                to, name = f"{conv}.{i}", f"layers.{i}.{conv}"
                parts[f"{to}.base_kernel"] = Wanted(f"{name}.base_kernel", (2, _JOINED, hidden))
                projection = (2 * _JOINED * selector.groups, hidden) if selector else ()
                parts[f"{to}.kernel_projection.weight"] = Wanted(f"{name}.kernel_projection.weight", projection)
        if selector:
            for side in ("predecessor", "successor"):
                shape = (sizes.vocab_size, selector.rank)
                parts[f"{side}_embed"] = Wanted(f"candidate_selector.{side}_codebook", shape)
            name = "hidden_projection.weight"
            parts[name] = Wanted(f"candidate_selector.{name}", (selector.rank, hidden))
        return parts

    def _checked(self, parts: dict[str, Wanted]) -> dict[str, str]:
        """The names in the checkpoint by those of the builder, when all are there, of their shapes, and no other."""
        check_tensors(self._folder, f"{self.kind} drafter", parts.values(), self.checkpoint.shapes)
        for part in parts.values():
            if (type_ := self.checkpoint.types[part.name]) not in FLOATS:
                raise ModelError(f"{self._folder}: tensor {part.name} is {type_}: take the checkpoint in bfloat16")
        return {to: part.name for to, part in parts.items()}
