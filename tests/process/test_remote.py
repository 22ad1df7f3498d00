"""A run whose engine is a process: it is the run it would be in this one, and quitting leaves nothing behind."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from engine.branch import save
from engine.errors import EngineFault, ModelError, Refused
from engine.live import Stepper
from engine.options import Options
from engine.process.launch import elsewhere, local
from engine.process.remote import RemoteRun
from engine.records import Round
from engine.request import LiveRequest
from engine.trace.audit import audit
from engine.trace.reader import Trace
from tests.limits import HANG
from tests.models import tiny
from tests.process.engines import REQUEST, ROOT, builtins, engine, finished, gone, in_process, timeless
from tui.live import LiveSource


@pytest.fixture(scope="module")
def shared() -> Iterator[RemoteRun]:
    """One engine for the tests that leave it as it was: they rewind it first."""
    run = engine()
    yield run
    run.close()


def emitted(rounds: list[Round]) -> list[int]:
    return [token for round_ in rounds for token in round_.emitted or ()]


def test_it_makes_the_run_that_this_process_would_make(shared: RemoteRun) -> None:
    shared.rewind(())
    here = in_process()
    assert timeless(finished(shared)) == timeless(finished(here))
    there, end = shared.end(), here.end()
    assert shared.done
    assert (there.reason, there.rounds, there.emitted) == (end.reason, end.rounds, end.emitted)
    assert there.stats["accepted"] == end.stats["accepted"] > 0
    assert shared.piece(104) == b"h"
    assert msgspec.structs.replace(shared.header, created="", run={}) == msgspec.structs.replace(
        here.header, created="", run={}
    )


FORKS: list[dict[str, Any]] = [
    {"k": 1},
    {"k": 7},
    {"form": "two-pass"},
    {"tau": 0.95},
    {"fallback_below": 3.5, "fallback_window": 2},
    {"temperature": 0.9, "sampler": "gumbel", "seed": 3},
    {"temperature": 0.9, "sampler": "gumbel", "seed": 4},
    {"temperature": 1.5, "sampler": "rejection"},
    {"max_tokens": 20},
]


@pytest.mark.parametrize("changes", FORKS, ids=str)
def test_a_fork_is_the_one_that_this_process_would_make(shared: RemoteRun, changes: dict[str, Any]) -> None:
    shared.rewind(())
    here = in_process()
    both: tuple[Stepper, Stepper] = (shared, here)
    trunk = [[run.step() for _ in range(4)] for run in both]
    options = Options.from_map({**here.header.options, **changes})
    for run, made in zip(both, trunk, strict=True):
        run.rewind([round_ for round_ in made[:3] if round_], options, run={"branch": "try"})
    assert (shared.header.options, shared.header.run["branch"]) == (here.header.options, "try")
    assert timeless(finished(shared)) == timeless(finished(here))
    shared.rewind((), Options.from_map(in_process().header.options))


def test_a_fork_may_have_another_drafter_or_none(shared: RemoteRun) -> None:
    shared.rewind(())
    trunk = [round_ for _ in range(3) if (round_ := shared.step())]
    shared.rewind(trunk, drafter="lookup:n=2,min=1")
    assert (shared.header.drafter and shared.header.drafter.name) == "lookup-1-2-latest-adapt-0.1"
    lookup = finished(shared)
    shared.rewind(trunk, drafter="none")
    assert shared.header.drafter is None
    plain = finished(shared)
    assert {round_.form for round_ in plain} == {"plain"}
    assert emitted(lookup) == emitted(plain)
    shared.rewind((), drafter=REQUEST.drafter)


def test_a_fork_that_is_refused_changes_nothing(shared: RemoteRun) -> None:
    shared.rewind(())
    trunk = [round_ for _ in range(3) if (round_ := shared.step())]
    before = shared.header, shared.events
    with pytest.raises(Refused, match="no drafter 'eagle'"):
        shared.rewind(trunk[:1], drafter="eagle")
    assert (shared.header, shared.events) == before
    assert timeless(trunk + finished(shared)) == timeless(finished(in_process()))


def test_rounds_that_are_ordered_come_one_by_one_and_an_interrupt_ends_the_order(shared: RemoteRun) -> None:
    shared.rewind(())
    shared.order(3)
    assert [round_ and round_.index for round_ in (shared.step() for _ in range(4))] == [0, 1, 2, None]
    assert (shared.pending, shared.done) == (False, False)
    shared.order()
    with pytest.raises(Refused, match="interrupt first"):
        shared.rewind(())
    shared.interrupt()
    made = [3]
    while shared.pending:
        round_ = shared.step()
        made += [] if round_ is None else [round_.index + 1]
    assert made == list(range(3, 3 + len(made)))
    rest = finished(shared)
    assert rest == [] or rest[0].index == made[-1]
    assert shared.end().rounds == len(finished(in_process()))


def test_an_order_ends_at_the_round_that_meets_its_condition(shared: RemoteRun) -> None:
    shared.rewind(())
    whole = finished(shared)
    shared.rewind(())
    shared.order(until="take == 0 and round > 0")
    made = list(iter(shared.step, None))
    assert not shared.done
    assert [round_.index for round_ in made if round_.take == 0 and round_.index > 0] == [made[-1].index]
    assert timeless(made) == timeless(whole[: len(made)])


def test_an_engine_that_does_not_know_a_condition_is_not_ordered_up_to_it() -> None:
    run = engine()
    try:
        run.knows = frozenset(("end", "flip"))
        run.order(until="take == 0")
        assert not run.pending
        assert run.step() is not None
        run.order(until="flip")
        assert run.pending
    finally:
        run.close()


def test_a_run_of_another_branch_is_fed_again_where_they_differ(shared: RemoteRun) -> None:
    shared.rewind(())
    greedy = finished(shared)
    options = Options.from_map(in_process().header.options)
    sampled = msgspec.structs.replace(options, temperature=1.5, sampler="gumbel", seed=5)
    shared.rewind(greedy[:2], sampled)
    other = greedy[:2] + finished(shared)
    assert emitted(other) != emitted(greedy)
    shared.rewind(greedy[:6], options)
    assert emitted(greedy[:6] + finished(shared)) == emitted(greedy)
    shared.rewind(other[:5], sampled)
    assert emitted(other[:5] + finished(shared)) == emitted(other)
    shared.rewind((), options)


def test_branches_are_kept_named_and_saved_as_traces_that_say_where_they_branched_off(
    shared: RemoteRun, tmp_path: Path
) -> None:
    shared.rewind((), run={"branch": "main"})
    trunk = LiveSource(shared, shared)
    for _ in range(5):
        trunk.append(_some(trunk.make()))
    branch = trunk.fork(3, Options.from_map({**trunk.header.options, "fallback_below": 9.0, "fallback_window": 4}))
    while (round_ := branch.make()) is not None:
        branch.append(round_)
    branch.finish()
    twig = branch.fork(4, drafter="none")
    assert [source.name for source in twig.branches] == ["main", "fork1", "fork2"]
    assert [source.header.run["parent"] for source in twig.branches[1:]] == ["main", "fork1"]
    assert [len(source) for source in twig.branches] == [5, len(branch), 4]
    assert [branch.round(i) for i in range(3)] == [trunk.round(i) for i in range(3)]
    assert trunk.end is not None
    assert trunk.end.reason == "aborted"
    assert [event.code for event in trunk.events()] == []
    assert [event.code for event in branch.events()] == ["fell-back"]
    twig.append(_some(twig.make()))
    for source in twig.branches:
        save(source, tmp_path / source.name)
        with Trace(tmp_path / source.name) as trace:
            assert trace.header.run["branch"] == source.name
            assert audit(trace.records(), trace.torn) == []
    with Trace(tmp_path / "fork2") as trace:
        assert (trace.header.run["forked_at"], len(trace)) == (4, 5)
    shared.rewind((), Options.from_map(in_process().header.options), drafter=REQUEST.drafter)


def _some(round_: Round | None) -> Round:
    assert round_ is not None
    return round_


def test_closing_ends_the_engine_even_in_the_middle_of_a_run_that_another_thread_waits_for() -> None:
    run = engine(max_tokens=100_000)
    pid = run.pid
    assert pid is not None
    run.order()
    made: list[Round] = []
    thread = threading.Thread(target=lambda: made.extend(finished(run)))
    thread.start()
    while len(made) == 0 and thread.is_alive():
        time.sleep(0.05)
        if run.end().rounds:
            break
    run.close()
    thread.join(HANG)
    assert not thread.is_alive()
    assert gone(pid)
    assert [round_.index for round_ in made] == list(range(len(made)))
    assert [event for event in run.events if event.level == "fault"] == []


CLIENT = (
    "import sys, time\n"
    "from tests.process.engines import engine\n"
    "run = engine(max_tokens=100000)\n"
    "run.order()\n"
    "run.step()\n"
    "print(run.pid, flush=True)\n"
    "time.sleep(600)\n"
)


def test_an_engine_ends_when_its_debugger_is_killed() -> None:
    with subprocess.Popen([sys.executable, "-c", CLIENT], stdout=subprocess.PIPE, cwd=ROOT) as client:
        assert client.stdout is not None
        pid = int(client.stdout.readline())
        os.kill(client.pid, signal.SIGKILL)
    assert gone(pid)


def test_an_engine_that_cannot_make_the_run_says_why() -> None:
    with pytest.raises(ModelError, match="no such folder"):
        RemoteRun(local({**builtins(), "model": "nowhere"})).open()
    with pytest.raises(Refused, match="cannot be started: no such file"):
        RemoteRun(elsewhere("no-such-command --here"))
    with pytest.raises(Refused, match="cannot be read: No closing quotation"):
        elsewhere("ssh 'box")
    with pytest.raises(
        EngineFault, match=r"the engine ended with status 3, waiting for its hello; its last words: no!"
    ):
        RemoteRun(elsewhere("sh -c 'echo no! >&2; exit 3'")).open()
    with pytest.raises(
        EngineFault, match="printed 'welcome to this machine' where a record is due, waiting for its hello"
    ):
        RemoteRun(elsewhere("echo welcome to this machine")).open()
    with pytest.raises(EngineFault, match=r"what is no record, .*\(not a map\) \(byte 0"):
        RemoteRun(elsewhere(r"printf '\007\033[31m'")).open()
    with pytest.raises(EngineFault, match=r"sent nothing for 0\.2 s"):
        RemoteRun(elsewhere("sleep 60"), timeout=0.2).open()


def test_an_engine_with_a_run_of_its_own_takes_no_other(tmp_path: Path) -> None:
    command = f"{sys.executable} -m engine engine --model toy --drafter none --prompt hi --max-tokens 5"
    with pytest.raises(Refused, match="start it with --wait"):
        RemoteRun(elsewhere(command, {"prompt": "ho"})).open()
    run = RemoteRun(elsewhere(command)).open()
    assert run.header.prompt == tuple(b"hi")
    assert len(finished(run)) == 5
    run.close()


def test_an_engine_says_how_far_it_is_where_that_is_counted_in_bytes(tmp_path: Path) -> None:
    tiny.write(tmp_path, tiny.networks(1))
    run = engine(LiveRequest(prompt="def", model=str(tmp_path), drafter="none", options=Options(max_tokens=4)))
    checked = next(stage for stage in run.stages if stage.text == "checking the files of tiny")
    assert checked.done == checked.total > 100_000
    assert not any(stage.total for stage in run.stages if stage is not checked)
    run.close()
