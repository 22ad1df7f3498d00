"""While the source is opened: what it is at and since when, and that it can be given up with nothing left behind."""

import asyncio
import sys
import threading
import time

import pytest

from engine.errors import EngineFault, Refused
from engine.loading import Loading
from engine.process.remote import RemoteRun
from engine.records import RoundSource
from engine.stages import Stage
from tests.limits import HANG
from tests.process.engines import REQUEST, gone
from tests.tui.runs import live
from tests.tui.screens import Screen
from tui.app import SpecstepApp
from tui.background import begun
from tui.lines import Line
from tui.marks import ASCII, UNICODE
from tui.opening import Live, Wanted
from tui.waiting import Waiting


def text(lines: list[Line]) -> list[str]:
    return ["".join(span.text for span in line) for line in lines]


def test_each_stage_is_told_with_the_time_it_took() -> None:
    now, stages = [0.0], list[Stage]()
    waiting = Waiting("loading", Loading(lambda: stages, clock=lambda: now[0]))
    stages.append(Stage("starting the engine"))
    assert "starting the engine  0.00 s, esc gives it up" in text([waiting.line(UNICODE)])[0]
    now[0] = 2.0
    stages.append(Stage("reading\x1b the prompt"))
    waiting.line(UNICODE)
    now[0] = 2.5

    lines = text(waiting.lines(ASCII, 50))
    assert lines[0] == "loading"
    assert [line.split() for line in lines[2:4]] == [
        ["+", "starting", "the", "engine", "2.00", "s"],
        ["}", "reading\\x1b", "the", "prompt", "0.50", "s"],
    ]
    assert {len(line) for line in lines[2:4]} == {50}


def at(stages: list[Stage], seconds: float, earlier: dict[str, float] | None = None) -> Waiting:
    """A wait whose last stage is as old as the whole."""
    now = [0.0]
    waiting = Waiting("loading", Loading(lambda: stages, earlier or {}, lambda: now[0]))
    waiting.line(ASCII)
    now[0] = seconds
    return waiting


def test_what_is_not_known_moves_without_a_number() -> None:
    waiting = at([Stage("loading base.onnx")], 3.0)
    lines = text(waiting.lines(ASCII, 40))
    assert set(lines[4]) == {"#", "-"}
    assert len(lines[4]) == 40
    assert lines[5] == "3.00 s so far; how long it takes is not"
    assert "%" not in "".join([*lines, *text([waiting.line(ASCII)])])
    assert lines[4] != text(at([Stage("loading base.onnx")], 3.3).lines(ASCII, 40))[4]


def test_bytes_that_are_counted_are_a_share_of_their_stage() -> None:
    stage = Stage("checking the files of smollm2", 135_000_000, 541_000_000)
    wide = text(at([stage], 1.0).lines(ASCII, 80))
    assert "135 of 541 MB" in wide[2]
    assert wide[4] == "#" * 11 + "-" * 37
    assert wide[5] == "24 % of this step"
    narrow = text(at([stage], 1.0).lines(ASCII, 40))
    assert narrow[3].strip() == "135 of 541 MB"
    assert max(map(len, narrow)) <= 40
    assert "24 %, 1.00 s, esc gives it up" in text([at([stage], 1.0).line(UNICODE)])[0]


def test_an_earlier_opening_makes_an_estimate_that_is_called_one() -> None:
    earlier = {"starting the engine": 1.0, "loading base.onnx": 4.0, "reading the prompt": 5.0}
    stages = [Stage("starting the engine")]
    now = [0.0]
    waiting = Waiting("loading", Loading(lambda: stages, earlier, lambda: now[0]))
    waiting.line(ASCII)
    now[0] = 1.0
    stages.append(Stage("loading base.onnx"))
    waiting.line(ASCII)
    now[0] = 3.0
    lines = text(waiting.lines(UNICODE, 60))
    assert lines[5] == "▇" * 14 + "─" * 34
    assert lines[6] == "about 30 %, an estimate: it took 10.0 s the last time"
    assert "about 30 %, 3.00 s" in text([waiting.line(UNICODE)])[0]
    now[0] = 60.0
    assert "about 48 %; it took 10.0 s the last time, and 60.0 s by" in text(waiting.lines(UNICODE, 60))[6]
    stages.append(Stage("reading the prompt, 37 tokens"))
    assert "about 50 %" in text([waiting.line(UNICODE)])[0]
    stages.append(Stage("a stage that the last time did not have"))
    assert "%" not in text([waiting.line(UNICODE)])[0]


@pytest.mark.parametrize("key", ["escape", "q", "ctrl+q"])
async def test_a_key_gives_the_opening_up(key: str) -> None:
    given_up = threading.Event()

    def opener() -> RoundSource:
        given_up.wait(HANG)
        raise Refused("given up")

    waiting = Waiting("loading", Loading(lambda: [Stage("reading the model")]), given_up.set)
    app = SpecstepApp(opener, UNICODE, waiting=waiting)
    async with app.run_test(size=(80, 24)) as pilot:
        screen = Screen(app, pilot)
        while "reading the model" not in screen.lines[-2]:
            await asyncio.sleep(0.01)
        await pilot.pause()
        assert any("▸ reading the model" in line for line in screen.lines)
        await pilot.press("n", "2", "g", "space")
        await pilot.press(key)
        assert given_up.is_set()
    assert app.return_value is None


async def test_without_stages_the_title_stands() -> None:
    app = SpecstepApp(live, ASCII, waiting="opening run.msgpack")
    async with app.run_test(size=(80, 24)) as pilot:
        await app.workers.wait_for_complete()
        await pilot.pause()
        assert app.is_running


def test_an_opening_that_is_given_up_leaves_no_engine() -> None:
    silent = f"{sys.executable} -c 'import time; time.sleep(600)'"
    opening = Live(Wanted(REQUEST, engine=silent))
    failed: list[EngineFault] = []

    def job() -> None:
        try:
            opening.open()
        except EngineFault as fault:
            failed.append(fault)

    thread = threading.Thread(target=job)
    thread.start()
    while opening._engine is None:
        time.sleep(0.01)
    engine = opening._engine
    assert engine is not None
    pid = engine.pid
    assert pid is not None
    opening.stop()
    thread.join(HANG)
    assert not thread.is_alive()
    assert failed
    assert gone(pid)
    opening.close()


def test_who_leaves_while_an_engine_is_started_leaves_none_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    opening, left, pids = Live(Wanted(REQUEST)), threading.Event(), list[int | None]()
    started = opening._started

    def late() -> RemoteRun:
        left.wait(HANG)
        engine = started()
        pids.append(engine.pid)
        return engine

    monkeypatch.setattr(opening, "_started", late)
    future = begun(opening.open, "open")
    while opening._idle.is_set():
        time.sleep(0.01)
    opening.stop()
    threading.Thread(target=left.set).start()
    opening.close()
    assert isinstance(future.exception(HANG), EngineFault)
    assert pids[0] is not None
    assert gone(pids[0])


def test_a_run_tells_the_stages_of_its_opening() -> None:
    opening = Live(Wanted(REQUEST))
    assert opening.stages() == (Stage("starting the engine"),)
    opening.open()
    assert opening.stages()[:2] == (Stage("starting the engine"), Stage("loading toy"))
    opening.close()
