"""The command: what it refuses, what it loads, and the real program in a real terminal."""

import importlib
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from engine.commands.table import COMMANDS
from engine.trace.reader import open_trace
from engine.version import VERSION
from tests.limits import HANG
from tests.tui.runs import finished, live
from tui.command import is_plain
from tui.commands.showing import obey_no_color
from tui.commands.table import OWN
from tui.live import save

ROOT = Path(__file__).parents[2]
SPECSTEP = "from tui.command import main; main()"


def run(*words: str) -> "subprocess.CompletedProcess[str]":
    """The command in a process of its own, without a terminal."""
    return subprocess.run(
        [sys.executable, "-c", SPECSTEP, *words],
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=HANG,
        check=False,
    )


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("traces") / "run.msgpack"
    save(finished(live()), path)
    return path


def test_without_a_terminal_the_screen_is_refused_in_a_line_that_names_what_works(trace: Path) -> None:
    done = run(str(trace))

    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.count("\n") == 1
    assert "specstep stats TRACE" in done.stderr


def test_with_its_input_closed_the_screen_is_refused_too(trace: Path) -> None:
    line = ["sh", "-c", 'exec "$@" <&-', "sh", sys.executable, "-c", SPECSTEP, str(trace)]
    done = subprocess.run(line, cwd=ROOT, capture_output=True, text=True, timeout=HANG, check=False)

    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "specstep stats TRACE" in done.stderr


def test_the_version_needs_no_terminal() -> None:
    done = run("--version")

    assert (done.returncode, done.stdout, done.stderr) == (0, f"specstep {VERSION}\n", "")


def test_help_names_every_command() -> None:
    named = " ".join(run("--help").stdout.partition("Commands: ")[2].partition(";")[0].split())

    assert named.split(", ") == [*OWN, *COMMANDS]


def test_a_first_word_that_is_a_command_needs_no_terminal(trace: Path) -> None:
    done = run("stats", str(trace))

    assert done.returncode == 0
    assert done.stdout


def test_commands_do_not_load_the_screen(trace: Path) -> None:
    code = "import sys; from tui.command import main\ntry: main()\nfinally: print('textual' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code, "stats", str(trace)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=HANG,
        check=False,
    )

    assert done.stdout.endswith("False\n")


@pytest.mark.parametrize(
    ("line", "environ", "plain"),
    [
        ("", {}, True),
        ("run.msgpack", {}, True),
        ("statistics", {}, True),
        ("run.msgpack", {"DFLASH2_K": "5"}, True),
        ("", {"DFLASH2_K": "5"}, False),
        ("", {"DFLASH2_FALLBACK": "2"}, False),
        ("", {"DFLASH2_FALLBACK_ROUNDS": "2"}, False),
        ("", {"_SPECSTEP_COMPLETE": "complete_bash"}, False),
        ("--follow", {}, False),
        ("run.msgpack --follow", {}, False),
        ("run.msgpack other.msgpack", {}, False),
        ("--show-completion", {}, False),
        *((name, {}, False) for name in (*COMMANDS, *OWN)),
    ],
)
def test_only_a_line_without_options_is_started_without_reading_it(
    line: str, environ: dict[str, str], plain: bool
) -> None:
    assert is_plain(line.split(), environ) is plain


@pytest.mark.parametrize("place", [*COMMANDS.values(), *OWN.values()])
def test_every_command_stands_where_the_tables_say(place: str) -> None:
    module, _, name = place.partition(":")
    assert callable(getattr(importlib.import_module(module), name))


def test_help_names_the_screen_and_the_commands() -> None:
    done = run("--help")

    assert done.returncode == 0
    for word in ("TRACE", "--unicode", "--no-mouse", "--theme", "--record", "--prompt", "--fallback", "stats"):
        assert word in done.stdout


@pytest.mark.parametrize(
    ("value", "asked", "theme", "kept"),
    [
        ("1", "specstep-dark", "ansi-dark", True),
        ("1", "ansi-light", "ansi-light", True),
        ("", "specstep-dark", "specstep-dark", False),
        (None, "specstep-light", "specstep-light", False),
    ],
)
def test_no_color_selects_a_theme_without_colours_and_an_empty_one_nothing(
    value: str | None, asked: str, theme: str, kept: bool
) -> None:
    environ = {} if value is None else {"NO_COLOR": value}

    assert obey_no_color(environ, asked) == theme
    assert ("NO_COLOR" in environ) is kept


class Terminal:
    """A terminal of 80 by 24 that tmux keeps."""

    def __init__(self, socket: str) -> None:
        self._tmux = ["tmux", "-L", socket, "-f", os.devnull]

    def start(self, command: str) -> None:
        self._run("new-session", "-d", "-x", "80", "-y", "24", command)
        self._run("set-option", "remain-on-exit", "on")

    def press(self, *keys: str) -> None:
        self._run("send-keys", *keys)

    def until(self, words: str, *, colours: bool = False) -> str:
        """What it shows, as soon as it shows ``words``."""
        deadline = time.monotonic() + HANG
        while time.monotonic() < deadline:
            dead = self._run("display-message", "-p", "#{pane_dead}").strip() == "1"
            shown = self._run("capture-pane", "-p", *(["-e"] if colours else []))
            if words in shown:
                return shown
            assert not dead, f"the program ended without {words!r}:\n{shown}"
            time.sleep(0.1)
        raise AssertionError(f"{words!r} did not appear in\n{shown}")

    def stop(self) -> None:
        subprocess.run([*self._tmux, "kill-server"], check=False, capture_output=True)

    def _run(self, *words: str) -> str:
        return subprocess.run([*self._tmux, *words], check=True, capture_output=True, text=True, timeout=HANG).stdout


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[Terminal]:
    if shutil.which("tmux") is None:
        pytest.skip("tmux is not installed, and the program needs a terminal to be seen in")
    # A server of its own for each test: the last one's may still be on its way out.
    terminal = Terminal(f"specstep-{os.getpid()}-{tmp_path.name}")
    yield terminal
    terminal.stop()


def test_the_program_steps_saves_and_quits_in_a_real_terminal(terminal: Terminal, tmp_path: Path) -> None:
    record = tmp_path / "recorded.msgpack"
    arguments = f"--model toy --drafter scripted:takes=3-0-2 --max-tokens 30 --fallback 2 --record {record}"
    terminal.start(f"cd {ROOT} && {sys.executable} -c '{SPECSTEP}' {arguments}; echo status $?; sleep 60")

    terminal.until("n makes a round")
    terminal.press("n", "n")
    terminal.until("round 1/1")
    terminal.press("s")
    terminal.until("[draft]")
    terminal.press("g")
    terminal.until("go to")
    terminal.press("0", "Enter")
    terminal.until("round 0/2")
    terminal.press("q")
    terminal.until("status 0")

    with open_trace(record) as recorded:
        assert len(recorded) == 3
        assert recorded.end is not None
        assert recorded.end.reason == "aborted"


STUCK = "import threading, engine.{module} as at; at.{name} = lambda _: threading.Event().wait(); {start}"


def test_a_load_in_this_process_does_not_keep_the_program(terminal: Terminal) -> None:
    code = STUCK.format(module="faults.running", name="opened", start=SPECSTEP)
    terminal.start(f"cd {ROOT} && {sys.executable} -c '{code}' --in-process --model toy; echo status $?; sleep 60")

    terminal.until("starting the engine in this process")
    terminal.press("q")
    terminal.until("status 0")


def test_a_fork_in_this_process_does_not_keep_the_program_and_what_was_recorded_is_whole(
    terminal: Terminal, tmp_path: Path
) -> None:
    record = tmp_path / "recorded.msgpack"
    code = STUCK.format(module="drafters.named", name="lookup", start=SPECSTEP)
    arguments = f"--in-process --model toy --drafter none --record {record}"
    terminal.start(f"cd {ROOT} && {sys.executable} -c '{code}' {arguments}; echo status $?; sleep 60")

    terminal.until("n makes a round")
    terminal.press("n")
    terminal.until("round 0/0")
    terminal.press("o")
    terminal.until("Fork after 1 rounds")
    terminal.press("drafter=lookup", "Enter")
    terminal.until("opening drafter lookup")
    terminal.until("it cannot be given up in this process")
    terminal.press("q")
    terminal.until("status 0")

    with open_trace(record) as recorded:
        assert len(recorded) == 1
        assert recorded.end is not None


def test_with_no_color_the_terminal_is_sent_no_colours(terminal: Terminal, trace: Path) -> None:
    terminal.start(f"cd {ROOT} && NO_COLOR=1 {sys.executable} -c '{SPECSTEP}' {trace}")

    shown = terminal.until("paused", colours=True)

    assert "\x1b[38" not in shown
    assert "\x1b[48" not in shown
    assert not any(f"\x1b[{code}m" in shown for code in range(31, 38))
