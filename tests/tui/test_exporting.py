"""Export and copy: whole files of the form asked for, nothing written over, every failure in a sentence."""

import json
from pathlib import Path

import pytest

import recordings
from engine import paths
from engine.errors import Refused, TraceError
from engine.trace.reader import open_trace
from tests.tui.runs import Listed, drafted, finished, live
from tests.tui.screens import Screen, running
from tests.tui.test_text import steers
from tui.exporting import target_of, text_of, write

FLIP = Path(recordings.__file__).parent / "flip.msgpack"


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The platform's folder for state, as long as a test runs."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


async def export(screen: Screen, path: Path) -> None:
    """Press X, and give this path in place of the proposed one."""
    await screen.press("X", "ctrl+u")
    screen.app.screen.query_one("Input").insert_text_at_cursor(str(path))  # type: ignore[attr-defined]
    await screen.press("enter")


@pytest.mark.parametrize(
    ("name", "begins", "holds"),
    [
        ("a.svg", "<svg", "specstep"),
        ("a.html", "<!doctype html>", "accepted draft"),
        ("a.txt", "", "def"),
        ("a.json", '{\n  "type": "round"', '"index": 3'),
    ],
)
async def test_the_end_of_the_name_says_what_is_written(name: str, begins: str, holds: str, tmp_path: Path) -> None:
    with open_trace(FLIP) as trace:
        async with running(trace, (100, 30)) as screen:
            await screen.press("3", "n")
            await export(screen, tmp_path / name)
            assert "written: " in screen.text

            text = (tmp_path / name).read_text(encoding="utf-8")
            assert text.lower().startswith(begins)
            assert holds in text

            await export(screen, tmp_path / name)
            assert "is there already: give another name" in " ".join(screen.text.split())
            assert (tmp_path / name).read_text(encoding="utf-8") == text


async def test_the_picture_is_of_the_screen_and_not_of_the_question(tmp_path: Path) -> None:
    async with running(finished(live()), (100, 30)) as screen:
        await export(screen, tmp_path / "a.svg")
        assert "this&#160;screen" not in (tmp_path / "a.svg").read_text(encoding="utf-8")


def test_a_live_run_has_a_report_too(tmp_path: Path) -> None:
    write(tmp_path / "a.html", finished(live()), 0, "")

    assert "mean" in (tmp_path / "a.html").read_text(encoding="utf-8")


def test_the_text_is_whole_and_steers_nothing() -> None:
    source = Listed(
        [drafted(0, 0, emitted=(0, 1, 2, 3)), drafted(1, 0, emitted=(4,))],
        pieces={0: b"caf\xc3", 1: b"\xa9\n", 2: b"\tx\x1b[2J", 3: "\u202e日".encode(), 4: b"\xe2\x82", 9: b"> "},
        prompt=(9,),
    )

    assert "".join(text_of(source, 2)) == "> café\n\tx‹U+001B›[2J‹U+202E›日‹E2 82›\n"
    assert "".join(text_of(source, 1)) == "> café\n\tx‹U+001B›[2J‹U+202E›日\n"


def test_a_name_without_a_form_or_a_folder_is_refused(tmp_path: Path) -> None:
    for name, why in (("a.png", "let the name end in one of"), ("no/a.svg", "no such folder")):
        with pytest.raises(Refused, match=why):
            target_of(str(tmp_path / name))
    (tmp_path / "link.svg").symlink_to(tmp_path / "nowhere")
    with pytest.raises(Refused, match="is there already"):
        target_of(str(tmp_path / "link.svg"))


def test_a_place_that_takes_nothing_is_said_and_nothing_is_left(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(TraceError, match=r"a\.txt: not a directory; the export is not whole"):
        write(tmp_path / "file" / "a.txt", finished(live()), 0, "")
    with pytest.raises(TraceError, match="no space left on device"):
        write(Path("/dev/full"), finished(live()), 0, "")
    assert [each.name for each in tmp_path.iterdir()] == ["file"]


async def test_copy_goes_to_the_clipboard_and_to_a_file_and_says_both() -> None:
    async with running(finished(live()), (120, 40)) as screen:
        await screen.press("2", "escape", "y")
        copied = screen.app.clipboard
        assert "drafts accepted" in copied
        assert not steers(copied.replace("\n", ""))
        (file,) = paths.copies_dir().iterdir()
        assert file.read_text(encoding="utf-8") == copied
        assert "copied to the clipboard and " in screen.text

        await screen.press("y")
        assert len(list(paths.copies_dir().iterdir())) == 2


async def test_a_copy_without_a_file_is_still_in_the_clipboard(tmp_path: Path) -> None:
    (tmp_path / "state").write_text("")
    async with running(finished(live()), (120, 40)) as screen:
        await screen.press("y")
        assert screen.app.clipboard
        assert "clipboard only, not to a file" in screen.text


async def test_the_round_as_json_is_what_show_writes(tmp_path: Path) -> None:
    source = finished(live())
    write(tmp_path / "a.json", source, 2, "")

    assert json.loads((tmp_path / "a.json").read_text(encoding="utf-8"))["index"] == 2
