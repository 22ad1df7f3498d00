"""``specstep`` itself: one command for the screen and for all that needs none."""

import os
import subprocess
import sys
from pathlib import Path

from tests.cli.commands import ROOT, recorded
from tests.limits import HANG

ENTRY = "import sys; sys.argv[0] = 'specstep'; from tui.command import main; main()"


def specstep(*arguments: str | Path, **env: str) -> subprocess.CompletedProcess[str]:
    """The installed command, without a terminal."""
    return subprocess.run(
        [sys.executable, "-c", ENTRY, *map(str, arguments)],
        cwd=ROOT,
        env={**os.environ, **env},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=HANG,
    )


def test_a_command_needs_no_terminal(tmp_path: Path) -> None:
    trace = recorded(tmp_path / "run.msgpack")
    for words in (("stats", trace), ("trace", "info", trace)):
        shown = specstep(*words)
        assert (shown.returncode, shown.stderr) == (0, "")
        assert shown.stdout


def test_the_screen_without_a_terminal_is_refused_in_one_line_that_names_what_works(tmp_path: Path) -> None:
    for words in ((), (recorded(tmp_path / "run.msgpack"),)):
        refused = specstep(*words)
        assert (refused.returncode, refused.stdout) == (2, "")
        assert refused.stderr.count("\n") == 1
        assert "specstep stats TRACE" in refused.stderr


def test_an_error_of_ours_is_one_line_and_its_status() -> None:
    for words, status in ((("stats", "nowhere"), 4), (("record", "--model", "nowhere"), 2)):
        failed = specstep(*words)
        assert (failed.returncode, failed.stderr.count("\n"), failed.stdout) == (status, 1, "")


def test_the_shell_can_complete_commands() -> None:
    asked = {"_SPECSTEP_COMPLETE": "complete_bash", "COMP_WORDS": "specstep st", "COMP_CWORD": "1"}
    assert specstep(**asked).stdout.split() == ["stats"]
    # Typer else asks which shell this process descends from, and a test may descend from none.
    named = {"_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1"}
    assert "specstep" in specstep("--show-completion", "bash", **named).stdout
