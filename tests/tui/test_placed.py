"""The header says what ran where, and what the CPU had to take over, in any width."""

from typing import Any

import msgspec
import pytest

from engine.records import Event
from tests.tui.runs import live
from tui import status
from tui.lines import width_of
from tui.live import LiveSource
from tui.marks import ASCII, UNICODE, Role
from tui.placed import placed
from tui.session import Session

OPENVINO = {
    "provider": "OpenVINOExecutionProvider, CPUExecutionProvider",
    "placement": {"OpenVINOExecutionProvider": 165, "CPUExecutionProvider": 10},
    "requested": ["OpenVINOExecutionProvider"],
}
GRAPHS = {"base.onnx": OPENVINO["placement"], "mtp.onnx": {"OpenVINOExecutionProvider": 25, "CPUExecutionProvider": 1}}


@pytest.mark.parametrize(
    ("device", "ran", "warning"),
    [
        (OPENVINO, "OpenVINO 165 + CPU 10 nodes", "10/175 on the CPU"),
        ({**OPENVINO, "graphs": GRAPHS}, "OpenVINO 165 + CPU 10 nodes", "11/201 on the CPU"),
        (
            {"placement": {"CPUExecutionProvider": 175}, "requested": ["CPUExecutionProvider"]},
            "CPU 175 nodes",
            "",
        ),
        ({"provider": "VitisAIExecutionProvider", "requested": "npu"}, "VitisAI", ""),
        (
            {"placement": {"CPUExecutionProvider": 1}, "requested": "npu"},
            "CPU 1 node",
            "1/1 on the CPU",
        ),
        ({"placement": {"CPUExecutionProvider": 5}, "requested": "auto"}, "CPU 5 nodes", ""),
        ({"provider": "python", "placement": {}, "requested": ["python"]}, "python", ""),
        ({"provider": None, "placement": None, "requested": 7, "graphs": 3}, "", ""),
        ({}, "", ""),
    ],
)
def test_what_ran_is_told_by_provider_and_nodes(device: dict[str, Any], ran: str, warning: str) -> None:
    assert placed(device) == (ran, warning)


def source(device: dict[str, Any], *said: Event) -> LiveSource:
    made = live(said=said)
    made.header = msgspec.structs.replace(made.header, device=device)
    return made


@pytest.mark.parametrize("width", [40, 80, 120, 200])
@pytest.mark.parametrize("marks", [UNICODE, ASCII], ids=["unicode", "ascii"])
def test_a_fallback_stands_in_the_header_at_every_width(width: int, marks: Any) -> None:
    line = status.header(Session(source(OPENVINO)), marks, width)
    assert width_of(line) == width
    warned = [span.text for span in line if span.role is Role.WARNING]
    assert f"{marks.finding} 10/" in "".join(warned) or width == 40
    if width == 200:
        assert "OpenVINO 165 + CPU 10 nodes" in "".join(span.text for span in line)


def test_a_quantised_graph_whose_rows_differ_is_marked_in_the_header() -> None:
    said = Event(level="warning", code="quantised-rows", message="a row depends on how many are in its pass")
    for model, events, marked in (
        ({"quantised": ["MatMulNBits"]}, (said,), True),
        ({"quantised": ["MatMulNBits"]}, (), False),
        ({}, (said,), False),
    ):
        run = source({"provider": "CPU"}, *events)
        run.header = msgspec.structs.replace(run.header, run={"model": model})
        line = "".join(span.text for span in status.header(Session(run), UNICODE, 80))
        assert ("! rows differ by width" in line) == marked


def test_before_the_first_round_the_screen_says_what_fell_back() -> None:
    said = Event(level="warning", code="provider-fallback", message="OpenVINO left 10 of 175 nodes of base.onnx")
    line = status.why(Session(source(OPENVINO, said)), "", UNICODE, 120)
    assert said.message in "".join(span.text for span in line)
    quiet = status.why(Session(source({"provider": "CPU"})), "", UNICODE, 120)
    assert "at the start" in "".join(span.text for span in quiet)
