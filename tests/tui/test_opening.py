"""The list of traces: what comes with specstep and what was opened lately, each told, and opened in place."""

import json
from pathlib import Path

import pytest

from engine import paths
from tests.trace.makes import a_run, write_run
from tests.tui.runs import live
from tests.tui.screens import Screen, running
from tui.marks import ASCII
from tui.recent import LIMIT, remember, remembered
from tui.screens.traces import TracesScreen
from tui.traces import BUNDLED, about, entries, is_bundled


@pytest.fixture(autouse=True)
def own_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


def test_the_newest_comes_first_once_and_the_oldest_are_forgotten(tmp_path: Path) -> None:
    file = tmp_path / "some" / "recent.json"
    for i in (*range(LIMIT + 5), 3, 7):
        remember(file, tmp_path / f"run{i}")

    names = [path.name for path in remembered(file)]
    assert names[:3] == ["run7", "run3", "run24"]
    assert len(names) == len(set(names)) == LIMIT


@pytest.mark.parametrize("text", ["", "{", "[1, null, {}]", '{"a": 1}', '"run"', "[" * 100_000, "\udcff"])
def test_a_damaged_list_is_empty_and_is_replaced(tmp_path: Path, text: str) -> None:
    file = tmp_path / "recent.json"
    file.write_text(text, encoding="utf-8", errors="surrogateescape")

    assert remembered(file) == []
    remember(file, tmp_path / "run")
    assert remembered(file) == [tmp_path / "run"]


def test_a_list_that_cannot_be_written_is_no_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    remember(tmp_path / "file" / "recent.json", tmp_path / "run")


def test_the_list_holds_recent_traces_that_are_there_and_all_recordings(tmp_path: Path) -> None:
    there = write_run(tmp_path / "run.msgpack", a_run(rounds=2))
    listed = entries([there, tmp_path / "gone"])

    assert [entry.name for entry in listed if entry.kind == "recent"] == ["run.msgpack"]
    assert {"flip", "two-pass"} <= {entry.name for entry in listed if entry.kind == "bundled"}
    assert {"near-tie", "torn-trace"} <= {entry.name for entry in listed if entry.kind == "fault"}
    assert is_bundled(BUNDLED / "faults" / "overshoot.msgpack")
    assert not is_bundled(there)


def test_a_trace_is_told_by_what_is_in_it(tmp_path: Path) -> None:
    flip = about(BUNDLED / "flip.msgpack")
    assert flip.flip is not None
    assert flip.findings is None
    shot = about(BUNDLED / "faults" / "overshoot.msgpack")
    assert shot.findings
    assert "runs past the limit" in shot.says
    torn = about(BUNDLED / "faults" / "torn-trace.msgpack")
    assert "torn at byte" in torn.says
    (tmp_path / "junk").write_bytes(b"no trace")
    junk = about(tmp_path / "junk")
    assert junk.broken
    assert "junk" in junk.says


async def listing(screen: Screen) -> TracesScreen:
    await screen.press("O")
    listed = screen.app.screen
    assert isinstance(listed, TracesScreen)
    return listed


async def test_a_recording_is_opened_in_place_of_a_live_run_and_the_run_again() -> None:
    source = live()
    async with running(source, (100, 60)) as screen:
        await screen.press("3", "n")
        listed = await listing(screen)
        assert "the run that is made here, 3 rounds" in screen.lines[2]
        row = next(i for i, line in enumerate(screen.lines) if "two-pass" in line)
        await screen.pilot.click("Listing", offset=(12, row))
        await screen.pilot.click("Listing", offset=(12, row))
        await screen.settle()
        assert not listed.is_attached
        assert "two-pass" in screen.lines[0] or "replay" in screen.lines[0]
        assert not screen.session.source.live
        await screen.press("n")
        assert screen.session.moment.index == 1

        await listing(screen)
        await screen.press("home", "enter")
        assert screen.session.source is source
        await screen.press("end", "n", "n", "n", "n")
        assert len(source) >= 4


async def test_what_was_opened_is_listed_and_told(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run[bold].msgpack", a_run(rounds=3))
    gone = tmp_path / "broken.msgpack"
    gone.write_bytes(b"junk")
    remember(paths.recent_file(), gone)
    remember(paths.recent_file(), run)
    async with running(live(), (200, 24), ASCII) as screen:
        await listing(screen)
        assert "recent   run[bold].msgpack" in screen.lines[3]
        assert "cannot be read" in screen.lines[4]
        assert screen.text.isascii()
        await screen.press("down", "enter")
        assert screen.session.source.header.base.name in screen.lines[0]
        await listing(screen)
        await screen.press("down", "down", "enter")
        assert "broken.msgpack: not a trace" in screen.text
    assert json.loads(paths.recent_file().read_text(encoding="utf-8"))[0] == str(run)


async def test_what_is_learnt_of_a_trace_when_the_list_is_gone_is_no_matter() -> None:
    async with running(live(), (80, 24)) as screen:
        listed = await listing(screen)
        await screen.press("escape")
        listed.learn(entries([])[0], about(BUNDLED / "flip.msgpack"))
        await screen.press("n")
        assert screen.session.moment.index == 0


@pytest.mark.parametrize("width", [40, 60, 80, 120])
async def test_the_list_tells_rounds_and_findings_at_any_width(width: int) -> None:
    async with running(live(), (width, 24)) as screen:
        await screen.press("O")
        while "looking into it" in screen.text:
            await screen.settle()

        row = next(line for line in screen.lines if " anchor-lo" in line)
        assert row.split()[-4:] == ["15", "–", "!", "7"]
        assert ("specstep-6m" in row) is (width >= 80)
