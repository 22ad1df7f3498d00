"""The C++ examples compile with nothing but a compiler; what they record passes the audit, and they can be stepped."""

import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import msgpack
import pytest

from engine.options import Options
from engine.process.feed import SocketFeed
from engine.process.launch import elsewhere
from engine.process.remote import RemoteRun
from engine.process.watch import Watched
from engine.records import Round
from engine.trace.audit import audit
from engine.trace.reader import open_trace
from tests.limits import HANG

EXPORTERS = Path(__file__).parents[2] / "recordings" / "exporters"
VALUES = """
#include "probe.hpp"
#include <limits>
int main() {
    using specstep::Map;
    specstep::Probe probe(stdout);
    Map map;
    using Whole = std::numeric_limits<long long>;
    map.put("whole", std::vector<long long>{0, 127, 128, 255, 256, 65535, 65536, 4294967295, 4294967296, -1, -32, -33,
                                            Whole::max(), Whole::min()});
    map.put("real", std::vector<double>{0.5, -1e300}).put("narrow", 0.25f).put("no", false).put("yes", true);
    map.put("nil", nullptr).put("text", std::string(300, 'x')).put("long", std::vector<int>(70000, 7));
    map.put("top", specstep::Candidates{{{3, 1.5}, {4, 1.0}}, {}}).put("once", 1).put("once", "twice");
    Map wide;
    for (int i = 0; i < 20; ++i) wide.put(std::to_string(i), i);
    probe.write("values", map.put("wide", wide).put("pieces", specstep::Pieces{{7, std::string("\\0\\xff", 2)}}));
}
"""


def compiled(source: Path, program: Path) -> Path:
    compiler = next((found for name in ("c++", "g++", "clang++") if (found := shutil.which(name))), None)
    if compiler is None:
        pytest.skip("there is no C++ compiler")
    flags = ["-std=c++17", "-pthread", "-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Werror", f"-I{EXPORTERS}"]
    command = [compiler, *flags, str(source), "-o", str(program)]
    built = subprocess.run(command, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stderr
    return program


@pytest.fixture(scope="module")
def toy_loop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compiled(EXPORTERS / "toy_loop.cpp", tmp_path_factory.mktemp("cpp") / "toy_loop")


@pytest.fixture(scope="module")
def toy_engine(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compiled(EXPORTERS / "toy_engine.cpp", tmp_path_factory.mktemp("cpp") / "toy_engine")


def test_its_trace_passes_the_audit(toy_loop: Path, tmp_path: Path) -> None:
    path = tmp_path / "run.msgpack"
    subprocess.run([toy_loop, path], check=True)
    trace = open_trace(path)
    assert audit(trace.records(), trace.torn) == []
    assert trace.end is not None
    assert (trace.end.emitted, trace.header.base.name) == (60, "toy in C++")
    assert trace.piece(7) == b" t7"
    assert {trace.round(index).take for index in range(len(trace))} >= {1, 4}
    assert path.stat().st_mode & 0o777 == 0o600


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
    with subprocess.Popen(command, cwd=EXPORTERS.parents[1], stdin=pipe, stdout=pipe, bufsize=0) as between:
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


def test_every_kind_of_value_is_packed_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "values.cpp").write_text(VALUES, encoding="utf-8")
    program = compiled(tmp_path / "values.cpp", tmp_path / "values")
    packed = subprocess.run([program], capture_output=True, check=True).stdout
    assert msgpack.unpackb(packed, strict_map_key=False) == {
        "type": "values",
        "whole": [0, 127, 128, 255, 256, 65535, 65536, 2**32 - 1, 2**32, -1, -32, -33, 2**63 - 1, -(2**63)],
        "real": [0.5, -1e300],
        "narrow": 0.25,
        "no": False,
        "yes": True,
        "nil": None,
        "text": "x" * 300,
        "long": [7] * 70000,
        "top": [[[3, 1.5], [4, 1.0]], []],
        "once": "twice",
        "wide": {str(i): i for i in range(20)},
        "pieces": {7: b"\0\xff"},
    }


def test_the_engine_is_stepped_forked_and_started_again(toy_engine: Path) -> None:
    with closing(RemoteRun(elsewhere(str(toy_engine)), timeout=HANG).open()) as run:
        whole = finished(run)
        assert (run.end().reason, run.end().emitted) == ("max_tokens", 60)
        run.rewind(whole[:3], Options(k=2, max_tokens=30))
        forked = finished(run)
        assert run.header.run["forked_at"] == 3
        assert {len(round_.drafts or ()) for round_ in forked} <= {0, 1, 2}
        assert emitted([*whole[:3], *forked]) == emitted(whole)[:30]
        run.rewind(whole[:2], Options(k=4, max_tokens=60))
        run.kill()
        assert run.step() is None
        run.rewind(whole[:2])
        assert finished(run) == whole[2:]
        assert run.piece(7) == b" t7"


def test_the_engine_s_stream_is_clean_and_what_it_does_not_know_is_refused(toy_engine: Path, tmp_path: Path) -> None:
    odd = [1.5, -3, 2**40, -(2**40), b"\0", None, True, {"a": ["x" * 40, {}]}, list(range(20)), "y" * 70000]
    done = told(
        toy_engine,
        {"command": "step", "rounds": 2, "x": odd},
        {"command": "dance"},
        {"command": "run", "until": "take == 0"},
        {"command": "fork", "round": 9},
        {"command": "fork", "round": 1, "options": {"tau": 0.5}},
        {"command": "fork", "round": 1, "drafter": "mtp"},
        {"command": "run", "rounds": 1},
        {"command": "run"},
    )
    assert [(record["why"], record.get("message", "")) for record in done] == [
        ("opened", ""),
        ("stepped", ""),
        ("refused", "this engine cannot dance"),
        ("refused", "this engine knows no condition but end"),
        ("refused", "there are 2 rounds"),
        ("refused", "this engine forks by no other tau"),
        ("refused", "this engine has one drafter"),
        ("stepped", ""),
        ("ended", ""),
    ]


@pytest.mark.parametrize("overtaker", ["pause", "quit"])
def test_a_pause_and_a_quit_overtake(toy_engine: Path, overtaker: str) -> None:
    done = told(toy_engine, {"command": "run"}, {"command": "run"}, {"command": overtaker})
    assert [record["why"] for record in done[1:]] in (
        ["paused", "paused", "paused" if overtaker == "pause" else "quit"],
        ["ended", "ended", "paused" if overtaker == "pause" else "quit"],
    )


def told(engine: Path, *commands: dict[str, Any]) -> list[dict[str, Any]]:
    """All that an engine answers to commands which it is given at once, behind which its stdin ends."""
    data = b"".join(msgpack.packb({"id": i + 1, **command}) for i, command in enumerate(commands))
    out = subprocess.run([engine], input=data, capture_output=True, check=True).stdout
    unpacker = msgpack.Unpacker(strict_map_key=False)
    unpacker.feed(out)
    records = [record for record in unpacker if record["type"] == "done"]
    assert unpacker.tell() == len(out)
    answered = [record["id"] for record in records if record["why"] != "quit" or record["id"]]
    assert answered == list(range(len(commands) + 1))
    return [record for record in records if record["why"] != "quit" or record["id"]]


def finished(run: RemoteRun) -> list[Round]:
    made = []
    while (round_ := run.step()) is not None:
        made.append(round_)
    return made


def emitted(rounds: list[Round]) -> list[int]:
    return [token for round_ in rounds for token in round_.emitted or ()]


def look(many: list[Watched], holds: Callable[[Watched], bool]) -> None:
    """Look until something holds for all of them."""
    deadline = time.monotonic() + HANG
    while not all(holds(watched) for watched in many):
        assert time.monotonic() < deadline, "it does not come to that"
        for watched in many:
            watched.refresh()
        time.sleep(0.005)
