"""What cannot be built is refused in one sentence that says why, before anything is written."""

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from gguf import GGUFEndian, GGUFWriter

from engine.errors import ModelError
from engine.models.own.build import Choices, Plan
from tests.own.tiny_gguf import KINDS, WORDS, Tiny, write

CHOICES = Choices("tiny")
ONES = np.ones(32, np.float32)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"model.gguf: no such model file"):
        Plan(tmp_path / "model.gguf", CHOICES)


@pytest.mark.parametrize(
    ("content", "says"),
    [(b"", "the file is empty"), (b"version https://git-lfs.github.com/spec/v1\n", "a pointer of Git LFS")],
)
def test_a_file_that_was_not_fetched_is_told(tmp_path: Path, content: bytes, says: str) -> None:
    (tmp_path / "model.gguf").write_bytes(content)

    with pytest.raises(ModelError, match=rf"model\.gguf: {says}"):
        Plan(tmp_path / "model.gguf", CHOICES)


@pytest.mark.parametrize("names", [["a.Q4.gguf", "b.gguf"], []])
def test_a_folder_is_told_from_the_files_in_it(tmp_path: Path, names: list[str]) -> None:
    for name in names:
        (tmp_path / name).touch()

    with pytest.raises(
        ModelError, match=f"a folder, and a GGUF file is needed; in it is {', '.join(names) or 'no GGUF'}"
    ):
        Plan(tmp_path, CHOICES)


@pytest.mark.parametrize("content", [b"GGUF", b"not a model at all, but long enough for a header", b"GGUF" * 100])
def test_a_file_that_is_no_gguf_file_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "model.gguf"
    path.write_bytes(content)

    with pytest.raises(ModelError, match=r"model.gguf: no GGUF file, or cut short"):
        Plan(path, CHOICES)


@pytest.mark.parametrize("kept", [0.1, 0.5, 0.9, 0.999])
def test_a_file_that_was_cut_short_is_refused(tmp_path: Path, kept: float) -> None:
    path = tmp_path / "model.gguf"
    write(path)
    data = path.read_bytes()
    path.write_bytes(data[: int(len(data) * kept)])

    with pytest.raises(ModelError, match=r"model.gguf: no GGUF file, or cut short.*fetch it again"):
        Plan(path, CHOICES)


@pytest.mark.parametrize(
    ("tiny", "message"),
    [
        (Tiny("mamba"), "its architecture is 'mamba'; those that can be built are llama, qwen2, qwen3"),
        (Tiny(without=("output_norm.weight",)), "it lacks output_norm.weight, which a llama model has"),
        (Tiny(without=("token_embd.weight",)), "it lacks token_embd.weight"),
        (
            Tiny(without=("blk.1.attn_v.weight", "blk.2.ffn_up.weight")),
            "it lacks blk.1.attn_v.weight and 1 more, which a llama model has",
        ),
        (Tiny("qwen2", without=("blk.0.attn_k.bias",)), "it lacks blk.0.attn_k.bias"),
        (Tiny("qwen3", without=("blk.0.attn_k_norm.weight",)), "it lacks blk.0.attn_k_norm.weight"),
        (Tiny(extra={"blk.0.attn_q.bias": np.ones(64, np.float32)}), "it lacks blk.0.attn_k.bias and 1 more"),
        (Tiny(extra={"blk.0.attn_sinks": ONES}), "tensor 'blk.0.attn_sinks' is in it, which is no part of a llama"),
        (Tiny(extra={"rope_freqs.weight": ONES}), "rope_freqs.weight has 32 factors for 8 frequencies"),
        (Tiny(changes={"llama.feed_forward_length": 96}), r"blk.0.ffn_gate.weight has the shape \(64, 32\), expected"),
        (Tiny(changes={"llama.rope.scaling.type": "longrope"}), "its rotary scaling is 'longrope'"),
        (
            Tiny(changes={"llama.rope.scaling.type": "yarn", "llama.rope.scaling.yarn_log_multiplier": 0.1}),
            "yarn_log_multiplier is set, a form of YaRN that is not supported",
        ),
        (Tiny(changes={"llama.rope.freq_base": 1.0}), "make no rotation"),
        (Tiny(changes={"llama.rope.freq_base": float("inf")}), "make no rotation"),
        (
            Tiny(changes={"llama.rope.scaling.type": "yarn", "llama.rope.scaling.yarn_beta_fast": float("nan")}),
            "is no YaRN",
        ),
        (Tiny(changes={"llama.attention.causal": False}), "its rows see those behind them, so that it writes no text"),
        (Tiny(changes={"llama.context_length": 0}), "llama.context_length is 0, in which no text fits"),
        (
            Tiny(changes={"llama.attention.layer_norm_rms_epsilon": float("nan")}),
            "layer_norm_rms_epsilon is nan, which norms nothing",
        ),
        (Tiny(changes={"llama.rope.dimension_count": 8}), "its heads are of 16, 8 of it rotated"),
        (Tiny(changes={"llama.attention.value_length": 8}), "with values of 8"),
        (Tiny(changes={"llama.attention.head_count_kv": 3}), "4 heads over 3 key-value heads"),
        (Tiny(changes={"llama.block_count": 4_000_000_000}), "4000000000 layers of 32"),
        (Tiny(changes={"llama.expert_count": 8}), "llama.expert_count is set, and that arithmetic is not supported"),
        (Tiny(changes={"llama.attention.layer_norm_rms_epsilon": None}), "it does not say llama.attention.layer_norm"),
        (Tiny(changes={"llama.attention.head_count": [4, 4, 2]}), r"head_count is '\[4, 4, 2\]', not of the type int"),
        (Tiny(changes={"split.count": 3}), "one of 3 parts"),
        (Tiny(words=(*WORDS, "more"), kinds=(*KINDS, 1)), f"its tokenizer has {len(WORDS) + 1} tokens, its embedding"),
        (Tiny(changes={"tokenizer.ggml.model": "t5"}), "its tokenizer is of the kind 't5'"),
    ],
)
def test_what_cannot_be_built_is_named(tmp_path: Path, tiny: Tiny, message: str) -> None:
    write(tmp_path / "model.gguf", tiny)

    with pytest.raises(ModelError, match=f"model.gguf: .*{message}"):
        Plan(tmp_path / "model.gguf", CHOICES)


def test_a_file_of_the_other_byte_order_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.own.tiny_gguf.GGUFWriter", partial(GGUFWriter, endianess=GGUFEndian.BIG))
    write(tmp_path / "model.gguf")

    with pytest.raises(ModelError, match=r"model.gguf: a GGUF file of the other byte order"):
        Plan(tmp_path / "model.gguf", CHOICES)


def test_a_file_whose_name_is_too_long_is_told(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"gguf: it cannot be read: file name too long"):
        Plan(tmp_path / f"{'m' * 300}.gguf", CHOICES)


def test_a_type_of_tensor_that_cannot_be_unpacked_is_named(tmp_path: Path) -> None:
    path = tmp_path / "model.gguf"
    write(path, Tiny(extra={"output_norm.weight": np.ones(32, np.int8)}))

    with pytest.raises(ModelError, match=r"tensor output_norm.weight is of type I8, which the gguf package cannot"):
        Plan(path, CHOICES)


@pytest.mark.parametrize(
    ("choices", "message"),
    [
        (Choices("tiny", taps=(1, 3)), "there is no layer 3 to tap, they are 0 to 2"),
        (Choices("tiny", taps=(-1,)), "there is no layer -1 to tap"),
        (Choices("tiny", context=97), "a context of 97 positions was asked for, the model has 1 to 96"),
        (Choices("tiny", context=0), "a context of 0 positions was asked for"),
    ],
)
def test_a_choice_that_the_model_does_not_have_is_refused(tmp_path: Path, choices: Choices, message: str) -> None:
    write(tmp_path / "model.gguf")

    with pytest.raises(ModelError, match=message):
        Plan(tmp_path / "model.gguf", choices)


def test_weights_that_are_no_numbers_are_found_before_the_model_is_kept(tmp_path: Path) -> None:
    bad: dict[str, Any] = {"output_norm.weight": ONES * np.float32(np.nan)}
    write(tmp_path / "model.gguf", Tiny(extra=bad))

    with pytest.raises(ModelError, match="numbers that are not finite"):
        Plan(tmp_path / "model.gguf", CHOICES).write(tmp_path / "model")
