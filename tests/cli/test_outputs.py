"""Where commands write: a device that is full, stdout closed or taken for a trace, a place that is none."""

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from engine.commands.exits import Exit
from engine.trace.reader import open_trace
from tests.cli.commands import ROOT, process, recorded, specstep
from tests.limits import HANG

FULL = Path("/dev/full")
COMMANDS = (
    "stats",
    "audit --json",
    "show --round 0",
    "trace cat",
    "whatif",
    "export --to json -o -",
    "trace index -o -",
)
SAMPLES = ROOT / "tests" / "importers" / "samples"


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    return recorded(tmp_path / "run.msgpack")


@pytest.mark.skipif(not FULL.exists(), reason="there is no /dev/full")
@pytest.mark.parametrize("command", [*COMMANDS, "--help", "conditions"])
def test_a_stdout_that_is_full_is_told_in_a_line(trace: Path, command: str) -> None:
    words = command.split()
    of_none = command in ("--help", "conditions")
    with FULL.open("wb") as full:
        ran = process(*words, *(() if of_none else (trace,)), stdout=full, stderr=subprocess.PIPE, capture_output=False)
    assert ran.returncode == Exit.INCOMPLETE
    assert ran.stderr.count(b"\n") == 1
    assert b"stdout: no space left" in ran.stderr


@pytest.mark.parametrize(
    ("command", "status"),
    [("stats", Exit.OK), ("trace cat", Exit.OK), ("export --to json -o -", 3), ("trace index -o -", 2)],
)
def test_a_stdout_that_is_closed_is_no_traceback(trace: Path, command: str, status: int) -> None:
    line = f"{shlex.quote(sys.executable)} -m engine {command} {shlex.quote(str(trace))} >&-"
    ran = subprocess.run(line, shell=True, stderr=subprocess.PIPE, cwd=ROOT, timeout=HANG, check=False)
    assert ran.returncode == status
    assert ran.stderr.count(b"\n") == (status != Exit.OK)


@pytest.mark.parametrize("command", ["index", "redact", "recover"])
def test_a_trace_made_of_a_trace_goes_to_stdout_alone(trace: Path, command: str, tmp_path: Path) -> None:
    assert specstep("trace", command, trace, "-o", tmp_path / "made").code == 0
    ran = process("trace", command, trace, "-o", "-")
    assert ran.stdout == (tmp_path / "made").read_bytes()
    assert b"14 rounds" in ran.stderr


def test_an_import_goes_to_stdout_alone(tmp_path: Path) -> None:
    ran = process("import", "vllm", SAMPLES / "vllm-detailed.json", "-o", "-")
    (tmp_path / "made").write_bytes(ran.stdout)
    with open_trace(tmp_path / "made") as made:
        assert f"{len(made)} rounds" in ran.stderr.decode()


@pytest.mark.parametrize("place", [".", "no/such", "f" * 300])
@pytest.mark.parametrize("command", ["trace redact", "trace index", "trace recover", "export --to csv"])
def test_a_place_that_is_none_is_a_usage_error(trace: Path, command: str, place: str, tmp_path: Path) -> None:
    ran = process(*command.split(), trace, "-o", tmp_path / place)
    assert (ran.returncode, ran.stdout) == (Exit.USAGE, b"")
    assert ran.stderr.count(b"\n") == 1
    assert os.listdir(tmp_path) == ["run.msgpack"]
