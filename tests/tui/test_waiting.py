"""While the source is opened: what it is at and since when, and that it can be given up with nothing left behind."""

import asyncio
import sys
import threading
import time

import pytest

from engine.errors import EngineFault, Refused
from engine.records import RoundSource
from tests.process.engines import REQUEST, gone
from tests.tui.runs import live
from tests.tui.screens import Screen
from tui.app import SpecstepApp
from tui.lines import Line
from tui.marks import ASCII, UNICODE
from tui.opening import Live, Wanted
from tui.waiting import Waiting


def text(lines: list[Line]) -> list[str]:
    return ["".join(span.text for span in line) for line in lines]


def test_each_stage_is_told_with_the_time_it_took() -> None:
    now, stages = [0.0], list[str]()
    waiting = Waiting("loading", lambda: stages, clock=lambda: now[0])
    stages.append("starting the engine")
    assert "starting the engine  0.00 s, esc gives it up" in text([waiting.line(UNICODE)])[0]
    now[0] = 2.0
    stages.append("reading\x1b the prompt")
    waiting.line(UNICODE)
    now[0] = 2.5

    lines = text(waiting.lines(ASCII, 50))
    assert lines[0] == "loading"
    assert [line.split() for line in lines[2:]] == [
        ["+", "starting", "the", "engine", "2.00", "s"],
        ["}", "reading\\x1b", "the", "prompt", "0.50", "s"],
    ]
    assert {len(line) for line in lines[2:]} == {50}


@pytest.mark.parametrize("key", ["escape", "q", "ctrl+q"])
async def test_a_key_gives_the_opening_up(key: str) -> None:
    given_up = threading.Event()

    def opener() -> RoundSource:
        given_up.wait(30)
        raise Refused("given up")

    waiting = Waiting("loading", lambda: ["reading the model"], given_up.set)
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
    thread.join(30)
    assert not thread.is_alive()
    assert failed
    assert gone(pid)
    opening.close()


def test_a_run_tells_the_stages_of_its_opening() -> None:
    opening = Live(Wanted(REQUEST))
    assert opening.stages() == ("starting the engine",)
    opening.open()
    assert opening.stages()[:2] == ("starting the engine", "loading toy")
    opening.close()
