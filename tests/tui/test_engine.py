"""The screen over an engine that is a process: lost and started again, forked at a key, or somebody else's."""

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from textual.widgets import Input

from engine.errors import Refused
from engine.options import Options
from engine.process.feed import FileFeed
from engine.process.remote import RemoteRun
from engine.process.watch import Watched
from engine.trace.reader import Trace
from engine.trace.writer import TraceWriter
from tests.process.engines import REQUEST, ROOT, engine, gone
from tests.trace.makes import a_run
from tests.tui.screens import Screen, running
from tui import changes, forking
from tui.live import LiveSource, save
from tui.opening import Live, Wanted
from tui.screens.main import MainScreen


@pytest.fixture
def run() -> Iterator[RemoteRun]:
    made = engine()
    yield made
    made.close()


@asynccontextmanager
async def stepped(run: RemoteRun, rounds: int) -> AsyncIterator[Screen]:
    """The screen over an engine that has made so many rounds."""
    async with running(LiveSource(run, run), size=(160, 40)) as screen:
        for digit in str(rounds):
            await screen.press(digit)
        await screen.press("n")
        assert len(screen.session.source) == rounds
        yield screen


async def test_rounds_that_are_owed_are_ordered_at_once_and_come_one_by_one(run: RemoteRun) -> None:
    async with stepped(run, 12) as screen:
        assert screen.session.moment.index == 11
        assert not run.pending
        await screen.press("9", "9", "9", "n")
        assert screen.session.ended
        assert screen.session.source.end is not None
        assert screen.session.source.end.reason == "max_tokens"


async def test_a_killed_engine_leaves_its_rounds_and_is_started_again_at_a_key(run: RemoteRun, tmp_path: Path) -> None:
    async with stepped(run, 5) as screen:
        assert run.pid is not None
        os.kill(run.pid, signal.SIGKILL)
        await screen.press("n")
        assert "fault" in screen.lines[-2]
        assert "ended by SIGKILL, making round 5; R starts it again" in screen.lines[-2]
        assert len(screen.session.source) == 5

        await screen.press("R")
        assert "the engine was started again: this is restart1, from round 5 on" in screen.lines[-2]
        assert (screen.session.moment.index, len(screen.session.source)) == (4, 5)
        await screen.press("n")
        assert len(screen.session.source) == 6
        save(screen.session.source, tmp_path / "again")
    with Trace(tmp_path / "again") as trace:
        assert trace.header.run["forked_at"] == 5
        assert [event.code for event in trace.events()] == ["restarted"]


async def test_a_round_that_takes_long_says_what_to_do_and_the_screen_can_be_left(
    run: RemoteRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(MainScreen, "LONG", 0.05)
    async with stepped(run, 3) as screen:
        assert run.pid is not None
        pid = run.pid
        os.kill(pid, signal.SIGSTOP)
        await screen.pilot.press("n")
        while "which takes long: R ends an engine that hangs" not in screen.lines[-2]:
            await asyncio.sleep(0.02)
        screen.main.action_quit()
    assert gone(pid)


async def test_an_engine_that_does_not_answer_is_ended_at_a_key(run: RemoteRun) -> None:
    async with stepped(run, 3) as screen:
        await screen.press("R")
        assert "the engine is there" in screen.lines[-2]
        assert run.pid is not None
        os.kill(run.pid, signal.SIGSTOP)
        await screen.pilot.press("n")
        await screen.pilot.pause()
        assert "making round 3" in screen.lines[-2]
        await screen.press("R")
        assert "ended by SIGKILL, making round 3" in screen.lines[-2]
        await screen.press("R")
        await screen.press("n")
        assert len(screen.session.source) == 4


async def test_a_fork_that_takes_long_is_shown_like_a_load_and_given_up_with_the_engine(
    run: RemoteRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(forking, "SOON", 0.0)
    async with stepped(run, 3) as screen:
        assert run.pid is not None
        os.kill(run.pid, signal.SIGSTOP)
        await screen.pilot.press("o")
        screen.app.screen.query_one(Input).value = "drafter=lookup"
        await screen.pilot.press("enter")
        while "opening drafter lookup" not in screen.lines[-2]:
            await asyncio.sleep(0.01)
        assert any("▸ opening drafter lookup" in line for line in screen.lines)
        assert screen.lines[-1].split() == ["esc", "give", "up", "t", "theme", "?", "help", "q", "quit"]
        await screen.press("escape")
        assert "the fork was given up, and the engine with it: R starts it again" in screen.lines[-2]
        assert len(screen.session.source) == 3

        await screen.press("R")
        assert "the engine was started again: this is restart1, from round 3 on" in screen.lines[-2]
        await screen.press("n")
        assert len(screen.session.source) == 4


async def test_the_screen_is_left_at_once_while_a_fork_is_made(run: RemoteRun, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forking, "SOON", 0.0)
    async with stepped(run, 2) as screen:
        assert run.pid is not None
        pid = run.pid
        os.kill(pid, signal.SIGSTOP)
        await screen.pilot.press("o")
        screen.app.screen.query_one(Input).value = "drafter=lookup"
        await screen.pilot.press("enter")
        await screen.pilot.pause()
        screen.main.action_quit()
        assert gone(pid)


async def test_other_options_fork_the_run_behind_the_cursor(run: RemoteRun) -> None:
    async with stepped(run, 6) as screen:
        await screen.press("p", "p", "o")
        screen.app.screen.query_one(Input).value = "k=0"
        await screen.press("enter")
        assert "k is 0" in screen.text
        screen.app.screen.query_one(Input).value = "k=1 drafter=lookup"
        await screen.press("enter")
        source = screen.session.source
        assert isinstance(source, LiveSource)
        assert (len(source), source.header.options["k"]) == (4, 1)
        assert [(branch.name, len(branch)) for branch in source.branches] == [("main", 6), ("fork1", 4)]
        await screen.press("n")
        assert screen.session.current is not None
        assert screen.session.current.limit == 1


async def test_a_run_that_somebody_else_makes_is_followed_at_its_end(tmp_path: Path) -> None:
    made, path = a_run(rounds=6), tmp_path / "run"
    with TraceWriter(path) as writer:
        writer.write(made.header)
        writer.write(made.rounds[0])
        watched = Watched(FileFeed(path))
        watched.refresh()
        async with running(watched) as screen:
            assert screen.session.moment.index == 0
            for count, round_ in enumerate(made.rounds[1:4], 2):
                writer.write(round_)
                await _until(screen, count)
                assert screen.session.moment.index == count - 1
            await screen.press("p")
            writer.write(made.rounds[4])
            await _until(screen, 5)
            assert screen.session.moment.index == 2
            await screen.press("R")
            assert "only a live run can be gone on with" in screen.lines[-2]
    watched.close()


async def _until(screen: Screen, rounds: int) -> None:
    await screen.until(lambda: len(screen.session.series) == rounds)


def test_a_run_is_opened_as_a_process_and_quitting_ends_it(tmp_path: Path) -> None:
    live = Live(Wanted(REQUEST, tmp_path / "run.msgpack"))
    source = live.open()
    round_ = source.make()
    assert round_ is not None
    assert isinstance(source.engine, RemoteRun)
    pid = source.engine.pid
    assert pid is not None
    live.close()
    assert gone(pid)
    with Trace(tmp_path / "run.msgpack") as trace:
        assert trace.round(0) == round_
        assert trace.end is not None
        assert trace.end.reason == "aborted"


def test_for_debugging_the_engine_runs_in_the_screens_own_process() -> None:
    live = Live(Wanted(REQUEST, in_process=True))
    source = live.open()
    assert [stage.text for stage in live.stages()][:2] == [
        "starting the engine in this process",
        "reading the prompt, 5 tokens",
    ]
    assert source.make() is not None
    assert source.engine is None
    branch = source.fork(0, drafter="none")
    assert branch.header.drafter is None
    live.close()


def test_an_engine_elsewhere_is_told_what_was_given(tmp_path: Path) -> None:
    command = f"env -i PYTHONPATH={ROOT} {sys.executable} -m engine engine --wait --model toy --drafter none --k 2"
    live = Live(Wanted(REQUEST, engine=command, words={"prompt": "hi", "options": {"max_tokens": 4}}))
    header = live.open().header
    live.close()
    assert (header.prompt, header.options["k"], header.options["max_tokens"]) == ((104, 105), 2, 4)


@pytest.mark.parametrize(
    ("text", "changed", "drafter"),
    [
        ("k=5", {"k": 5}, None),
        ("bar=2 window=4", {"fallback_below": 2.0, "fallback_window": 4}, None),
        ("drafter=lookup:n=3,match=earliest", None, "lookup:n=3,match=earliest"),
        ("temperature=0.7 seed=9", {"temperature": 0.7, "seed": 9, "sampler": "rejection"}, None),
        ("temperature=1 sampler=gumbel", {"temperature": 1.0, "sampler": "gumbel"}, None),
        ("form=two-pass tau=.5", {"form": "two-pass", "tau": 0.5}, None),
    ],
)
def test_changes_are_read_as_they_are_typed(text: str, changed: dict[str, object] | None, drafter: str | None) -> None:
    options = Options().as_map()
    expected = None if changed is None else Options.from_map({**options, **changed})
    assert changes.read(text, options) == (expected, drafter)


@pytest.mark.parametrize(
    ("text", "says"),
    [("bar=x", "bar is 'x': give a number"), ("window=2.5", "window is '2.5': give a whole number")],
)
def test_a_value_that_is_no_number_is_refused_in_plain_words(text: str, says: str) -> None:
    with pytest.raises(Refused, match=f"^{says}$"):
        changes.read(text, Options().as_map())


async def test_what_is_too_long_for_the_line_is_told_whole_above_it(run: RemoteRun) -> None:
    async with running(LiveSource(run, run), size=(80, 24)) as screen:
        await screen.press("o")
        screen.app.screen.query_one(Input).value = "drafter=foo"
        await screen.press("enter")
        assert "the toy base has no drafter 'foo', it has" in screen.text
        assert "and none" in screen.text


@pytest.mark.parametrize("text", ["k", "k=", "speed=3", "k=many", "k=0", "tau=2", "sampler=gumbel", "stop_tokens=3"])
def test_changes_that_make_no_sense_are_refused(text: str) -> None:
    with pytest.raises(Refused):
        changes.read(text, Options().as_map())
