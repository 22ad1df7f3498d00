"""The start of the screen: what it loads, that its first picture is the whole one, and what may take its time."""

import asyncio
import subprocess
import sys
from pathlib import Path

import pytest
from textual.strip import Strip

from engine.errors import Refused, TraceError
from engine.records import Round, RoundSource
from engine.trace.reader import open_trace
from tests.limits import HANG
from tests.tui.runs import Listed, drafted
from tests.tui.screens import Screen, running
from tui.app import SpecstepApp
from tui.marks import UNICODE
from tui.moment import Moment
from tui.opening import Ahead
from tui.panes.pane import Pane

ROOT = Path(__file__).parents[2]
TRACE = ROOT / "recordings" / "flip.msgpack"

START = """
import asyncio, sys
import tui.command, tui.commands.starting
from engine.trace.reader import open_trace
from tui.app import SpecstepApp
from tui.marks import UNICODE
from tui.opening import Ahead
from tui.panes.pane import Pane

painted, pictures = Pane.render_line, []

def render_line(pane, y):
    if not pictures:
        pictures.append(pane)
        asyncio.get_running_loop().call_soon(lambda: print(*sys.modules))
    return painted(pane, y)

async def start():
    ahead = Ahead(lambda: open_trace(sys.argv[1]))
    ahead()
    async with SpecstepApp(ahead, UNICODE, waiting="opening").run_test(size=(120, 40)):
        while not pictures:
            await asyncio.sleep(0.01)

Pane.render_line = render_line
asyncio.run(start())
"""


def test_the_first_picture_of_a_trace_needs_nothing_slow_and_nothing_that_is_asked_for_later() -> None:
    done = subprocess.run(
        [sys.executable, "-c", START, str(TRACE)], cwd=ROOT, capture_output=True, text=True, check=True, timeout=HANG
    )
    modules = set(done.stdout.splitlines()[0].split())
    assert {"textual.app", "tui.screens.main", "tui.panes.round"} <= modules
    slow = {"typer", "pydantic", "numpy", "onnxruntime", "tokenizers", "jinja2", "onnx", "gguf", "engine.trace.audit"}
    modal = {f"tui.screens.{name}" for name in ("help", "palette", "prompt", "listing", "compare", "sweep", "about")}
    assert not (slow | modal | {"engine.cli", "engine.live", "tui.features.exporting"}) & modules


@pytest.mark.parametrize("size", [(40, 12), (80, 24), (120, 40), (160, 50)])
async def test_the_first_picture_is_the_whole_one(size: tuple[int, int], monkeypatch: pytest.MonkeyPatch) -> None:
    ahead = Ahead(lambda: open_trace(TRACE))
    ahead()
    app = SpecstepApp(ahead, UNICODE, waiting="opening")
    painted, pictures = Pane.render_line, list[str]()

    def picture() -> str:
        """What of the screen stands above the pane of findings, which are looked for behind the first picture."""
        rows = app.screen._compositor.render_strips()
        return "\n".join("".join(segment.text for segment in row) for row in rows[: min(20, size[1])])

    def render_line(pane: Pane, y: int) -> Strip:
        if not pictures:
            pictures.append("")
            asyncio.get_running_loop().call_soon(lambda: pictures.append(picture()))
        return painted(pane, y)

    monkeypatch.setattr(Pane, "render_line", render_line)
    async with app.run_test(size=size) as pilot:
        screen = Screen(app, pilot)
        await screen.settle()
        assert "round 0/240" in pictures[1].splitlines()[0]
        assert pictures[1] == picture()


def test_what_is_opened_ahead_is_there_when_it_is_open_and_says_why_it_is_not() -> None:
    ahead = Ahead(lambda: open_trace(TRACE))
    assert ahead() is ahead()
    ahead.check()
    assert ahead.there

    failed = Ahead(lambda: open_trace(ROOT / "nowhere.msgpack"))
    with pytest.raises(TraceError, match="nowhere"):
        failed()
    assert not failed.there
    with pytest.raises(TraceError, match="nowhere"):
        failed.check()


async def test_what_cannot_be_opened_ends_the_app_with_the_reason() -> None:
    def refuse() -> RoundSource:
        raise Refused("no such model")

    app = SpecstepApp(refuse, UNICODE, waiting="opening")
    async with app.run_test(), asyncio.timeout(HANG):
        while app.return_value is None:
            await asyncio.sleep(0.005)

    assert str(app.return_value) == "no such model"


async def test_a_long_trace_is_usable_before_all_of_it_is_read() -> None:
    class Endless(Listed):
        def __len__(self) -> int:
            return 10_000_000

        def round(self, index: int) -> Round:
            return super().round(index % 5)

    async with running(Endless([drafted(i, i) for i in range(5)])) as screen:
        assert not screen.session.series.complete
        assert "rounds read" in screen.text
        screen.session.jump(9_000_000)
        await screen.press("n")
        assert screen.session.moment == Moment(9_000_001)
        assert "round 9000001/9999999" in screen.lines[0]
