"""Marks on rounds: set, listed, gone to, and there again when the trace is opened the next time."""

import json
import shutil
from pathlib import Path

import pytest

import recordings
from engine import paths
from engine.errors import SpecstepError
from engine.trace.reader import open_trace
from tests.tui.runs import Listed, drafted
from tests.tui.screens import running
from tui.bookmarks import Bookmarks, Sidecar

FLIP = Path(recordings.__file__).parent / "flip.msgpack"


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The platform's folder for state, as long as a test runs."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path / "state"


def test_marks_are_kept_for_a_trace_wherever_it_is(tmp_path: Path) -> None:
    marks = Bookmarks()
    marks.set(7, "  odd\u202e ")
    marks.set(3, "")
    Sidecar(tmp_path / "marks", FLIP).save(marks)
    moved = tmp_path / "moved.msgpack"
    shutil.copy(FLIP, moved)

    kept = Sidecar(tmp_path / "marks", moved)
    assert kept.load().names == {3: "", 7: "odd\u202e"}
    assert kept.file.stat().st_mode & 0o077 == 0
    assert kept.load().rounds == [3, 7]
    assert Sidecar(tmp_path / "marks", FLIP.with_name("recovery.msgpack")).load().names == {}


def test_without_marks_there_is_no_file(tmp_path: Path) -> None:
    kept, marks = Sidecar(tmp_path, FLIP), Bookmarks()
    marks.set(1, "x")
    kept.save(marks)
    marks.remove(1)
    marks.remove(1)
    kept.save(marks)

    assert not kept.file.exists()


@pytest.mark.parametrize(
    "damage", [b"", b"{", b"[]", b"null", b'{"marks": 3}', b'{"marks": {"x": "y"}}', b"\xff", b"[" * 9999]
)
def test_a_damaged_file_is_said_and_set_aside(damage: bytes, tmp_path: Path) -> None:
    kept = Sidecar(tmp_path, FLIP)
    kept.file.write_bytes(damage)

    with pytest.raises(SpecstepError, match="are damaged, and set aside"):
        kept.load()
    assert kept.file.with_suffix(".damaged").read_bytes() == damage
    assert kept.load().names == {}


def test_a_folder_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    marks = Bookmarks()
    marks.set(1, "x")

    with pytest.raises(SpecstepError, match="the mark holds until you leave"):
        Sidecar(tmp_path / "file" / "marks", FLIP).save(marks)


async def test_a_mark_is_set_listed_and_gone_to_and_there_again() -> None:
    with open_trace(FLIP) as trace:
        async with running(trace, (120, 40)) as screen:
            await screen.press("5", "n", "m", *"here", "enter")
            assert "round 5 is marked: here" in screen.lines[-2]
            assert "marked: here" in screen.text
            await screen.press("9", "n", "m", "enter", "p")
            assert screen.session.bookmarks.names == {5: "here", 14: "mark 2"}
            assert "◆" in screen.lines[-4]

            await screen.press("apostrophe")
            assert "here" in screen.text
            await screen.press("home", "enter")
            assert screen.session.moment.index == 5

    with open_trace(FLIP) as trace:
        async with running(trace, (80, 24)) as screen:
            await screen.press("2", "apostrophe")
            assert screen.session.moment.index == 14
            await screen.press("3", "apostrophe")
            assert "there is no mark 3" in screen.lines[-2]
            await screen.press("apostrophe", "home", "d", "escape")
            assert screen.session.bookmarks.names == {14: "mark 2"}
    assert [json.loads(file.read_text())["marks"] for file in paths.marks_dir().iterdir()] == [{"14": "mark 2"}]


async def test_what_is_no_trace_has_marks_as_long_as_it_is_shown(state: Path) -> None:
    async with running(Listed([drafted(i, 1) for i in range(3)])) as screen:
        await screen.press("apostrophe")
        assert "No round is marked yet" in screen.text
        await screen.press("escape", "m", "enter")
        assert screen.session.bookmarks.names == {0: "mark 1"}
    assert not state.exists()


async def test_a_damaged_file_of_marks_does_not_keep_a_trace_from_opening() -> None:
    kept = Sidecar(paths.marks_dir(), FLIP)
    kept.file.parent.mkdir(parents=True)
    kept.file.write_text("{")
    with open_trace(FLIP) as trace:
        async with running(trace, (120, 40)) as screen:
            assert "the marks kept for this trace are damaged" in screen.text
            await screen.press("n")
            assert screen.session.moment.index == 1
