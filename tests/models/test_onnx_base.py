"""A base on onnxruntime: whatever the widths of its passes, its rows are those of the network."""

import dataclasses
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnxruntime
import pytest

from engine.base.onnx import OnnxBase
from engine.errors import EngineFault, ModelError, Refused
from engine.loop import Run, prefill, run
from engine.models.bundle_writer import Networks
from engine.models.bundled import Bundle, load_base
from engine.models.weights import Storage, quantize_rows
from engine.options import Options
from engine.provider import Provider
from engine.records import BaseInfo
from engine.session import Session
from tests.models.reference import Reference
from tests.models.tiny import CONTEXT, SIZES, TAPS, VOCAB, Family, assert_close, networks, prompt, write


@pytest.fixture
def base(bundle: Bundle) -> OnnxBase:
    return load_base(bundle)


@pytest.mark.parametrize("widths", [[1] * 24, [2] * 12, [3, 8, 1, 12], [24], [1, 23]], ids=str)
def test_rows_are_those_of_the_network_at_every_width(base: OnnxBase, reference: Reference, widths: list[int]) -> None:
    tokens = prompt(24)
    logits, hidden, taps = reference.states(tokens, TAPS)

    at = 0
    for width in widths:
        rows = base.verify(tokens[at : at + width])
        assert_close(rows.logits, logits[at : at + width])
        at += width

    kept = base.features(0, 24)
    assert_close(kept.hidden, hidden)
    assert_close(kept.taps, taps)


@pytest.mark.parametrize(
    "family",
    [
        Family(qk_norm=False, tied=False),
        Family(qk_norm=False, bias=True),
        Family(qk_norm=False, interleaved=True),
        Family(tied=False),
    ],
    ids=["llama", "qwen2", "interleaved", "qwen3-untied"],
)
def test_each_family_computes_its_own_network(tmp_path: Path, family: Family) -> None:
    nets = networks(seed=5, family=family)
    base = load_base(write(tmp_path, nets, family))
    tokens = prompt(20)
    logits, _, _ = Reference(family.sizes, nets.base).states(tokens, TAPS)

    first = base.prefill(tokens[:11]).logits
    rest = base.verify(tokens[11:]).logits

    assert_close(first, logits[10:11])
    assert_close(rest, logits[11:])


def test_int8_weights_are_unpacked_at_load_and_computed_in_float32(tmp_path: Path, nets: Networks) -> None:
    bundle = write(tmp_path / "int8", nets, storage=Storage.INT8)
    base = load_base(bundle)
    rounded = {
        name: np.multiply(*quantize_rows(array)) if array.ndim == 2 else array for name, array in nets.base.items()
    }
    logits, _, _ = Reference(SIZES, rounded).states(prompt(9), TAPS)

    assert_close(base.verify(prompt(9)).logits, logits)
    plain = load_base(write(tmp_path / "float32", nets))
    assert base.device()["placement"] == plain.device()["placement"]


def test_float16_weights_are_unpacked_at_load(tmp_path: Path, nets: Networks) -> None:
    base = load_base(write(tmp_path, nets, storage=Storage.FLOAT16))
    rounded = {
        name: array.astype(np.float16).astype(np.float32) if array.ndim == 2 else array
        for name, array in nets.base.items()
    }
    logits, _, _ = Reference(SIZES, rounded).states(prompt(9), TAPS)

    assert_close(base.verify(prompt(9)).logits, logits)


def test_after_a_rollback_a_pass_is_that_of_a_base_that_never_saw_the_rest(bundle: Bundle, base: OnnxBase) -> None:
    fresh = load_base(bundle)
    tokens, other = prompt(30), prompt(8, seed=1)
    fresh.prefill(tokens[:12])
    base.prefill(tokens[:20])
    base.verify(tokens[20:])

    base.rollback(12)

    assert base.lengths() == {"kv_len": 12}
    assert list(base.tokens) == tokens[:12]
    np.testing.assert_array_equal(base.verify(other).logits, fresh.verify(other).logits)
    np.testing.assert_array_equal(base.features(0, 20).hidden, fresh.features(0, 20).hidden)


def test_a_prefill_token_by_token_leads_to_the_same_run(bundle: Bundle) -> None:
    options = Options(max_tokens=16)

    batched = run(load_base(bundle), None, prompt(10), options)
    single = run(load_base(bundle), None, prompt(10), options, batched=False)

    assert single.tokens == batched.tokens


def test_a_plain_step_of_width_two_is_the_exact_twin_of_a_verify_row(bundle: Bundle, base: OnnxBase) -> None:
    twin = load_base(bundle, plain_width=2)
    tokens = prompt(14)
    base.prefill(tokens[:6])
    twin.prefill(tokens[:6])

    rows = base.verify(tokens[6:])
    steps = [twin.step(token) for token in tokens[6:]]

    assert {step.width for step in steps} == {2}
    assert {step.logits.shape for step in steps} == {(1, VOCAB)}
    twin.rollback(6)
    for j, token in enumerate(tokens[6:]):
        np.testing.assert_array_equal(twin.step(token).logits[0], rows.logits[j])
    np.testing.assert_array_equal(twin.features(6, 14).hidden, base.features(6, 14).hidden)


@pytest.mark.parametrize("plain_width", [1, 2])
def test_the_context_can_be_filled_to_its_last_position_and_no_further(bundle: Bundle, plain_width: int) -> None:
    base = load_base(bundle, plain_width=plain_width)
    base.prefill(prompt(CONTEXT - 1))
    base.step(7)

    with pytest.raises(EngineFault, match=f"context is full: {CONTEXT} of {CONTEXT} positions"):
        base.step(7)
    with pytest.raises(EngineFault, match="context is full"):
        base.verify([1, 2])
    assert base.consumed == CONTEXT


@pytest.mark.parametrize("tokens", [[3, VOCAB], [-1], []])
def test_tokens_outside_the_vocabulary_are_a_fault(base: OnnxBase, tokens: list[int]) -> None:
    with pytest.raises(EngineFault, match=f"from 0 to {VOCAB - 1}"):
        base.verify(tokens)
    assert base.consumed == 0


def test_a_session_that_died_faults_the_run_and_keeps_what_was_committed(base: OnnxBase) -> None:
    logits = prefill(base, prompt(5))
    running = Run(base, None, 5, logits, Options(max_tokens=10))
    for _ in range(4):
        running.step()
    base.close()

    assert running.step() is None
    assert running.reason == "fault"
    assert "session is dead" in running.events[-1].message
    assert base.consumed == 5 + len(running.emitted) == 9


def test_weights_of_nan_are_refused_before_a_run(tmp_path: Path, nets: Networks) -> None:
    broken = {**nets.base, "norm.weight": nets.base["norm.weight"] * np.nan}
    base = load_base(write(tmp_path, dataclasses.replace(nets, base=broken)))

    with pytest.raises(Refused, match="NaN"):
        run(base, None, prompt(4), Options(max_tokens=4))


def test_a_row_of_nan_in_the_middle_is_a_fault_that_names_its_place(tmp_path: Path) -> None:
    family = Family(tied=False)
    nets = networks(seed=11, family=family)
    healthy = run(load_base(write(tmp_path / "healthy", nets, family)), None, prompt(6), Options(max_tokens=12))
    poisoned = next(i for i, token in enumerate(healthy.tokens) if token not in (*prompt(6), *healthy.tokens[:i]) and i)
    embedding = np.array(nets.base["embed_tokens.weight"])
    embedding[healthy.tokens[poisoned]] = np.nan
    sick = dataclasses.replace(nets, base={**nets.base, "embed_tokens.weight": embedding})
    base = load_base(write(tmp_path / "sick", sick, family))

    running = Run(base, None, 6, prefill(base, prompt(6)), Options(max_tokens=12))
    while running.step() is not None:
        pass

    assert running.reason == "fault"
    assert tuple(running.emitted) == healthy.tokens[:poisoned]
    assert f"round {poisoned}" in running.events[-1].message


@pytest.mark.skipif(
    not hasattr(onnxruntime.InferenceSession, "get_provider_graph_assignment_info"),
    reason="this onnxruntime does not say where its nodes run",
)
def test_the_device_is_what_ran_and_not_what_was_offered(base: OnnxBase) -> None:
    device = base.device()

    assert device["provider"] == "CPUExecutionProvider"
    assert list(device["placement"]) == ["CPUExecutionProvider"]
    assert device["placement"]["CPUExecutionProvider"] > 20


def test_a_file_that_is_no_graph_is_a_model_error(tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    path.write_bytes(b"not a graph at all")

    with pytest.raises(ModelError, match="not an ONNX model, or cut short"):
        Session(path)
    with pytest.raises(ModelError, match="no such model file"):
        Session(tmp_path / "other.onnx")


@pytest.mark.parametrize("graph", ["mtp", "dflash"])
def test_a_graph_that_is_no_base_is_a_model_error(bundle: Bundle, graph: str) -> None:
    session = Session(bundle.folder / f"{graph}.onnx")

    with pytest.raises(ModelError, match="the graph has no logits_from"):
        OnnxBase(session, BaseInfo(name="x", vocab_size=VOCAB), CONTEXT)


def test_a_provider_that_is_not_there_is_a_model_error(bundle: Bundle) -> None:
    with pytest.raises(ModelError, match=r"WarpDriveExecutionProvider: not in this onnxruntime .*CPUExecutionProvider"):
        Session(bundle.folder / "base.onnx", provider=Provider(name="WarpDriveExecutionProvider"))


def test_a_pass_that_fails_is_told_by_us_alone(tmp_path: Path) -> None:
    """onnxruntime would write coloured lines of its own to the terminal before it raises."""
    write(tmp_path, networks(1))
    code = (
        "import sys; from pathlib import Path; from engine.errors import EngineFault\n"
        "from engine.models.bundled import load_base, open_bundle\n"
        "base = load_base(open_bundle(Path(sys.argv[1]))); base.vocab_size = 10**6\n"
        "try: base.step(99999)\n"
        "except EngineFault: print('told')"
    )
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "told\n", "")
