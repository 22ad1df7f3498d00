"""``specstep diff``."""

from pathlib import Path

import msgpack
import pytest

from engine.trace.reader import open_trace
from tests.cli.commands import recorded, specstep

ROOT = Path(__file__).parents[2]
FAULTS = ROOT / "recordings" / "faults"
VECTORS = ROOT / "tests" / "vectors" / "traces"


def test_equal_tokens_are_status_zero_whatever_they_cost(tmp_path: Path) -> None:
    left = recorded(tmp_path / "left.msgpack")
    right = recorded(tmp_path / "right.msgpack", "--drafter", "none", "--k", "1")
    told = specstep("diff", left, right)
    assert (told.code, told.err) == (0, "")
    lines = told.out.splitlines()
    assert lines[0] == "EQUAL: the same 40 tokens"
    assert any(line.split() == ["drafted", "rounds", "14", "0"] for line in lines)
    assert "  drafter: scripted scripted in A, none in B" in lines
    as_json = specstep("diff", left, right, "--json").json
    assert (as_json["equal"], as_json["first"], as_json["left"]["figures"]["rounds"]) == (True, None, 14)


def test_a_near_tie_is_told_from_a_defect() -> None:
    left, right = FAULTS / "near-tie.msgpack", FAULTS / "near-tie.plain.msgpack"
    told = specstep("diff", left, right)
    assert told.code == 1
    assert told.out.startswith("DIFFERENT from token 25 on (of 48 and 48): a near-tie, not a defect")
    assert "A: the round that decided\nround 6, " in told.out
    assert "B: the round that decided\nround 24, plain" in told.out
    assert [line.split()[-1] for line in told.out.splitlines() if "0.494" in line] == ["1e-05", "1e-05"]
    assert specstep("diff", left, right, "--tie", "1e-9").out.startswith(
        "DIFFERENT from token 25 on (of 48 and 48): a defect"
    )
    first = specstep("diff", left, right, "--json").json["first"]
    assert (first["token"], first["cause"], first["left"]["decided_in"]) == (25, "near-tie", 6)


def test_equal_text_with_other_drafts_shows_where_they_first_differ() -> None:
    told = specstep("diff", FAULTS / "hidden-stale.msgpack", FAULTS / "hidden-stale.right.msgpack")
    assert told.code == 0
    assert "the drafts first differ at token 3: round 1 of A, 1 of B" in told.out


def test_a_round_that_cannot_be_read_is_told_with_its_file(tmp_path: Path) -> None:
    good, bad = recorded(tmp_path / "good.msgpack"), tmp_path / "bad.msgpack"
    with open_trace(good) as trace:
        header = next(trace.raw_records()).data
    rounds = {"type": "round", "index": 0, "form": "one-pass", "n_drafts": 2**31, "n_emitted": 1}
    bad.write_bytes(header + msgpack.packb(rounds))
    for pair in ((good, bad), (bad, good)):
        told = specstep("diff", *pair)
        assert told.code == 4
        assert told.err.startswith(f"specstep: {bad}: the round record at byte {len(header)} cannot be read")


def test_other_prompts_are_said_first() -> None:
    told = specstep("diff", ROOT / "recordings" / "flip.msgpack", ROOT / "recordings" / "recovery.msgpack")
    assert told.code == 1
    assert told.out.splitlines()[0].endswith("to be expected, the prompts differ")


def test_an_unfinished_trace_is_status_three_where_it_is_equal_so_far_and_one_where_it_is_not() -> None:
    whole, endless, torn = (
        VECTORS / f"{name}.msgpack" for name in ("clean-one-pass", "torn-no-end", "torn-mid-record")
    )
    assert specstep("diff", whole, endless).code == 3
    shorter = specstep("diff", whole, torn)
    assert shorter.code == 3
    assert "B stops there without an end" in shorter.out
    assert "the trace is torn" in shorter.err
    other = VECTORS / "fault-anchor-is-not-the-last-choice.msgpack"
    assert specstep("diff", other, torn).code == 1


def test_counts_alone_cannot_be_compared(tmp_path: Path) -> None:
    path = tmp_path / "counts.msgpack"
    with open_trace(VECTORS / "clean-one-pass.msgpack") as trace:
        raw = [record.fields for record in trace.raw_records()]
    raw = [record for record in raw if record["type"] in ("header", "round", "end")]
    for record in raw:
        if record["type"] == "round":
            record["n_emitted"] = len(record.pop("emitted"))
    path.write_bytes(b"".join(map(msgpack.packb, raw)))
    told = specstep("diff", path, VECTORS / "clean-one-pass.msgpack")
    assert told.code == 2
    assert told.out.startswith("NOT KNOWN")
    assert told.err.count("\n") == 1


def test_no_control_character_of_either_reaches_the_terminal(tmp_path: Path) -> None:
    left = recorded(tmp_path / "left.msgpack", "--prompt", "\x1b[31m\x07\u202e")
    right = recorded(tmp_path / "right.msgpack", "--prompt", "\x1b[32mxyz\x07")
    told = specstep("diff", left, right)
    assert told.code == 1
    assert all(c.isprintable() or c == "\n" for c in told.out)


@pytest.mark.parametrize("which", [0, 1])
def test_what_is_no_trace_is_status_four(tmp_path: Path, which: int) -> None:
    bad = tmp_path / "bad.msgpack"
    bad.write_bytes(b"nothing")
    paths = [VECTORS / "clean-plain.msgpack"] * 2
    paths[which] = bad
    told = specstep("diff", *paths)
    assert (told.code, told.out) == (4, "")
    assert specstep("diff", bad).code == 2
