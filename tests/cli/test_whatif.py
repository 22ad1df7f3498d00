"""``specstep whatif``."""

from pathlib import Path
from typing import Any

import msgpack
import pytest

from engine.trace.reader import open_trace
from tests.cli.commands import specstep

ROOT = Path(__file__).parents[2]
FLIP = ROOT / "recordings" / "flip.msgpack"


def rewritten(path: Path, **options: Any) -> Path:
    """The flip with other options in its header, without an index."""
    with open_trace(FLIP) as trace:
        first, *others = trace.raw_records()
    header = first.fields | {"options": first.fields["options"] | options}
    path.write_bytes(msgpack.packb(header) + b"".join(record.data for record in others[:-1]))
    return path


def test_a_higher_bar_is_told_in_rounds_and_time() -> None:
    told = specstep("whatif", FLIP, "--bar", "2", "--window", "4")
    assert (told.code, told.err) == (0, "")
    recorded, asked, cost, even = told.out.splitlines()
    assert recorded.startswith("recorded    bar 1.80 over 6 rounds: flipped after round 46; 241 rounds")
    assert asked == "what if     bar 2.00 over 4 rounds: flips after round 21 (mean 1.50 over 4)"
    assert cost.strip().startswith("277 rounds instead of 241 (+36); saves about")
    assert even.startswith("break-even")


def test_a_lower_bar_is_said_to_be_unknown() -> None:
    told = specstep("whatif", FLIP, "--bar", "1.2", "--window", "12")
    assert "unknown" in told.out
    assert "note" in told.out
    asked = specstep("whatif", FLIP, "--bar", "1.2", "--window", "12", "--json").json["whatif"]
    assert (asked["kind"], asked["flip"], asked["rounds"], asked["saved_ms"]) == ("unknown", None, None, None)
    assert asked["fewest"] < asked["most"]


def test_the_break_even_is_the_bar_where_none_is_given() -> None:
    told = specstep("whatif", FLIP, "--json").json
    assert told["whatif"]["bar"] == pytest.approx(told["break_even"])
    assert told["whatif"]["window"] == told["recorded"]["window"] == 6


def test_a_sweep_marks_the_recorded_cell_and_the_one_asked_for() -> None:
    told = specstep("whatif", FLIP, "--bar", "2", "--window", "4", "--sweep")
    assert told.out.count("@46]") == 1
    assert told.out.count("@21>") == 1
    assert all(len(line) <= 110 for line in told.out.splitlines())
    sweep = specstep("whatif", FLIP, "--bar", "2", "--window", "4", "--sweep", "--json").json["sweep"]
    row, column = sweep["windows"].index(4), sweep["bars"].index(2.0)
    assert sweep["flip"][row][column] == 21
    assert "unknown" in sweep["flip"][-1]


@pytest.mark.parametrize(
    "flags",
    [
        *(("--bar", bar) for bar in ("x", "-1", "nan", "inf")),
        *(("--window", window) for window in ("0", "9" * 30)),
    ],
)
def test_a_rule_that_cannot_be_is_a_usage_error(flags: tuple[str, str]) -> None:
    told = specstep("whatif", FLIP, *flags)
    assert (told.code, told.out) == (2, "")
    assert told.err.count("\n") == 1
    assert flags[0] in told.err


def test_a_window_or_a_bar_beyond_all_rounds_is_no_error(tmp_path: Path) -> None:
    told = specstep("whatif", FLIP, "--bar", "1e308", "--window", str(2**32), "--sweep", "--json")
    assert (told.code, told.json["whatif"]["kind"]) == (0, "unknown")
    wide = rewritten(tmp_path / "wide.msgpack", fallback_window=2**64 - 1)
    assert specstep("whatif", wide, "--sweep", "--json").json["recorded"]["window"] == 2**64 - 1
    assert specstep("whatif", wide, "--sweep").code == 0


def test_an_unfinished_trace_is_read_as_far_as_it_goes() -> None:
    told = specstep("whatif", ROOT / "tests" / "vectors" / "traces" / "torn-no-end.msgpack", "--bar", "4")
    assert told.code == 3
    assert "did not come to its end" in told.out
    assert specstep("whatif", ROOT / "README.md").code == 4
