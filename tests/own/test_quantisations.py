"""Files of every quantisation that the gguf package can take apart, and of the mixtures that people have."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from gguf import GGMLQuantizationType
from gguf.quants import _type_traits, dequantize

from engine.errors import ModelError
from engine.models.bundled import load_base, open_bundle
from engine.models.own.build import Choices, Plan
from tests.models.reference import Reference
from tests.own.blocks import READ, random_blocks, unpacked
from tests.own.tiny_gguf import LAYERS, WIDE, WORDS, Tiny, write

Type = GGMLQuantizationType
TOKENS = [int(token) for token in np.random.default_rng(1).integers(0, len(WORDS), 12)]
PACKED = [type_ for type_ in _type_traits if type_ is not Type.BF16]


def check(folder: Path, tiny: Tiny) -> None:
    """Build it, and compare its rows with the network of the unpacked weights in double precision."""
    folder.mkdir(exist_ok=True)
    weights = write(folder / "model.gguf", tiny)
    Plan(folder / "model.gguf", Choices("tiny", taps=(1,))).write(folder / "model")
    wanted, _, taps = Reference(tiny.sizes, weights).states(TOKENS, (1,))
    base = load_base(open_bundle(folder / "model"))
    rows = base.verify(TOKENS)
    scale = float(np.abs(wanted).max())
    np.testing.assert_allclose(rows.logits, wanted, rtol=0, atol=1e-4 * scale)
    tapped = base.features(0, len(TOKENS)).taps
    assert tapped is not None
    np.testing.assert_allclose(tapped, taps, rtol=0, atol=1e-4 * float(np.abs(taps).max()))
    assert scale > 0.5
    assert np.ptp(wanted, axis=0).max() > 0.1 * scale


@pytest.mark.parametrize("type_", READ, ids=lambda type_: type_.name)
def test_the_gguf_package_unpacks_what_the_format_says(type_: GGMLQuantizationType) -> None:
    rows = random_blocks(type_, 6, 512, np.random.default_rng(3))
    np.testing.assert_allclose(dequantize(rows, type_), unpacked(type_, rows), rtol=1e-6)


@pytest.mark.parametrize("type_", [Type.F16, Type.BF16, *PACKED], ids=lambda type_: type_.name)
def test_a_file_of_one_type_computes_the_network_in_it(tmp_path: Path, type_: GGMLQuantizationType) -> None:
    check(tmp_path, Tiny(shape=WIDE, blocks=lambda _: type_))


def more_bits(layer: int) -> bool:
    """Layers that mixtures give more bits to: some at both ends and between."""
    return layer in (0, LAYERS - 1)


def q4_k_m(name: str) -> GGMLQuantizationType:
    if name in ("token_embd.weight", "output.weight"):
        return Type.Q6_K
    _, layer, part, _ = name.split(".")
    return Type.Q6_K if part in ("attn_v", "ffn_down") and more_bits(int(layer)) else Type.Q4_K


def q5_k_m(name: str) -> GGMLQuantizationType:
    return Type.Q5_K if q4_k_m(name) is Type.Q4_K else Type.Q6_K


def q3_k_m(name: str) -> GGMLQuantizationType:
    if name == "output.weight":
        return Type.Q6_K
    part = name.split(".")[-2]
    return {"attn_v": Type.Q5_K, "attn_output": Type.Q4_K, "ffn_down": Type.Q4_K}.get(part, Type.Q3_K)


def q2_k(name: str) -> GGMLQuantizationType:
    if name == "output.weight":
        return Type.Q6_K
    return {"attn_v": Type.Q4_K, "ffn_down": Type.Q3_K}.get(name.split(".")[-2], Type.Q2_K)


def iq4_xs(name: str) -> GGMLQuantizationType:
    return {"output": Type.Q6_K, "attn_v": Type.Q5_K, "token_embd": Type.IQ4_NL}.get(name.split(".")[-2], Type.IQ4_XS)


def q8_0_with_halves(name: str) -> GGMLQuantizationType:
    return {"token_embd": Type.F16, "attn_k": Type.BF16, "attn_v": Type.F32}.get(name.split(".")[-2], Type.Q8_0)


@pytest.mark.parametrize("tied", [True, False], ids=["tied", "untied"])
@pytest.mark.parametrize("arch", ["llama", "qwen2", "qwen3"])
def test_the_usual_mixture_computes_each_architecture(tmp_path: Path, arch: str, tied: bool) -> None:
    check(tmp_path, Tiny(arch, tied=tied, shape=WIDE, blocks=q4_k_m))


@pytest.mark.parametrize("mixture", [q5_k_m, q3_k_m, q2_k, iq4_xs, q8_0_with_halves], ids=lambda each: each.__name__)
def test_other_mixtures_are_built_too(tmp_path: Path, mixture: Callable[[str], GGMLQuantizationType]) -> None:
    check(tmp_path, Tiny("llama", tied=False, shape=WIDE, blocks=mixture))


def test_a_mixture_says_what_it_is_made_of(tmp_path: Path) -> None:
    write(tmp_path / "model.gguf", Tiny(shape=WIDE, blocks=q4_k_m))
    manifest = Plan(tmp_path / "model.gguf", Choices("tiny")).write(tmp_path / "model")
    assert manifest.source["tensors"] == {"Q4_K": 17, "F32": 7, "Q6_K": 5}


@pytest.mark.parametrize("type_", [Type.Q8_1, Type.Q8_K], ids=lambda type_: type_.name)
def test_a_type_that_cannot_be_unpacked_is_named_with_its_tensor(tmp_path: Path, type_: GGMLQuantizationType) -> None:
    def blocks(name: str) -> GGMLQuantizationType:
        return type_ if name == "blk.1.ffn_up.weight" else Type.Q4_K

    path = tmp_path / "model.gguf"
    write(path, Tiny(shape=WIDE, blocks=blocks))
    with pytest.raises(
        ModelError, match=rf"tensor blk.1.ffn_up.weight is of type {type_.name}, which the gguf package"
    ):
        Plan(path, Choices("tiny"))
