"""Conditions on the command line: ``record --until``, ``show --where``, ``conditions``."""

import json
from pathlib import Path

import pytest

from engine.conditions.fields import FIELDS
from engine.trace.reader import open_trace
from tests.cli.commands import TOY, recorded, specstep


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    return recorded(tmp_path / "run.msgpack")


def test_a_recording_stops_after_the_round_that_meets_the_condition(tmp_path: Path, trace: Path) -> None:
    with open_trace(trace) as whole:
        expected = next(i for i in range(len(whole)) if whole.round(i).take == 2 and (whole.round(i).pos or 0) > 20)
    path = tmp_path / "until.msgpack"
    made = specstep("record", *TOY, "--prompt", "hello", "-o", path, "--until", "take == 2 and pos > 20")
    assert (made.code, made.err) == (0, "")
    assert expected > 3
    assert made.out.rstrip().endswith(f"stopped at round {expected}: take == 2 and pos > 20")
    with open_trace(path) as cut:
        assert len(cut) == expected + 1
        assert cut.end is not None
        assert cut.end.reason == "aborted"


def test_a_recording_stops_at_the_hit_that_is_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "third.msgpack"
    made = specstep("record", *TOY, "--prompt", "hello", "-o", path, "--until", "take > 0, hit 3")
    assert made.code == 0
    with open_trace(path) as cut:
        takes = [cut.round(i).take for i in range(len(cut))]
    assert sum(take > 0 for take in takes) == 3
    assert takes[-1] > 0


def test_a_condition_that_is_never_met_is_status_one_and_the_run_is_recorded(tmp_path: Path) -> None:
    path = tmp_path / "never.msgpack"
    made = specstep("record", *TOY, "--prompt", "hello", "--max-tokens", "9", "-o", path, "--until", "take == 99")
    assert made.code == 1
    assert made.err == f"specstep: no round was stopped at, of {len(open_trace(path))}: take == 99\n"
    assert "9 tokens" in made.out


@pytest.mark.parametrize("command", [("record", *TOY, "--prompt", "x", "--until"), ("show", "TRACE", "--where")])
def test_a_wrong_condition_is_refused_before_anything_runs_and_the_place_is_shown(
    tmp_path: Path, trace: Path, command: tuple[str, ...]
) -> None:
    words = [str(trace) if word == "TRACE" else word for word in command]
    output = ("-o", tmp_path / "none.msgpack") if command[0] == "record" else ()
    refused = specstep(*words, "pos > 1 and tke == 0", *output)
    assert (refused.code, refused.out) == (2, "")
    assert refused.err.splitlines() == [
        "specstep: unknown name tke: did you mean take? (column 13)",
        "  pos > 1 and tke == 0",
        "              ^",
    ]
    assert not (tmp_path / "none.msgpack").exists()


def test_the_rounds_that_meet_a_condition_are_shown_a_line_each(trace: Path) -> None:
    with open_trace(trace) as whole:
        expected = [i for i in range(len(whole)) if whole.round(i).take >= 2]
    shown = specstep("show", trace, "--where", "take >= 2")
    assert shown.code == 0
    assert [line.split(",")[0] for line in shown.out.splitlines()] == [f"round {i}" for i in expected]
    lines = specstep("show", trace, "--where", "take >= 2", "--json").out.splitlines()
    assert [json.loads(line)["index"] for line in lines] == expected
    second = specstep("show", trace, "--where", "take >= 2 hit 2", "--first", "--json")
    assert second.json["index"] == expected[1]
    assert (
        specstep("show", trace, "--where", "take >= 2", "--first").out
        == specstep("show", trace, "--round", str(expected[0])).out
    )


def test_no_such_round_is_status_one(trace: Path) -> None:
    none = specstep("show", trace, "--where", "take > 90")
    assert (none.code, none.out) == (1, "")
    assert none.err == f"specstep: no round of {len(open_trace(trace))} meets take > 90\n"


@pytest.mark.parametrize("words", [(), ("--round", "1", "--where", "flip")])
def test_show_wants_a_round_or_a_condition(trace: Path, words: tuple[str, ...]) -> None:
    refused = specstep("show", trace, *words)
    assert (refused.code, refused.err) == (
        2,
        "specstep: give --round with a number, or --where with a condition\n",
    )


def test_every_name_is_listed() -> None:
    text = specstep("conditions").out
    assert all(f"| `{field.name}` |" in text for field in FIELDS)
    assert [entry["name"] for entry in specstep("conditions", "--json").json] == [field.name for field in FIELDS]
