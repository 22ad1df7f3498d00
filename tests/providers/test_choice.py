"""Which provider runs a graph: how it is asked for, and what is said where it is not the one that ran."""

from pathlib import Path

import onnxruntime
import pytest

from engine.errors import ModelError, Refused
from engine.live import open_live
from engine.opening import open_models
from engine.options import Options
from engine.provider import Provider, parse
from engine.request import LiveRequest, Setup
from engine.session import Session
from engine.trace.reader import open_trace
from tests.cli.commands import specstep
from tests.models.tiny import networks, write

IDLE = "AzureExecutionProvider"
"""It comes with onnxruntime's usual builds and takes no node of any graph of ours."""
RUN = ("--prompt", "def mean(", "--max-tokens", "12", "--drafter", "mtp")

idle = pytest.mark.skipif(
    IDLE not in onnxruntime.get_available_providers()
    or not hasattr(onnxruntime.InferenceSession, "get_provider_graph_assignment_info"),
    reason=f"this onnxruntime has no {IDLE} or does not say where nodes run",
)


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(tmp_path_factory.mktemp("tiny"), networks(seed=3)).folder


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("cpu", Provider(name="cpu")),
        ("CPUExecutionProvider", Provider()),
        ("openvino:device=npu", Provider(name="openvino", device="npu")),
        (
            "qnn:backend_path=a:b, x=1,device=0",
            Provider(name="qnn", options={"backend_path": "a:b", "x": "1"}, device="0"),
        ),
        ("qnn:x=a=b", Provider(name="qnn", options={"x": "a=b"})),
    ],
)
def test_a_provider_is_a_name_and_what_it_is_told(text: str, wanted: Provider) -> None:
    assert parse(text) == wanted


@pytest.mark.parametrize("text", ["", ":x=1", "qnn:fast", "qnn:=1"])
def test_anything_else_is_refused(tiny: Path, text: str) -> None:
    with pytest.raises(Refused, match="--provider"):
        parse(text)
    made = specstep("record", "--model", tiny, "--provider", text, *RUN)
    assert (made.code, len(made.err.splitlines())) == (2, 1)


@pytest.mark.parametrize("name", ["cpu", "CPU", "CPUExecutionProvider", "cpuexecutionprovider"])
def test_a_name_may_be_short_and_in_any_case(tiny: Path, name: str) -> None:
    assert Session(tiny / "base.onnx", provider=parse(name)).device()["requested"] == ["CPUExecutionProvider"]


def test_a_provider_that_is_not_there_is_one_clear_sentence(tiny: Path) -> None:
    made = specstep("record", "--model", tiny, "--provider", "warpdrive", *RUN)
    assert made.code == 2
    assert "provider warpdrive: not in this onnxruntime" in made.err
    assert "CPUExecutionProvider" in made.err
    assert len(made.err.splitlines()) == 1


@pytest.mark.parametrize("device", ["npu", "1", "-1"])
def test_a_device_that_is_not_there_is_a_model_error(tiny: Path, device: str) -> None:
    with pytest.raises(ModelError, match=f"no device '{device}'"):
        Session(tiny / "base.onnx", provider=Provider(device=device))


def test_a_library_that_is_none_is_a_model_error(tiny: Path, tmp_path: Path) -> None:
    text = tmp_path / "libprovider.so"
    text.write_text("not a library")
    for library, why in (
        (str(text), "cannot load it as a provider"),
        ("no_such_package", "neither a file nor"),
        ("/x", "no such file"),
    ):
        with pytest.raises(ModelError, match=why):
            Session(tiny / "base.onnx", provider=Provider(name="warpdrive", library=library))
        assert specstep("info", "--provider-library", library).code == 2


def test_a_plugin_that_offers_nothing_here_is_told_from_one_that_was_not_named(
    tiny: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("engine.execution.register", lambda library: None)
    with pytest.raises(ModelError, match=r"warpdrive: .*; x\.so was loaded, and offers no device by that name on this"):
        Session(tiny / "base.onnx", provider=Provider(name="warpdrive", library="x.so"))
    with pytest.raises(ModelError, match=r"a plugin's library is named with --provider-library"):
        Session(tiny / "base.onnx", provider=Provider(name="warpdrive"))


def test_what_a_provider_does_not_take_is_a_model_error_whatever_type_it_is(
    tiny: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = (
        "/onnxruntime/python/onnxruntime_pybind_state.cc:1053 std::shared_ptr<Factory> onnxruntime::python::Create("
        "const Options&, const std::string&) Invalid EP option: foo"
    )

    def refusing(*_: object, **__: object) -> None:
        raise RuntimeError(said)

    monkeypatch.setattr("onnxruntime.InferenceSession", refusing)
    with pytest.raises(ModelError, match=r"base\.onnx: onnxruntime cannot load it: Invalid EP option: foo$"):
        Session(tiny / "base.onnx", provider=Provider(options={"foo": "bar"}))


def test_a_toy_has_no_provider() -> None:
    with pytest.raises(Refused, match="no graph"):
        open_models("toy", Setup(Provider(name="openvino")))


@idle
def test_a_fallback_to_the_cpu_is_told_for_every_graph(tiny: Path, tmp_path: Path) -> None:
    path = tmp_path / "run.msgpack"
    made = specstep("record", "--model", tiny, "--provider", "azure", *RUN, "-o", path)
    assert made.code == 0
    assert f"{IDLE} took none of" in made.err
    with open_trace(path) as trace:
        device, events = trace.header.device, trace.events()
        assert device["requested"] == [IDLE]
        assert device["provider"] == "CPUExecutionProvider"
        assert set(device["graphs"]) == {"base.onnx", "mtp.onnx"}
        assert device["graphs"]["base.onnx"] == device["placement"]
        fell_back = [event for event in events if event.code == "provider-fallback"]
        assert [event.level for event in fell_back] == ["warning", "warning"]
        assert ["base.onnx" in fell_back[0].message, "mtp.onnx" in fell_back[1].message] == [True, True]
        assert " MatMul, " in fell_back[1].message
    audited = specstep("audit", path, "--json")
    assert audited.code == 1
    assert {finding["rule"] for finding in audited.json["findings"]} == {"A16"}


@idle
def test_a_drafter_that_falls_back_in_a_fork_is_told_at_its_round(tiny: Path) -> None:
    run = open_live(
        LiveRequest(
            prompt="def mean(", options=Options(max_tokens=12), model=str(tiny), drafter="lookup", provider=parse(IDLE)
        )
    )
    first = run.step()
    assert first is not None
    assert ["base.onnx" in event.message for event in run.events] == [True]
    run.rewind([first], drafter="dflash")
    assert [event.round for event in run.events] == [None, 1]
    assert "dflash.onnx" in run.events[-1].message
    assert "dflash.onnx" in run.header.device["graphs"]


@idle
def test_a_probe_says_what_fell_back(tiny: Path) -> None:
    words = ("--model", tiny, "--provider", "azure", "--repeat", "1", "--plain-width", "2", "--form", "one-pass")
    probed = specstep("probe", *words, *RUN, "--json")
    assert probed.code == 0
    assert [line.split(" of ")[-1].split(",")[0] for line in probed.err.splitlines()] == ["base.onnx", "mtp.onnx"]


@idle
def test_a_fallback_can_be_refused(tiny: Path, tmp_path: Path) -> None:
    path = tmp_path / "run.msgpack"
    made = specstep("record", "--model", tiny, "--provider", "azure", "--no-fallback", *RUN, "-o", path)
    assert made.code == 2
    assert "took none of" in made.err
    assert "and that was not allowed" in made.err
    assert not path.exists()
    assert specstep("record", "--model", tiny, "--no-fallback", *RUN, "-o", path).code == 0


def test_a_path_in_an_option_is_not_recorded(tiny: Path) -> None:
    told = Provider(options={"some.file": "/somewhere/settings.json", "other": "C:\\somebody\\x.bin"})
    assert Session(tiny / "base.onnx", provider=told).device()["options"] == {
        "some.file": "settings.json",
        "other": "x.bin",
    }


def test_info_lists_providers_and_their_devices() -> None:
    facts = specstep("info", "--json").json
    assert facts["providers"] == onnxruntime.get_available_providers()
    assert any(device["provider"] == "CPUExecutionProvider" for device in facts["devices"])


def test_an_audit_of_a_run_on_the_cpu_as_asked_for_finds_nothing(tiny: Path, tmp_path: Path) -> None:
    path = tmp_path / "run.msgpack"
    specstep("record", "--model", tiny, *RUN, "-o", path)
    with open_trace(path) as trace:
        assert trace.header.device["requested"] == ["CPUExecutionProvider"]
    assert specstep("audit", path).code == 0
