"""OpenVINO as a plugin provider, where it is installed: it really runs, is told apart from the CPU, and is exact."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest

from engine.errors import ModelError
from engine.execution import devices, register
from engine.folders.model import open_folder
from engine.loop import run
from engine.models.bundled import Bundle, load_base, load_drafter
from engine.options import Options
from engine.provider import Provider, parse
from engine.session import Session
from engine.sessions import Sessions
from engine.trace.reader import open_trace
from tests.cli.commands import specstep
from tests.folders.tiny_folder import genai, optimum
from tests.models.tiny import networks, prompt, write

PACKAGE = "onnxruntime_ep_openvino"


def offered() -> bool:
    """Whether it is installed and offers a device: on another maker's machine it offers none."""
    if importlib.util.find_spec(PACKAGE) is None:
        return False
    register(PACKAGE)
    return any(device.provider == "OpenVINOExecutionProvider" for device in devices())


pytestmark = pytest.mark.skipif(not offered(), reason="onnxruntime-ep-openvino is not installed, or offers no device")
PROVIDER = ("--provider", "openvino:device=cpu", "--provider-library", PACKAGE)


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Bundle:
    return write(tmp_path_factory.mktemp("tiny"), networks(seed=3))


@pytest.fixture
def openvino() -> Provider:
    return parse("openvino", library=PACKAGE)


def test_its_nodes_and_those_left_to_the_cpu_are_counted(bundle: Bundle, openvino: Provider) -> None:
    session = Session(bundle.folder / "base.onnx", provider=openvino)
    device = session.device()
    assert device["requested"] == ["OpenVINOExecutionProvider"]
    assert device["provider"] == "OpenVINOExecutionProvider, CPUExecutionProvider"
    assert device["placement"]["OpenVINOExecutionProvider"] > device["placement"]["CPUExecutionProvider"] > 0
    assert device["kind"] == "cpu"
    assert device["provider_version"]
    left = session.left_to_cpu()
    assert left is not None
    assert "GroupQueryAttention" in left
    with pytest.raises(ModelError, match="and that was not allowed"):
        Session(bundle.folder / "base.onnx", provider=parse("openvino", library=PACKAGE, fallback=False))


def test_a_graph_that_it_takes_whole_is_no_fallback(bundle: Bundle) -> None:
    alone = parse("openvino", library=PACKAGE, fallback=False)
    assert Session(bundle.folder / "dflash.onnx", provider=alone).left_to_cpu() is None


@pytest.mark.parametrize("widths", [(), (1, 8)], ids=["any", "1,8"])
def test_rows_are_those_of_the_cpu_up_to_its_precision(
    bundle: Bundle, openvino: Provider, widths: tuple[int, ...]
) -> None:
    there, here = load_base(bundle, session=Sessions(openvino), widths=widths), load_base(bundle, widths=widths)
    for tokens in (prompt(9), prompt(5, seed=1), prompt(1, seed=2)):
        rows, wanted = there.verify(tokens), here.verify(tokens)
        np.testing.assert_allclose(rows.logits, wanted.logits, atol=0.05 * float(np.abs(wanted.logits).max()))
        there.rollback(there.consumed - 1)
        here.rollback(here.consumed - 1)


@pytest.mark.parametrize("layout", ["genai", "optimum"])
def test_a_folders_rows_are_those_of_the_cpu_up_to_its_precision(
    tmp_path: Path, openvino: Provider, layout: str
) -> None:
    folder = genai(tmp_path) if layout == "genai" else optimum(tmp_path)
    there, here = open_folder(folder).load(session=Sessions(openvino)).base, open_folder(folder).load().base
    for tokens in (prompt(9), prompt(5, seed=1), prompt(1, seed=2)):
        rows, wanted = there.verify(tokens), here.verify(tokens)
        np.testing.assert_allclose(rows.logits, wanted.logits, atol=0.05 * float(np.abs(wanted.logits).max()))
        there.rollback(there.consumed - 1)
        here.rollback(here.consumed - 1)


@pytest.mark.parametrize(("past", "new"), [(0, 12), (7, 1), (30, 5)])
@pytest.mark.parametrize("kind", ["dflash", "dflash2"])
def test_a_block_drafters_rows_are_those_of_the_cpu_however_many_positions_a_pass_takes_in(
    bundle: Bundle, openvino: Provider, kind: str, past: int, new: int
) -> None:
    path = bundle.folder / f"{kind}.onnx"
    here, there = Session(path), Session(path, provider=openvino)
    rng = np.random.default_rng(1)
    feeds: dict[str, np.ndarray] = {"input_ids": np.array([[65]])}
    for name in here.inputs:
        if name.startswith("past_key_values."):
            feeds[name] = rng.normal(size=(1, past, here.size(name, 2), here.size(name, 3))).astype(np.float32)
    feeds["taps"] = rng.normal(size=(1, new, here.size("taps"))).astype(np.float32)
    names = ["logits", *(name for name in here.outputs if name.endswith(".key"))]
    for row, wanted in zip(there.run(names, feeds), here.run(names, feeds), strict=True):
        np.testing.assert_allclose(row, wanted, atol=0.05 * float(np.abs(wanted).max()))


@pytest.mark.parametrize("drafter", ["mtp", "dflash", "dflash2"])
def test_speculation_gives_plain_decodes_text(bundle: Bundle, openvino: Provider, drafter: str) -> None:
    sessions = Sessions(openvino)
    plain = run(
        load_base(bundle, session=sessions, plain_width=2), None, prompt(12), Options(max_tokens=20, plain_width=2)
    )
    base, drafts = load_base(bundle, session=sessions), load_drafter(bundle, drafter, session=sessions)
    drafted = run(base, drafts, prompt(12), Options(max_tokens=20))
    assert drafted.tokens == plain.tokens
    assert sum(len(round_.drafts or ()) for round_ in drafted.rounds) > 9


def test_a_recorded_run_says_so_and_passes_its_audit(bundle: Bundle, tmp_path: Path) -> None:
    path = tmp_path / "run.msgpack"
    made = specstep("record", "--model", bundle.folder, *PROVIDER, "--prompt", "def", "--max-tokens", "12", "-o", path)
    assert made.code == 0
    assert "left" in made.err
    with open_trace(path) as trace:
        assert [event.code for event in trace.events()] == ["provider-fallback", "provider-fallback"]
        assert set(trace.header.device["graphs"]) == {"base.onnx", "mtp.onnx"}
    assert specstep("audit", path).code == 0
    listed = specstep("info", "--provider-library", PACKAGE, "--json").json["devices"]
    assert "OpenVINOExecutionProvider" in {device["provider"] for device in listed}
