"""What a trace says of itself reaches the terminal as text only: nothing steers, nothing makes a line of its own."""

import json
from pathlib import Path
from typing import Any

import msgpack
import pytest

from engine.commands.saying import printable
from engine.records import BaseInfo, DrafterInfo, End, Event, Header, Prefill, Round
from engine.trace.writer import TraceWriter
from tests.cli.commands import specstep

NAME = "\x9b31mE\u202e\x07日本\nspecstep: ok\r"
COMMANDS = (
    ("stats",),
    ("show", "--round", "0"),
    ("show", "--where", "take == 1"),
    ("audit",),
    ("whatif", "--bar", "2", "--window", "3"),
    ("watch",),
    ("trace", "info"),
    ("trace", "cat"),
    ("trace", "check"),
)


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    path = tmp_path / "wild.msgpack"
    base = BaseInfo(name=NAME, vocab_size=100, dtype=NAME)
    with TraceWriter(path) as writer:
        writer.pieces(lambda _: NAME.encode())
        writer.write(
            Header(
                version=1,
                minor=0,
                base=base,
                drafter=DrafterInfo(kind=NAME, name=NAME),
                options={"form": NAME, NAME: NAME, "k": 2},
                prompt=(1, 2),
                device={"provider": NAME},
                run={NAME: NAME},
                writer={NAME: NAME},
                created=NAME,
            )
        )
        writer.write(Prefill(positions=2, next=1))
        writer.write(
            Round(
                index=0,
                form=NAME,
                reason=NAME,
                cut=NAME,
                pos=2,
                t1=1,
                drafts=(2, 3),
                targets=(2, 4, 5),
                take=1,
                emitted=(1, 2),
                next=4,
                consumed=4,
                ms={NAME: 1.0, "draft": 2.0},
                state={NAME: NAME},
            )
        )
        writer.write(Event(round=0, level="warning", code=NAME, message=NAME))
        writer.write(End(reason=NAME, rounds=1, emitted=2))
    return path


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_no_command_lets_a_trace_steer_the_terminal(words: tuple[str, ...], trace: Path) -> None:
    ran = specstep(*words, str(trace))

    for line in (ran.out + ran.err).split("\n"):
        assert line.isprintable()
        assert not line.startswith("specstep: ok")


def test_the_comparison_does_not_either(trace: Path) -> None:
    ran = specstep("diff", str(trace), str(trace))

    assert all(line.isprintable() for line in ran.out.split("\n"))


def test_json_holds_what_the_trace_holds_in_letters_that_print(trace: Path) -> None:
    ran = specstep("show", str(trace), "--round", "0", "--json")

    assert ran.json["form"] == NAME
    assert all(line.isprintable() for line in ran.out.split("\n"))


ODD = {
    "extension": msgpack.ExtType(5, b"abc"),
    "time": msgpack.Timestamp(5),
    "far": msgpack.Timestamp(2**60),
    "keys": {None: 1, True: 2, b"\xff": 3, 1.5: 4, 7: 5},
}
SHOWN = {
    "extension": [5, "YWJj"],
    "time": "1970-01-01T00:00:05Z",
    "far": [-1, "AAAAABAAAAAAAAAA"],
    "keys": {"null": 1, "true": 2, "/w==": 3, "1.5": 4, "7": 5},
}


@pytest.fixture
def odd(tmp_path: Path) -> Path:
    """A trace with what MessagePack has and JSON has not, wherever a record may hold anything."""
    far = {"far": ODD["far"]}
    known = {key: value for key, value in ODD.items() if key != "far"}
    round_: dict[str, Any] = {"type": "round", "index": 0, "form": "plain", "t1": 1, "emitted": [1], "state": known}
    records: list[dict[str, Any]] = [
        {"type": "header", "format": "specstep", "version": 1, "minor": 0, "base": {"name": "b"}, "run": known},
        {"type": "prefill", "positions": 1, "next": 1},
        round_,
        {"type": "odd", **far},
        {"type": "end", "reason": "stop", "rounds": 1, "emitted": 1, "stats": known},
    ]
    path = tmp_path / "odd.msgpack"
    path.write_bytes(b"".join(map(msgpack.packb, records)))
    return path


def test_what_json_has_not_is_written_as_what_it_has(odd: Path) -> None:
    known = {key: value for key, value in SHOWN.items() if key != "far"}

    assert specstep("trace", "info", "--json", odd).json["run"] == known
    assert specstep("show", "--round", "0", "--json", odd).json["state"] == known
    assert specstep("export", "--to", "json", "-o", "-", odd).json["end"]["stats"] == known
    records = [json.loads(line) for line in specstep("trace", "cat", "--json", odd).out.splitlines()]
    assert [records[0]["run"], records[3]["far"], records[4]["stats"]] == [known, SHOWN["far"], known]


@pytest.mark.parametrize("words", [("trace", "info"), ("trace", "cat"), ("show", "--round", "0")], ids=" ".join)
def test_as_text_it_is_shown_too(words: tuple[str, ...], odd: Path) -> None:
    assert specstep(*words, odd).code == 0


def test_what_prints_as_itself_stays() -> None:
    assert printable("größe 日本 [bold]") == "größe 日本 [bold]"
    assert printable("\x1b[2J\u202e\n") == "\\x1b[2J\\u202e\\n"
