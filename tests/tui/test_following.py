"""A trace that grows is followed or looked at, and what became of its writer is said; a torn one says where."""

from pathlib import Path

import pytest

from engine.trace.reader import Trace, open_trace
from engine.trace.writer import TraceWriter
from tests.trace.makes import a_run, write_run
from tests.tui.runs import finished, live
from tests.tui.screens import Screen, running
from tui.features.following import Following


async def until(screen: Screen, rounds: int) -> None:
    await screen.until(lambda: len(screen.session.series) == rounds)


async def test_f_follows_a_trace_without_an_end_and_pauses(tmp_path: Path) -> None:
    made, path = a_run(rounds=6), tmp_path / "run"
    with TraceWriter(path) as writer:
        writer.write(made.header)
        for round_ in made.rounds[:2]:
            writer.write(round_)
        async with running(open_trace(path)) as screen:
            assert "there is no end record, 2 rounds were read; f follows" in screen.lines[-2]
            assert screen.session.moment.index == 0

            await screen.press("f")
            assert screen.lines[-2].startswith(" following")
            assert screen.session.moment.index == 1
            writer.write(made.rounds[2])
            await until(screen, 3)
            assert screen.session.moment.index == 2

            await screen.press("p")
            assert screen.lines[-2].startswith(" paused")
            writer.write(made.rounds[3])
            await until(screen, 4)
            assert screen.session.moment.index == 1

            await screen.press("f", "f")
            assert screen.session.moment.index == 3
            assert not screen.session.following
            await screen.press("f")
            for record in (*made.rounds[4:], made.end):
                writer.write(record)
            await until(screen, 6)
            await screen.until(lambda: not screen.session.following)
            assert "end of trace" in screen.lines[-2]
            assert screen.session.moment.index == 5
            await screen.press("f")
            assert "nothing more comes: the run has ended" in screen.lines[-2]


async def test_a_writer_that_is_silent_is_said_to_be(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made, path, now = a_run(rounds=2), tmp_path / "run", [0.0]
    monkeypatch.setattr(Following, "clock", lambda _: now[0])
    with TraceWriter(path) as writer:
        writer.write(made.header)
        writer.write(made.rounds[0])
        async with running(Trace(path, follow=True)) as screen:
            assert "rounds are shown as they come, f pauses" in screen.lines[-2]
            now[0] = 42.5
            await screen.until(lambda: screen.session.quiet == 42)
            assert "nothing new for 42 s: the writer is slow, or it died" in screen.lines[-2]
            writer.write(made.rounds[1])
            await until(screen, 2)
            assert "rounds are shown as they come" in screen.lines[-2]


async def test_a_trace_that_is_cut_while_it_is_followed_is_said(tmp_path: Path) -> None:
    path = write_run(tmp_path / "run", a_run(rounds=4), index=False)
    data = path.read_bytes()
    path.write_bytes(data[:-40])
    async with running(Trace(path, follow=True)) as screen:
        rounds = len(screen.session.source)
        path.write_bytes(data[: len(data) // 4])
        await screen.until(lambda: not screen.session.following)
        assert "was cut or replaced" in screen.text
        assert len(screen.session.source) == rounds


async def test_a_torn_trace_says_where_and_how_many_rounds_are_good(tmp_path: Path) -> None:
    path = write_run(tmp_path / "run", a_run(rounds=4), index=False)
    data = path.read_bytes()
    path.write_bytes(data[: len(data) * 2 // 3])
    with open_trace(path) as trace:
        torn, rounds = trace.torn, len(trace)
        assert torn is not None
        async with running(trace, (100, 30)) as screen:
            assert f"torn at byte {torn.byte}, {rounds} rounds were read; f follows" in screen.lines[-2]
            assert "torn" in screen.lines[0]
            await screen.press("9", "n")
            assert f"end of trace  torn at byte {torn.byte}" in screen.lines[-2]


async def test_a_run_that_is_made_here_is_not_followed() -> None:
    async with running(live()) as screen:
        await screen.press("f")
        assert "this run is made here: space runs it" in screen.lines[-2]
    async with running(finished(live())) as screen:
        await screen.press("f")
        assert "the run has ended" in screen.lines[-2]
