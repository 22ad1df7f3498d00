"""What a long command is at is shown on a terminal, in a line that goes again; and nowhere else."""

import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from engine.commands.progress import line
from engine.loading import Loading
from engine.stages import Stage
from tests.cli.commands import ROOT, process
from tests.limits import HANG
from tests.models import tiny

RUN = ("--prompt", "def", "--max-tokens", "4", "--drafter", "lookup")
SLOW = """
import time
from engine.commands.progress import shown
from engine.stages import stage
with shown():
    stage("loading base.onnx")
    time.sleep(1)
    stage("checking", 4_000_000)(2_000_000)
    time.sleep(1)
"""


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tiny")
    tiny.write(folder, tiny.networks(1))
    return folder


def on_a_terminal(*arguments: str | Path, **environ: str) -> tuple[int, str]:
    """Status and stderr of Python with these arguments, whose stderr is a terminal."""
    ours, theirs = pty.openpty()
    env = {**os.environ, "TERM": "xterm", **environ}
    child = subprocess.Popen(
        [sys.executable, *map(str, arguments)], cwd=ROOT, env=env, stdout=subprocess.DEVNULL, stderr=theirs
    )
    os.close(theirs)
    written = b""
    try:
        while piece := os.read(ours, 1 << 16):
            written += piece
    except OSError:  # how a terminal says on Linux that its other end is closed
        pass
    os.close(ours)
    return child.wait(HANG), written.decode()


def test_stages_are_shown_on_a_terminal_and_gone_at_the_end() -> None:
    code, err = on_a_terminal("-c", SLOW)
    assert code == 0
    assert "loading base.onnx  [" in err
    assert "] 50 %  2 of 4 MB" in err
    assert err.endswith("\r\x1b[K")


@pytest.mark.parametrize("command", ["record", "probe"])
def test_a_command_keeps_the_times_of_what_it_opened(model: Path, tmp_path: Path, command: str) -> None:
    output = ("-o", tmp_path / "run.msgpack") if command == "record" else ("--plain-width", "2")
    words = ("-m", "engine", command, "--model", model, *RUN, *output)
    code, err = on_a_terminal(*words, XDG_CACHE_HOME=str(tmp_path))
    assert (code, err.rpartition("\x1b[K")[2]) == (0, "")
    kept = json.loads((tmp_path / "specstep" / "loads.json").read_text())
    assert "loading base.onnx" in kept[f"{model} on cpu, {command}"]


def test_nothing_is_shown_where_there_is_no_terminal_or_a_dumb_one(model: Path, tmp_path: Path) -> None:
    words = ("record", "--model", model, *RUN, "-o")
    assert process(*words, tmp_path / "a.msgpack").stderr == b""
    assert on_a_terminal("-m", "engine", *words, tmp_path / "b.msgpack", TERM="dumb") == (0, "")


def test_an_error_stands_alone_in_its_line(tmp_path: Path) -> None:
    code, err = on_a_terminal("-m", "engine", "models", "add", tmp_path / "gone.gguf")
    assert code == 2
    assert err.splitlines()[-1].rpartition("\x1b[K")[2].startswith("specstep: ")


@pytest.mark.parametrize("width", [20, 40, 80, 200])
@pytest.mark.parametrize(
    ("stage", "earlier", "words"),
    [
        (Stage("loading a model with a long name.onnx"), {}, "3.0 s"),
        (Stage("checking the files of mine", 30, 120), {}, "] 25 %"),
        (Stage("loading base.onnx"), {"loading base.onnx": 6.0}, "] about 50 %"),
    ],
)
def test_a_line_fits_its_terminal(width: int, stage: Stage, earlier: dict[str, float], words: str) -> None:
    now = [0.0]
    loading = Loading(lambda: [stage], earlier, lambda: now[0])
    assert line(loading, width)
    now[0] = 3.0
    shown = line(loading, width)
    assert len(shown) < width
    assert shown.isprintable()
    assert width < 40 or words in shown
    assert ("%" in shown) == ("%" in words) or width < 40
