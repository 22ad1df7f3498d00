"""An engine that is spoken to through its stdin and stdout, as recordings/PROTOCOL.md says."""

import threading
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from engine.errors import EngineFault
from engine.options import Options
from engine.process.protocol import (
    COMMANDS,
    Done,
    Fork,
    Hello,
    Open,
    Pause,
    Quit,
    Rewind,
    RunUntil,
    Save,
    Step,
    encoded,
)
from engine.records import End, Event, Header, Prefill, Round, Tokens
from engine.request import LiveRequest
from engine.trace.audit import audit
from engine.trace.reader import Trace
from tests.limits import HANG
from tests.process.engines import (
    REQUEST,
    FaultyBase,
    finished,
    in_process,
    over,
    served,
    timeless,
)


def test_it_says_hello_with_its_versions_and_what_it_can_do_before_anything_else() -> None:
    with served() as engine:
        hello = engine.hello
        assert hello is not None
        assert (hello.protocol, hello.format, hello.version, hello.waiting) == (1, "specstep", 1, False)
        assert hello.commands == COMMANDS
        assert set(hello.options) == set(Options.__struct_fields__)
        assert {"end", "flip", "zero"} <= set(hello.conditions)


def test_while_it_opens_the_run_it_says_what_it_is_at() -> None:
    with served() as engine:
        said = [each.message for each in engine.opening if isinstance(each, Event) and each.code == "opening"]
        assert said == ["loading toy", "reading the prompt, 5 tokens", "measuring plain steps"]
        begun = next(i for i, each in enumerate(engine.opening) if isinstance(each, Header))
        assert not any(isinstance(each, Event) and each.code == "opening" for each in engine.opening[begun:])


def test_the_rounds_it_sends_are_those_of_the_run() -> None:
    with served() as engine:
        first = engine.ask(Step(rounds=3))
        rest = engine.ask(RunUntil())
        assert (first.done.why, first.done.rounds, rest.done.why) == ("stepped", 3, "ended")
        assert timeless(first.rounds + rest.rounds) == timeless(finished(in_process()))
        assert [record.reason for record in rest.records if isinstance(record, End)] == ["max_tokens"]
        assert engine.ask(Step()) == ([], Done(id=3, why="ended", rounds=len(first.rounds + rest.rounds)))


def test_what_a_token_stands_for_comes_before_the_first_record_that_has_it() -> None:
    known: set[int] = set()
    with served() as engine:
        for record in engine.opening + engine.ask(RunUntil()).records:
            match record:
                case Tokens():
                    known |= record.pieces.keys()
                case Round():
                    assert known >= {*(record.drafts or ()), *(record.targets or ()), *(record.emitted or ())}
                case _:
                    pass
    assert known


@pytest.mark.parametrize(
    ("until", "met"),
    [
        ("zero", lambda round_: round_.drafted and not round_.take),
        ("flip", lambda round_: round_.fallback.off),
        ("take == 1 and pos > 7", lambda round_: round_.take == 1 and round_.pos > 7),
        ("tokens > 20", lambda round_: round_.consumed - len("hello") > 20),
    ],
)
def test_it_runs_until_the_first_round_that_meets_a_condition(until: str, met: Callable[[Round], bool]) -> None:
    request = LiveRequest(
        prompt="hello",
        model="toy",
        drafter="scripted:takes=3-1-2-0",
        options=Options(max_tokens=60, fallback_below=2.5, fallback_window=3),
    )
    with served(request=request) as engine:
        reply = engine.ask(RunUntil(until=until))
        assert reply.done.why == "condition"
        assert [bool(met(round_)) for round_ in reply.rounds] == [False] * (len(reply.rounds) - 1) + [True]
        assert engine.ask(RunUntil(until=until, rounds=2)).done.why in ("stepped", "condition")


class Slow(FaultyBase):
    """A base whose second pass waits until it is let go on."""

    def __init__(self) -> None:
        super().__init__(self._wait, 2)
        self.reached, self.go_on = threading.Event(), threading.Event()

    def let_go_on_soon(self) -> None:
        """Late enough for the engine to have read what it was told meanwhile."""
        threading.Timer(1.0, self.go_on.set).start()

    def _wait(self) -> None:
        self.reached.set()
        assert self.go_on.wait(HANG)


def test_a_pause_in_the_middle_of_a_long_verify_finishes_that_round_and_makes_no_other() -> None:
    base = Slow()
    with served(lambda request: over(base, request)) as engine:
        running = engine.tell(RunUntil())
        assert base.reached.wait(HANG)
        engine.tell(Pause())
        base.let_go_on_soon()
        reply = engine.upto(running)
        assert (reply.done.why, len(reply.rounds), reply.done.rounds) == ("paused", 2, 2)
        assert reply.rounds[-1].emitted
        rest = engine.ask(RunUntil())
        assert timeless(reply.rounds + rest.rounds) == timeless(finished(in_process()))


def test_every_pause_stops_what_was_told_before_it_and_nothing_later() -> None:
    with served() as engine:
        engine.send(b"".join(encoded(command) for command in (Pause(id=91), Step(id=92), Pause(id=93), Step(id=94))))
        answers = [engine.upto(id_) for id_ in (91, 92, 93, 94)]
        assert [answer.done.why for answer in answers if answer.done.id in (91, 93, 94)] == [
            "paused",
            "paused",
            "stepped",
        ]
        assert len(answers[-1].rounds) == 1


BAD = [
    ({"command": "dance", "id": 7}, "unknown command 'dance': use one of open, step"),
    ({"id": 7}, "a map without a command"),
    ({"command": "step", "rounds": "many", "id": 7}, "command step: Expected `int`"),
    ({"command": "rewind", "id": 7}, "missing required field `round`"),
    (
        {"command": "run", "until": "payday", "id": 7},
        "unknown name payday: `specstep conditions` lists the names (column 1)",
    ),
    ({"command": "rewind", "round": 99, "id": 7}, "cannot go back to round 99: there are 2 rounds"),
    ({"command": "rewind", "round": -1, "id": 7}, "cannot go back to round -1"),
    ({"command": "fork", "round": 1, "options": {"k": 0}, "id": 7}, "k is 0"),
    ({"command": "fork", "round": 1, "options": {"form": "no-pass"}, "id": 7}, "form is 'no-pass'"),
    ({"command": "fork", "round": 1, "drafter": "eagle", "id": 7}, "no drafter 'eagle'"),
    ({"command": "fork", "round": 1, "rounds": [{"type": "end", "reason": "stop"}], "id": 7}, "command fork"),
    ({"command": "save", "path": "nowhere/at/all", "id": 7}, "no such file or directory"),
    ({"command": "open", "id": 7}, "the run is open already"),
]


@pytest.mark.parametrize(("command", "says"), BAD, ids=[says for _, says in BAD])
def test_a_command_that_cannot_be_carried_out_is_told_and_the_run_goes_on(
    command: dict[str, object], says: str
) -> None:
    with served() as engine:
        before = engine.ask(Step(rounds=2)).rounds
        engine.send(msgspec.msgpack.encode(command))
        refused = engine.upto(7)
        assert (refused.done.why, refused.done.rounds) == ("refused", 2)
        assert says in refused.done.message
        assert refused.records == [Event(round=2, level="warning", code="bad-command", message=refused.done.message)]
        assert timeless(before + engine.ask(RunUntil()).rounds) == timeless(finished(in_process()))


def test_what_is_no_messagepack_ends_it_with_a_word_and_its_end() -> None:
    with served() as engine:
        engine.send(b"step\n")
        rest = engine.rest()
        said = next(record for record in rest if isinstance(record, Event))
        assert "the commands cannot be read any further" in said.message
        assert [record.reason for record in rest if isinstance(record, End)] == ["aborted"]


def test_commands_before_the_end_of_stdin_are_carried_out_and_then_it_quits() -> None:
    with served() as engine:
        engine.tell(Step(rounds=4))
        engine.hang_up()
        rest = engine.rest()
        assert len([record for record in rest if isinstance(record, Round)]) == 4
        end = next(record for record in rest if isinstance(record, End))
        assert (end.reason, end.rounds) == ("aborted", 4)


def test_quit_overtakes_a_run_and_writes_its_end() -> None:
    base = Slow()
    with served(lambda request: over(base, request)) as engine:
        running = engine.tell(RunUntil())
        assert base.reached.wait(HANG)
        quitting = engine.tell(Quit())
        base.let_go_on_soon()
        assert engine.upto(running).done.why == "paused"
        reply = engine.upto(quitting)
        assert [record.rounds for record in reply.records if isinstance(record, End)] == [2]
        assert engine.rest() == []


def test_a_fork_begins_with_a_header_that_says_where_it_branched_off() -> None:
    with served() as engine:
        trunk = engine.ask(Step(rounds=5)).rounds
        reply = engine.ask(Fork(round=2, options={"k": 1}, drafter="lookup"))
        assert reply.done == Done(id=2, why="forked", rounds=2)
        old, header, *others = (record for record in reply.records if not isinstance(record, Tokens))
        assert isinstance(old, End)
        assert (old.reason, old.rounds) == ("aborted", 5)
        assert isinstance(header, Header)
        assert {**header.run, "id": ""} == {"id": "", "branch": "fork1", "parent": "main", "forked_at": 2}
        assert (header.options["k"], header.drafter and header.drafter.kind) == (1, "lookup")
        assert [type(record) for record in others] == [Prefill]
        branch = engine.ask(RunUntil()).rounds
        assert (branch[0].index, branch[0].t1, branch[0].pos) == (2, trunk[1].next, trunk[1].consumed)
        again = [record.run for record in engine.ask(Rewind(round=3)).records if isinstance(record, Header)]
        assert [(run["branch"], run["parent"], run["forked_at"]) for run in again] == [("fork2", "fork1", 3)]


def test_rounds_that_it_is_given_are_fed_to_the_base_and_sent_again() -> None:
    whole = finished(in_process())
    with served() as engine:
        reply = engine.ask(Fork(round=0, rounds=tuple(whole[:4])))
        assert reply.rounds == whole[:4]
        rest = engine.ask(RunUntil()).rounds
        text = [token for round_ in whole[:4] + rest for token in round_.emitted or ()]
        assert text == [token for round_ in whole for token in round_.emitted or ()]
        assert rest[0].index == 4


def test_rounds_of_another_prompt_are_refused() -> None:
    other = finished(in_process(msgspec.structs.replace(REQUEST, prompt="something else")))
    with served() as engine:
        refused = engine.ask(Fork(round=0, rounds=tuple(other[:2])))
        assert "these rounds are not of this run" in refused.done.message


def test_a_saved_branch_is_a_trace_without_findings(tmp_path: Path) -> None:
    with served() as engine:
        engine.ask(Step(rounds=5))
        engine.ask(Fork(round=2, options={"k": 2}))
        engine.ask(Step(rounds=2))
        path = tmp_path / "branch.msgpack"
        assert engine.ask(Save(path=str(path))).done.why == "saved"
        assert "is there already" in engine.ask(Save(path=str(path))).done.message
    with Trace(path) as trace:
        assert (len(trace), trace.header.run["forked_at"]) == (4, 2)
        assert audit(trace.records(), trace.torn) == []


def test_an_engine_that_waits_opens_what_it_is_told_to() -> None:
    with served(wait=True) as engine:
        early = engine.ask(Step())
        assert "there is no run yet" in early.done.message
        reply = engine.ask(Open(run={"prompt": "abc", "options": {"k": 2, "max_tokens": 9}}))
        assert reply.done.why == "opened"
        header = next(record for record in reply.records if isinstance(record, Header))
        assert (header.prompt, header.options["k"], header.run["branch"]) == ((97, 98, 99), 2, "main")
        assert sum(round_.count for round_ in engine.ask(RunUntil()).rounds) == 9


@pytest.mark.parametrize(
    ("run", "code", "says"),
    [
        ({"model": "nowhere"}, "model", "no such folder"),
        ({"options": {"k": 0}}, "refused", "k is 0"),
        ({"options": 3}, "refused", "options is not a map"),
        ({"threads": "all"}, "refused", "Expected `int`"),
    ],
)
def test_a_run_that_cannot_be_opened_is_told_as_a_fault(run: dict[str, object], code: str, says: str) -> None:
    with served(wait=True) as engine:
        refused = engine.ask(Open(run=run))
        assert (refused.done.why, refused.records[-1].code) == ("refused", code)  # type: ignore[union-attr]
        assert says in refused.done.message
        assert engine.rest() == []
    assert engine.opened is False


def test_a_base_that_breaks_ends_the_run_and_not_the_engine() -> None:
    def breaks() -> None:
        raise EngineFault("its session is dead")

    with served(lambda request: over(FaultyBase(breaks, 3), request)) as engine:
        reply = engine.ask(RunUntil())
        assert [record.code for record in reply.records if isinstance(record, Event)] == ["fault"]
        assert [record.reason for record in reply.records if isinstance(record, End)] == ["fault"]
        assert len(reply.rounds) == 2
        engine.ask(Rewind(round=1))
        whole = reply.rounds[:1] + engine.ask(RunUntil()).rounds
        assert [round_.emitted for round_ in whole] == [round_.emitted for round_ in finished(in_process())]


def test_hello_and_done_read_as_records_that_a_trace_does_not_know() -> None:
    sent = [msgspec.msgpack.decode(encoded(record)) for record in (Hello(), Done(why="paused"))]
    assert [record["type"] for record in sent] == ["hello", "done"]
