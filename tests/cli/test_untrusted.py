"""What a trace says of itself reaches the terminal as text only: nothing steers, nothing makes a line of its own."""

from pathlib import Path

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


def test_what_prints_as_itself_stays() -> None:
    assert printable("größe 日本 [bold]") == "größe 日本 [bold]"
    assert printable("\x1b[2J\u202e\n") == "\\x1b[2J\\u202e\\n"
