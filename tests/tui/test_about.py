"""``i``: what a run is a run of, as its header says it."""

import msgspec
import pytest

from engine.records import BaseInfo, DrafterInfo
from tests.tui.runs import live
from tests.tui.screens import running
from tui.live import LiveSource
from tui.marks import ASCII, UNICODE

MODEL = {
    "layout": "onnxruntime-genai",
    "kind": "llama",
    "file": "onnx/model_q4.onnx",
    "bytes": 539285833,
    "exported_by": "onnxruntime-genai",
    "context": 8192,
    "stops": "<|im_end|> (2), from genai_config.json",
    "chat": True,
    "can": {
        "verify": "any number of rows in one pass",
        "truncate": "at any position",
        "hidden": 576,
        "taps": None,
        "cache": "one buffer, written in place",
    },
}
DEVICE = {
    "provider": "WarpDrive, CPUExecutionProvider",
    "placement": {"WarpDrive": 309, "CPUExecutionProvider": 30},
    "requested": ["WarpDrive"],
    "threads": 2,
    "onnxruntime": "1.32.0",
}


def source(model: object = MODEL, device: dict[str, object] = DEVICE) -> LiveSource:
    made = live()
    run = {"model": model, "chat": True, "ticket": "\x1b[31mred\u202e"}
    made.header = msgspec.structs.replace(
        made.header,
        base=BaseInfo(name="smol", vocab_size=49152, layers=30, dtype="float32"),
        drafter=DrafterInfo(kind="lookup", name="lookup-2-3-latest"),
        device=device,
        run=run,
    )
    return made


@pytest.mark.parametrize("size", [(80, 24), (120, 40)], ids=str)
@pytest.mark.parametrize("marks", [UNICODE, ASCII], ids=["unicode", "ascii"])
async def test_the_model_what_it_can_do_and_what_ran_where_are_shown(size: tuple[int, int], marks: object) -> None:
    async with running(source(), size, marks) as screen:  # type: ignore[arg-type]
        await screen.press("i")
        shown = screen.text
        for line in (
            "model      smol, 49152 tokens, 30 layers",
            "layout     onnxruntime-genai, llama, float32",
            "graph      onnx/model_q4.onnx, 539 MB, exported by onnxruntime-genai",
            "stops at   <|im_end|> (2), from genai_config.json",
            "truncate   at any position",
            "hidden     576 wide",
            "taps       not given: nothing for a block drafter to read",
            "runs on    WarpDrive 309 nodes, CPUExecutionProvider 30 nodes",
            "asked for  WarpDrive",
        ):
            assert line in shown
        await screen.press("end")
        assert "\x1b" not in screen.text
        assert "\u202e" not in screen.text
        assert "ticket" in screen.text
        await screen.press("escape")
        assert "runs on" not in screen.text


@pytest.mark.parametrize("model", [None, "a text", {"can": 3, "bytes": "many"}, {"can": {"hidden": "?"}}], ids=str)
async def test_a_header_of_somebody_elses_says_what_it_can(model: object) -> None:
    odd: dict[str, object] = {"placement": 7, "requested": 5, "graphs": [], "compiled_widths": "x"}
    async with running(source(model, odd)) as screen:
        await screen.press("i")
        assert "model      smol, 49152 tokens, 30 layers" in screen.text
        assert "runs on    not known" in screen.text
        assert "drafter    lookup, lookup-2-3-latest" in screen.text


async def test_the_layout_stands_in_the_first_line_where_there_is_room() -> None:
    async with running(source(), (160, 40)) as screen:
        assert "onnxruntime-genai" in screen.lines[0]
        assert "smol + lookup" in screen.lines[0]
