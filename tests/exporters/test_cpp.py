"""The C++ example compiles with stock msgpack-cxx, and what it records passes the audit."""

import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from engine.process.feed import SocketFeed
from engine.process.watch import Watched
from engine.trace.audit import audit
from engine.trace.reader import open_trace
from tests.limits import HANG

SOURCE = Path(__file__).parents[2] / "recordings" / "exporters" / "toy_loop.cpp"


@pytest.fixture(scope="module")
def toy_loop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    compiler = next((found for name in ("c++", "g++", "clang++") if (found := shutil.which(name))), None)
    if compiler is None:
        pytest.skip("there is no C++ compiler")
    probe = [compiler, "-DMSGPACK_NO_BOOST", "-E", "-x", "c++", "-"]
    if subprocess.run(probe, input=b"#include <msgpack.hpp>", capture_output=True, check=False).returncode != 0:
        pytest.skip("there is no msgpack.hpp (Debian: libmsgpack-cxx-dev)")
    program = tmp_path_factory.mktemp("cpp") / "toy_loop"
    flags = ["-std=c++17", "-Wall", "-Wextra", "-Werror", str(SOURCE), "-o", str(program)]
    built = subprocess.run([compiler, *flags], capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stderr
    return program


def test_its_trace_passes_the_audit(toy_loop: Path, tmp_path: Path) -> None:
    path = tmp_path / "run.msgpack"
    subprocess.run([toy_loop, path], check=True)
    trace = open_trace(path)
    assert audit(trace.records(), trace.torn) == []
    assert trace.end is not None
    assert (trace.end.emitted, trace.header.base.name) == (60, "toy in C++")
    assert trace.piece(7) == b" t7"
    assert {trace.round(index).take for index in range(len(trace))} >= {1, 4}


def test_a_full_disk_is_told(toy_loop: Path) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("there is no /dev/full")
    ran = subprocess.run([toy_loop, "/dev/full"], capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stderr) == (1, "toy_loop: /dev/full cannot be written\n")


def test_it_is_watched_through_a_pipe_and_by_others_at_a_socket(toy_loop: Path, tmp_path: Path) -> None:
    if not Path("/dev/stdout").exists():
        pytest.skip("there is no /dev/stdout")
    data = subprocess.run([toy_loop, "/dev/stdout"], capture_output=True, check=True).stdout
    (tmp_path / "run").write_bytes(data)
    others = [Watched(SocketFeed(tmp_path / "engine.socket")) for _ in range(3)]
    command = [sys.executable, "-m", "engine", "watch", "-", "--share", str(tmp_path / "engine.socket"), "--json"]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, cwd=SOURCE.parents[2], stdin=pipe, stdout=pipe, bufsize=0) as between:
        assert between.stdin is not None
        assert between.stdout is not None
        between.stdin.write(data[: len(data) // 2])
        look(others, lambda watched: watched.begun and len(watched) > 0)
        between.stdin.write(data[len(data) // 2 :])
        between.stdin.close()
        look(others, lambda watched: watched.over)
        lines = between.stdout.read().splitlines()
    with open_trace(tmp_path / "run") as trace:
        made = [trace.round(index) for index in range(len(trace))]
        assert len(lines) == len(made)
        for watched in others:
            assert [watched.round(index) for index in range(len(watched))] == made
            assert watched.end == trace.end
            watched.close()


def look(many: list[Watched], holds: Callable[[Watched], bool]) -> None:
    """Look until something holds for all of them."""
    deadline = time.monotonic() + HANG
    while not all(holds(watched) for watched in many):
        assert time.monotonic() < deadline, "it does not come to that"
        for watched in many:
            watched.refresh()
        time.sleep(0.005)
