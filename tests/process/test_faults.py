"""Whatever becomes of the engine, every round so far is kept, what happened is said, and it can be started again."""

import os
import random
import shlex
import signal
import sys
from pathlib import Path

import msgspec
import pytest

from engine.errors import EngineFault
from engine.process.launch import Launch, elsewhere
from engine.process.protocol import Done, RunUntil, encoded
from engine.process.remote import RemoteRun
from engine.recorder import Recorder
from engine.records import Round
from engine.trace.audit import audit
from engine.trace.reader import Trace
from tests.process.engines import (
    ROOT,
    TIMEOUT,
    builtins,
    engine,
    faulty,
    finished,
    gone,
    in_process,
    served,
    timeless,
)

PLAIN = [token for round_ in finished(in_process()) for token in round_.emitted or ()]


def emitted(rounds: list[Round]) -> list[int]:
    return [token for round_ in rounds for token in round_.emitted or ()]


def goes_on(run: RemoteRun, made: list[Round]) -> None:
    """It can be started again behind the last good round, and the text is what it would have been."""
    place = len(made)
    assert run.done
    assert run.end().reason == "fault"
    assert run.step() is None
    run.rewind(made, run={"branch": "again"})
    assert (run.done, run.lost) == (False, None)
    assert [(event.code, event.round) for event in run.events] == [("restarted", place)]
    assert (run.header.run["branch"], run.header.run["forked_at"]) == ("again", place)
    rest = finished(run)
    run.close()
    assert rest[0].index == place
    assert emitted(made + rest) == PLAIN


def test_killed(tmp_path: Path) -> None:
    path = tmp_path / "run.msgpack"
    run = engine()
    recorder = Recorder(run, path)
    made = [round_ for _ in range(5) if (round_ := recorder.step())]
    assert run.pid is not None
    os.kill(run.pid, signal.SIGKILL)
    assert recorder.step() is None
    event = run.events[-1]
    assert (event.level, event.code, event.round) == ("fault", "engine-died", 5)
    assert event.message == "the engine was ended by SIGKILL, making round 5"
    recorder.end()
    with Trace(path) as trace:
        assert [trace.round(i) for i in range(len(trace))] == made
        assert trace.events() == (event,)
        assert trace.end is not None
        assert trace.end.reason == "fault"
        assert audit(trace.records(), trace.torn) == []
    recorder.rewind(made)
    rest = []
    while (round_ := recorder.step()) is not None:
        rest.append(round_)
    recorder.end()
    run.close()
    with Trace(tmp_path / "run-fork1.msgpack") as trace:
        assert emitted([trace.round(i) for i in range(len(trace))]) == PLAIN
        assert trace.header.run["forked_at"] == 5
        assert audit(trace.records(), trace.torn) == []


@pytest.mark.parametrize(
    ("fault", "code", "says"),
    [
        ("segfault", "engine-died", ("was ended by SIGSEGV", "Fatal Python error: Segmentation fault")),
        ("raise", "engine-died", ("ended with status 1", "RuntimeError: the driver is not amused")),
        ("garbage", "engine-garbage", ("printed 'Segmentation fault in module npu' where a record is due",)),
    ],
)
def test_it_breaks_in_the_middle_of_a_round(fault: str, code: str, says: tuple[str, ...]) -> None:
    run = faulty(fault, 4)
    made = finished(run)
    event = run.events[-1]
    assert (event.level, event.code, event.round) == ("fault", code, len(made))
    assert f"making round {len(made)}" in event.message
    for words in says:
        assert words in event.message
    assert len(made) in (3, 4)
    assert emitted(made) == PLAIN[: len(emitted(made))]
    goes_on_elsewhere(run, made)


def goes_on_elsewhere(run: RemoteRun, made: list[Round]) -> None:
    """A faulty engine breaks again in its fourth pass: it goes on up to there, and can be started once more."""
    run.rewind(made)
    again = finished(run)
    assert run.end().reason == "fault"
    assert all(round_.index == len(made) + i for i, round_ in enumerate(again))
    run.rewind(made)
    assert not run.done
    run.close()


def test_it_hangs() -> None:
    run = faulty("hang", 3)
    pid = run.pid
    assert pid is not None
    assert run.step() is not None
    assert run.step() is not None
    run.timeout = 1.0
    assert run.step() is None
    event = run.events[-1]
    assert (event.code, event.round) == ("engine-hung", 2)
    assert "sent nothing for 1 s, making round 2; its last words: driver: waiting for the device" in event.message
    assert gone(pid)


def test_it_is_stopped_and_goes_on_in_another_process() -> None:
    run = engine()
    made = [round_ for _ in range(3) if (round_ := run.step())]
    pid = run.pid
    assert pid is not None
    os.kill(pid, signal.SIGSTOP)
    run.timeout = 0.5
    assert run.step() is None
    run.timeout = TIMEOUT
    assert run.events[-1].code == "engine-hung"
    assert gone(pid)
    goes_on(run, made)


def test_an_engine_that_died_unseen_is_replaced_when_the_run_is_forked() -> None:
    run = engine()
    made = [round_ for _ in range(4) if (round_ := run.step())]
    assert run.pid is not None
    os.kill(run.pid, signal.SIGKILL)
    run.rewind(made[:3])
    assert [(event.code, event.round) for event in run.events] == [("restarted", 3)]
    assert emitted(made[:3] + finished(run)) == PLAIN
    run.close()


def test_what_libraries_print_does_not_get_between_the_records() -> None:
    run = faulty("chatter", 2)
    assert emitted(finished(run)) == PLAIN
    run.close()
    assert run.events == ()


def test_where_no_other_can_be_started_things_stand_as_they_were(tmp_path: Path) -> None:
    there = tmp_path / "engine"
    works = f"#!/bin/sh\nexec {shlex.quote(sys.executable)} -m engine engine --wait\n"
    there.write_text(works)
    there.chmod(0o700)
    launch = Launch((str(there),), {**os.environ, "PYTHONPATH": str(ROOT)}, builtins())
    run = RemoteRun(launch, timeout=TIMEOUT).open()
    made = [round_ for _ in range(2) if (round_ := run.step())]
    assert run.pid is not None
    os.kill(run.pid, signal.SIGKILL)
    assert run.step() is None
    before = run.header, run.events, run.end(), run.lost
    there.write_text("#!/bin/sh\necho out of order >&2; exit 1\n")
    with pytest.raises(EngineFault, match="ended with status 1, waiting for its hello; its last words: out of order"):
        run.rewind(made)
    assert (run.header, run.events, run.end(), run.lost) == before
    there.write_text(works)
    goes_on(run, made)


def test_a_full_disk_ends_a_recording_and_nothing_else() -> None:
    if not Path("/dev/full").exists():
        pytest.skip("there is no /dev/full")
    run = engine()
    with open("/dev/full", "wb", buffering=0) as full, pytest.raises(Exception, match="no space left"):
        Recorder(run, full)
    assert emitted(finished(run)) == PLAIN
    run.close()


def test_an_engine_whose_disk_is_full_makes_its_rounds_and_its_forks() -> None:
    command = (sys.executable, "-m", "engine", "engine", "--wait")
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    limited = ("sh", "-c", f"ulimit -f 1; exec {shlex.join(command)}")
    run = RemoteRun(Launch(limited, environment, builtins(max_tokens=1500)), timeout=TIMEOUT).open()
    made = finished(run)
    assert sum(round_.count for round_ in made) == 1500
    run.rewind(made[:40])
    assert emitted(made[:40] + finished(run)) == emitted(made)
    run.close()


RELAY = """
import os, sys, subprocess, threading, time
mode, command = sys.argv[1], sys.argv[2:]
child = subprocess.Popen(command, stdin=0, stdout=subprocess.PIPE)
sent = 0
while data := os.read(child.stdout.fileno(), 7 if mode == "slow" else 4096):
    if mode == "lossy" and sent > 3000 and len(data) > 200:
        data, mode = data[:40] + data[97:], "lost"
    if mode == "slow":
        time.sleep(0.0005)
    sent += len(data)
    os.write(1, data)
"""


def through(relay: str, folder: Path) -> Launch:
    """The engine in another folder and environment, behind a pipe."""
    script = folder / "relay.py"
    script.write_text(RELAY)
    inner = f"cd {folder} && exec {sys.executable} -m engine engine --wait --model toy"
    environment = f"env -i PYTHONPATH={ROOT} HOME={folder} PATH={os.environ['PATH']}"
    return elsewhere(f"{environment} {sys.executable} {script} {relay} sh -c {shlex.quote(inner)}", builtins())


def test_an_engine_elsewhere_behind_a_slow_pipe_makes_the_same_run(tmp_path: Path) -> None:
    run = RemoteRun(through("slow", tmp_path), timeout=TIMEOUT).open()
    made = finished(run)
    assert emitted(made) == PLAIN
    assert run.end().reason == "max_tokens"
    pid = run.pid
    assert pid is not None
    run.close()
    assert gone(pid)


def test_a_pipe_that_loses_bytes_is_found_out_and_no_wrong_round_is_kept(tmp_path: Path) -> None:
    run = RemoteRun(through("lossy", tmp_path), timeout=TIMEOUT).open()
    first = run.step()
    assert first is not None
    run.timeout = 2.0
    made = [first, *finished(run)]
    assert run.events[-1].code in ("engine-garbage", "engine-hung")
    assert len(made) < len(finished(in_process()))
    assert emitted(made) == PLAIN[: len(emitted(made))]
    run.close()


@pytest.fixture(scope="module")
def stream() -> tuple[bytes, int]:
    """All that an engine sends in a run that is ordered at once, and where the first round begins."""
    records: list[bytes] = []
    with served() as there:
        opening = [there.hello, *there.opening, Done(why="opened")]
        records += [msgspec.msgpack.encode(record) for record in opening]
        start = sum(map(len, records))
        reply = there.ask(RunUntil())
        records += [msgspec.msgpack.encode(record) for record in reply.records]
        records.append(encoded(Done(id=2, why="ended", rounds=reply.done.rounds)))
    return b"".join(records), start


@pytest.mark.parametrize("seed", range(30))
def test_whatever_bytes_are_lost_no_wrong_round_is_kept(stream: tuple[bytes, int], seed: int, tmp_path: Path) -> None:
    chance = random.Random(seed)
    (whole, start), path = stream, tmp_path / "stream"
    at = chance.randrange(start, len(whole) - 100)
    path.write_bytes(whole[:at] + whole[at + chance.choice((1, 9, 64, 700)) :] if seed else whole)
    run = RemoteRun(elsewhere(f"cat {path}"), timeout=TIMEOUT).open()
    run.order()
    made, expected = finished(run), finished(in_process())
    run.close()
    assert timeless(made) == timeless(expected[: len(made)])
    assert (run.lost is None) == (seed == 0)
