"""What is built of a GGUF file computes the network in it: compared with numpy, whatever the type of its tensors."""

import math
from pathlib import Path

import numpy as np
import pytest
from gguf import GGMLQuantizationType
from numpy.typing import NDArray

from engine.models.bundled import load_base, open_bundle
from engine.models.own.build import Choices, Plan, usual_taps
from engine.models.weights import Storage
from tests.models.reference import Reference
from tests.models.tiny import assert_close
from tests.own.tiny_gguf import CONTEXT, HEAD, LAYERS, WORDS, Tiny, write

Type = GGMLQuantizationType
TOKENS = [int(token) for token in np.random.default_rng(1).integers(0, len(WORDS), 20)]
TAPS = (0, 2)


def built(path: Path, tiny: Tiny, **choices: object) -> tuple[Path, dict[str, NDArray[np.float32]]]:
    """The folder of a model built of a file, and the weights of the file."""
    weights = write(path / "model.gguf", tiny)
    folder = path / "model"
    Plan(path / "model.gguf", Choices("tiny", **{"taps": TAPS, **choices})).write(folder)  # type: ignore[arg-type]
    return folder, weights


@pytest.mark.parametrize("arch", ["llama", "qwen2", "qwen3"])
@pytest.mark.parametrize("type_", [Type.F32, Type.Q4_0], ids=lambda type_: type_.name)
def test_each_architecture_computes_its_own_network(tmp_path: Path, arch: str, type_: GGMLQuantizationType) -> None:
    tiny = Tiny(arch, type_, tied=arch != "qwen3")
    folder, weights = built(tmp_path, tiny)
    logits, hidden, taps = Reference(tiny.sizes, weights).states(TOKENS, TAPS)

    base = load_base(open_bundle(folder))

    assert_close(base.prefill(TOKENS[:11]).logits, logits[10:11])
    assert_close(base.verify(TOKENS[11:]).logits, logits[11:])
    assert_close(base.features(0, 20).hidden, hidden)
    assert_close(base.features(0, 20).taps, taps)


@pytest.mark.parametrize("type_", [Type.F16, Type.BF16, Type.Q8_0, Type.Q4_1, Type.Q5_1], ids=lambda type_: type_.name)
def test_tensors_of_each_type_are_unpacked(tmp_path: Path, type_: GGMLQuantizationType) -> None:
    tiny = Tiny("llama", type_)
    folder, weights = built(tmp_path, tiny)
    logits, _, _ = Reference(tiny.sizes, weights).states(TOKENS, TAPS)

    assert_close(load_base(open_bundle(folder)).verify(TOKENS).logits, logits)


def test_biases_that_a_llama_may_have_are_computed(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    rows = {"attn_q": 64, "attn_k": 32, "attn_v": 32, "attn_output": 32, "ffn_gate": 64, "ffn_up": 64, "ffn_down": 32}
    names = [f"blk.1.{part}.bias" for part in rows]
    biases = {name: rng.normal(0, 0.2, rows[name.split(".")[2]]).astype(np.float32) for name in names}
    plain, _ = built(tmp_path / "plain", Tiny())
    folder, _ = built(tmp_path / "biased", Tiny(extra=biases))

    without = load_base(open_bundle(plain)).verify(TOKENS).logits
    with_biases = load_base(open_bundle(folder)).verify(TOKENS).logits

    assert not np.allclose(without, with_biases, atol=1e-2)


@pytest.mark.parametrize("storage", list(Storage))
def test_the_storage_is_a_choice(tmp_path: Path, storage: Storage) -> None:
    tiny = Tiny("qwen3")
    folder, weights = built(tmp_path, tiny, storage=storage)
    logits, _, _ = Reference(tiny.sizes, weights).states(TOKENS, TAPS)

    near = {Storage.FLOAT32: 2e-4, Storage.FLOAT16: 5e-2, Storage.INT8: 1.0}[storage]
    np.testing.assert_allclose(load_base(open_bundle(folder)).verify(TOKENS).logits, logits, atol=near)


class Rotated(Reference):
    """The reference with frequencies and a scale of the test's own."""

    frequencies: NDArray[np.float64]
    scale: float

    def _rotate(self, x: NDArray[np.float64], positions: NDArray[np.int64]) -> NDArray[np.float64]:
        pairs = x[..., : HEAD // 2] + 1j * x[..., HEAD // 2 :]
        turned = pairs * np.exp(1j * positions[:, None] * self.frequencies)[:, None] * self.scale
        return np.concatenate([turned.real, turned.imag], -1)


PLAIN = np.array([10000.0 ** (-2 * i / HEAD) for i in range(HEAD // 2)])
FACTORS = np.linspace(1, 8, HEAD // 2).astype(np.float32)


def yarn(factor: float, before: int) -> NDArray[np.float64]:
    """YaRN's frequencies, one at a time: turned fast enough they stay, slow enough they are interpolated."""
    made = []
    ends = [HEAD * math.log(before / (turns * 2 * math.pi)) / (2 * math.log(10000.0)) for turns in (32, 1)]
    low, high = max(math.floor(ends[0]), 0), min(math.ceil(ends[1]), HEAD - 1)
    for i, frequency in enumerate(PLAIN):
        stretched = min(max((i - low) / (high - low), 0), 1)
        made.append(frequency * (1 - stretched) + frequency / factor * stretched)
    return np.array(made)


@pytest.mark.parametrize(
    ("changes", "extra", "frequencies", "scale"),
    [
        ({}, {"rope_freqs.weight": FACTORS}, PLAIN / FACTORS, 1.0),
        ({"llama.rope.scaling.type": "linear", "llama.rope.scaling.factor": 4.0}, {}, PLAIN / 4, 1.0),
        ({"llama.rope.scale_linear": 2.0}, {}, PLAIN / 2, 1.0),
        ({"llama.rope.scaling.type": "none", "llama.rope.scaling.factor": 4.0}, {}, PLAIN, 1.0),
        (
            {
                "llama.rope.scaling.type": "yarn",
                "llama.rope.scaling.factor": 4.0,
                "llama.rope.scaling.original_context_length": 24,
            },
            {},
            yarn(4.0, 24),
            1 + 0.1 * math.log(4.0),
        ),
    ],
    ids=["factors", "linear", "linear-old", "none", "yarn"],
)
def test_rotations_are_scaled_as_the_file_says(
    tmp_path: Path,
    changes: dict[str, object],
    extra: dict[str, NDArray[np.float32]],
    frequencies: NDArray[np.float64],
    scale: float,
) -> None:
    tiny = Tiny(changes=changes, extra=extra)
    folder, weights = built(tmp_path, tiny)
    reference = Rotated(tiny.sizes, weights)
    object.__setattr__(reference, "frequencies", frequencies)
    object.__setattr__(reference, "scale", scale)

    logits, _, _ = reference.states(TOKENS, TAPS)

    assert_close(load_base(open_bundle(folder)).verify(TOKENS).logits, logits)


def test_the_context_is_that_of_the_file_its_window_or_what_is_asked_for(tmp_path: Path) -> None:
    write(tmp_path / "model.gguf")
    write(tmp_path / "window.gguf", Tiny(changes={"llama.attention.sliding_window": 40}))

    assert Plan(tmp_path / "model.gguf", Choices("tiny")).network.context == CONTEXT
    assert Plan(tmp_path / "window.gguf", Choices("tiny")).network.context == 40
    short = Plan(tmp_path / "model.gguf", Choices("tiny", context=12))
    short.write(tmp_path / "short")
    assert load_base(open_bundle(tmp_path / "short")).context_length == 12


def test_a_model_without_taps_gives_none(tmp_path: Path) -> None:
    folder, _ = built(tmp_path, Tiny(), taps=())
    base = load_base(open_bundle(folder))
    base.prefill(TOKENS)

    assert base.features(0, 20).taps is None
    assert base.features(0, 20).hidden is not None


@pytest.mark.parametrize(("layers", "taps"), [(1, (0,)), (2, (0, 1)), (3, (1,)), (10, (1, 5, 8)), (30, (1, 15, 28))])
def test_the_usual_taps_are_near_the_ends_and_in_the_middle(layers: int, taps: tuple[int, ...]) -> None:
    assert usual_taps(layers) == taps
    assert all(tap < LAYERS for tap in usual_taps(LAYERS))
