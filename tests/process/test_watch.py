"""An engine of somebody else's is followed in a file, a pipe or a socket, by many and across broken connections."""

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from engine.errors import Refused, TraceError
from engine.process.feed import FileFeed, PipeFeed, SocketFeed, feed_of
from engine.process.launch import local
from engine.process.protocol import Fork, RunUntil, Step, encoded
from engine.process.remote import RemoteRun
from engine.process.share import Share
from engine.process.watch import Change, Watched
from engine.records import Round
from engine.trace.writer import TraceWriter
from tests.cli.commands import ROOT, specstep
from tests.limits import HANG
from tests.process.engines import TIMEOUT, builtins, finished
from tests.trace.makes import a_run, write_run


def until(watched: Watched, holds: Callable[[], bool]) -> None:
    """Look until something holds."""
    deadline = time.monotonic() + HANG
    while not holds():
        watched.refresh()
        assert time.monotonic() < deadline, "it does not come to that"
        time.sleep(0.002)


def rounds_of(watched: Watched) -> list[Round]:
    return [watched.round(i) for i in range(len(watched))]


def test_a_file_is_followed_before_it_is_there_and_up_to_its_end(tmp_path: Path) -> None:
    run, path = a_run(rounds=4), tmp_path / "run"
    watched = Watched(FileFeed(path))
    assert watched.refresh() == Change(0, False)
    assert not watched.begun
    with TraceWriter(path) as writer:
        writer.write(run.header)
        assert watched.refresh() == Change(0, True)
        for i, round_ in enumerate(run.rounds):
            writer.write(round_)
            assert watched.refresh() == Change(1, False)
            assert watched.round(i) == round_
        assert watched.live
        writer.write(run.end)
    watched.refresh()
    assert (watched.live, watched.end) == (False, run.end)
    watched.close()


def test_a_file_that_is_replaced_is_another_run(tmp_path: Path) -> None:
    path = tmp_path / "run"
    watched = Watched(FileFeed(path))
    with TraceWriter(path) as writer:
        first = a_run(rounds=3)
        writer.write(first.header)
        writer.write(first.rounds[0])
    until(watched, lambda: watched.begun and len(watched) == 1)
    second = a_run(rounds=2, k=5)
    write_run(tmp_path / "new", second)
    os.replace(tmp_path / "new", path)
    until(watched, lambda: len(watched) == 2 and watched.over)
    assert rounds_of(watched) == list(second.rounds)
    watched.close()


def test_a_pipe_that_is_closed_without_an_end_is_over_and_what_was_torn_is_told(tmp_path: Path) -> None:
    data = write_run(tmp_path / "run", a_run(rounds=4), index=False).read_bytes()
    reading, writing = os.pipe()
    with os.fdopen(writing, "wb", buffering=0) as pipe:
        pipe.write(data[: len(data) * 2 // 3])
    watched = Watched(PipeFeed(reading, "the pipe"))
    until(watched, lambda: watched.over)
    os.close(reading)
    assert 0 < len(watched) < 4
    assert watched.end is None
    assert "the pipe broke off" in watched.events()[-1].message


def test_what_is_no_trace_is_refused(tmp_path: Path) -> None:
    (tmp_path / "notes").write_text("a shopping list")
    with pytest.raises(TraceError):
        Watched(FileFeed(tmp_path / "notes")).refresh()
    with pytest.raises(TraceError, match="not a regular file"):
        Watched(FileFeed(Path("/dev/null"))).refresh()
    with pytest.raises(Refused, match="names no socket"):
        feed_of("unix:")


def test_damage_in_the_middle_keeps_the_rounds_before_it(tmp_path: Path) -> None:
    run, path = a_run(rounds=3), tmp_path / "run"
    path.write_bytes(b"".join(map(msgspec.msgpack.encode, (run.header, *run.rounds[:2]))) + bytes(50))
    watched = Watched(FileFeed(path))
    watched.refresh()
    assert rounds_of(watched) == list(run.rounds[:2])
    assert (watched.over, watched.events()[-1].code) == (True, "torn")
    watched.close()


def sharing(socket: Path) -> RemoteRun:
    """A toy engine whose run can be watched."""
    here = local(builtins())
    return RemoteRun(here._replace(command=(*here.command, "--share", str(socket))), timeout=TIMEOUT).open()


def test_many_watch_one_engine_each_from_its_beginning_and_connect_to_the_next(tmp_path: Path) -> None:
    socket = tmp_path / "engine.socket"
    watchers = [Watched(SocketFeed(socket)) for _ in range(3)]
    assert [watched.refresh() for watched in watchers] == [Change(0, False)] * 3
    run = sharing(socket)
    assert socket.stat().st_mode & 0o777 == 0o600
    made = [round_ for _ in range(4) if (round_ := run.step())]
    watchers.append(Watched(SocketFeed(socket)))
    for watched in watchers:
        until(watched, lambda watched=watched: watched.begun and len(watched) == 4)  # type: ignore[misc]
        assert rounds_of(watched) == made
        assert watched.header == run.header
    with pytest.raises(Refused, match="is watched there already"):
        Share(socket)
    run.rewind(made[:2], drafter="none")
    branch = made[:2] + finished(run)
    for watched in watchers:
        until(watched, lambda watched=watched: watched.end is not None and len(watched) == len(branch))  # type: ignore[misc]
        assert rounds_of(watched) == branch
        assert [len(one) for one in watched.branches] == [4, len(branch)]
    run.close()
    for watched in watchers:
        until(watched, lambda watched=watched: watched.over)  # type: ignore[misc]
        watched.close()
    assert not socket.exists()


def test_a_broken_connection_is_made_again_and_known_rounds_are_not_taken_twice(tmp_path: Path) -> None:
    socket, run = tmp_path / "socket", a_run(rounds=6)
    header, *rounds = map(msgspec.msgpack.encode, (run.header, *run.rounds))
    watched = Watched(SocketFeed(socket))
    with Share(socket) as share:
        share.append(header + b"".join(rounds[:3]) + rounds[3][:20])
        until(watched, lambda: watched.begun and len(watched) == 3)
    until(watched, lambda: not watched.connected)
    assert "middle of a record" in watched.events()[-1].message
    assert watched.live
    with Share(socket) as share:
        share.append(header + b"".join(rounds[:5]))
        until(watched, lambda: len(watched) == 5)
        share.append(rounds[5] + msgspec.msgpack.encode(run.end))
        until(watched, lambda: watched.end is not None)
    assert rounds_of(watched) == list(run.rounds)
    assert len(watched.branches) == 1
    watched.close()


def test_another_run_behind_the_same_header_is_another_branch(tmp_path: Path) -> None:
    socket, run = tmp_path / "socket", a_run(rounds=4)
    header, *rounds = map(msgspec.msgpack.encode, (run.header, *run.rounds))
    other = msgspec.structs.replace(run.rounds[2], ms={"draft": 77.0})
    watched = Watched(SocketFeed(socket))
    with Share(socket) as share:
        share.append(header + b"".join(rounds))
        until(watched, lambda: watched.begun and len(watched) == 4)
    with Share(socket) as share:
        share.append(header + b"".join(rounds[:2]) + msgspec.msgpack.encode(other))
        until(watched, lambda: len(watched.branches) == 2)
    assert rounds_of(watched) == [*run.rounds[:2], other]
    watched.close()


def test_a_slow_reader_holds_up_nobody(tmp_path: Path) -> None:
    socket = tmp_path / "socket"
    with Share(socket) as share:
        idle = SocketFeed(socket)
        assert idle.read() == b""
        for _ in range(64):
            share.append(bytes(1 << 18))
        eager, got = SocketFeed(socket), 0
        deadline = time.monotonic() + HANG
        while got < 64 << 18 and time.monotonic() < deadline:
            got += len(eager.read() or b"")
        assert got == 64 << 18
        idle.close()
        eager.close()


def test_the_socket_of_a_killed_engine_is_taken_over(tmp_path: Path) -> None:
    socket = tmp_path / "socket"
    code = "import os, sys\nfrom pathlib import Path\nfrom engine.process.share import Share\n"
    code += "Share(Path(sys.argv[1])); os._exit(9)"
    subprocess.run([sys.executable, "-c", code, socket], cwd=ROOT, check=False, timeout=HANG)
    assert socket.is_socket()
    Share(socket).close()
    with pytest.raises(Refused, match="no socket can be made there"):
        Share(tmp_path / "nowhere" / "socket")


def test_the_stream_of_an_engine_in_a_file_is_followed_across_its_forks(tmp_path: Path) -> None:
    path, commands = tmp_path / "stream", (Step(rounds=3), Fork(round=1, options={"k": 1}), RunUntil())
    command = [sys.executable, "-m", "engine", "engine", "--model", "toy", "--drafter", "lookup", "--max-tokens", "20"]
    with path.open("wb") as stream:
        subprocess.run(
            command, cwd=ROOT, input=b"".join(map(encoded, commands)), stdout=stream, check=True, timeout=HANG
        )
    watched = Watched(FileFeed(path))
    until(watched, lambda: watched.over)
    trunk, branch = watched.branches
    assert (len(trunk), trunk.end and trunk.end.reason) == (3, "aborted")
    assert (branch.header.run["forked_at"], branch.end and branch.end.reason) == (1, "max_tokens")
    assert branch.round(0) == trunk.round(0)
    assert [branch.round(i).index for i in range(len(branch))] == list(range(len(branch)))
    watched.close()


def watch(*arguments: str | Path, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, "-m", "engine", "watch", *map(str, arguments)]
    return subprocess.run(command, cwd=ROOT, input=stdin, capture_output=True, check=False, timeout=HANG)


def test_the_command_prints_a_line_a_round_and_ends_with_the_run(tmp_path: Path) -> None:
    path = write_run(tmp_path / "run", a_run(rounds=4))
    shown = specstep("watch", path)
    assert (shown.code, shown.out.count("\n")) == (0, 4)
    assert shown.out.startswith("round 0, ")
    as_json = specstep("watch", path, "--json")
    assert as_json.out.count('"type":"round"') == 4
    assert specstep("watch", path, "--share", tmp_path / "socket").code == 2


def test_the_command_says_that_a_writer_died(tmp_path: Path) -> None:
    data = write_run(tmp_path / "run", a_run(rounds=4), index=False).read_bytes()
    shown = watch("-", stdin=data[: len(data) // 2])
    assert shown.returncode == 3
    assert b"closed without an end: its writer died" in shown.stderr


def test_what_comes_on_stdin_is_shared_with_others(tmp_path: Path) -> None:
    run, socket = a_run(rounds=3), tmp_path / "socket"
    command = [sys.executable, "-m", "engine", "watch", "-", "--share", str(socket)]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL) as between:
        assert between.stdin is not None
        between.stdin.write(b"".join(map(msgspec.msgpack.encode, (run.header, *run.rounds))))
        between.stdin.flush()
        watched = Watched(SocketFeed(socket))
        until(watched, lambda: watched.begun and len(watched) == 3)
        between.stdin.write(msgspec.msgpack.encode(run.end))
        between.stdin.close()
        until(watched, lambda: watched.over)
    assert watched.end == run.end
    watched.close()
