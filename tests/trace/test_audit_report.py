"""The report of a trace file: its shape, its status, and what is left of a damaged one."""

import json
from pathlib import Path

import msgspec
import pytest
import typer
from typer.testing import CliRunner

from engine.commands.audit import audit
from engine.commands.exits import Commands
from engine.records import Header, Round
from engine.trace.audit import report
from engine.trace.reader import open_trace
from tests.trace import broken
from tests.trace.broken import run
from tests.trace.clean import Toy, clean_trace
from tests.trace.makes import written

ROUNDS = sum(isinstance(record, Round) for record in clean_trace(Toy()))
VECTORS = Path(__file__).parents[1] / "vectors" / "traces"

app = typer.Typer(cls=Commands, rich_markup_mode=None, pretty_exceptions_enable=False)
app.callback()(lambda: None)
app.command()(audit)


def specstep(*arguments: str | Path) -> tuple[int, str, str]:
    """Status, stdout and stderr of the command."""
    result = CliRunner().invoke(app, ["audit", *map(str, arguments)], catch_exceptions=False)
    return result.exit_code, result.stdout, result.stderr


def test_a_clean_trace_is_status_zero(tmp_path: Path) -> None:
    path = written(tmp_path / "clean.msgpack", clean_trace(Toy()))
    assert specstep(path) == (0, f"no findings in {ROUNDS} rounds\n", "")
    code, out, _ = specstep(path, "--json")
    assert (code, json.loads(out)) == (0, {"trace": str(path), "rounds": ROUNDS, "torn": None, "findings": []})


def test_findings_are_status_one_and_have_six_keys_each(tmp_path: Path) -> None:
    path = written(tmp_path / "broken.msgpack", run(broken.CorrectsFromRowBefore))
    code, out, err = specstep(path, "--json")
    assert (code, err) == (1, "")
    finding = json.loads(out)["findings"][0]
    assert list(finding) == ["rule", "round", "field", "recorded", "recomputed", "message"]
    assert (finding["rule"], finding["field"]) == ("A5", "next")
    code, out, err = specstep(path)
    assert (code, err) == (1, "")
    assert out.startswith(f"A5           round {finding['round']:<4}  round {finding['round']} carries token")


@pytest.mark.parametrize("name", ["torn-mid-record", "torn-no-end"])
def test_an_incomplete_trace_is_status_three(name: str) -> None:
    code, out, err = specstep(VECTORS / f"{name}.msgpack", "--json")
    torn = json.loads(out)["torn"]
    assert code == 3
    assert err.count("\n") == 1
    assert torn == ({"byte": 7246, "record": 26} if name == "torn-mid-record" else None)


def test_what_is_no_trace_is_status_four(tmp_path: Path) -> None:
    path = tmp_path / "none.msgpack"
    path.write_bytes(b"no trace at all")
    code, out, err = specstep(path)
    assert (code, out, err.count("\n")) == (4, "", 1)


def test_a_whole_record_that_cannot_be_read_tears_the_trace(tmp_path: Path) -> None:
    path = written(tmp_path / "odd.msgpack", clean_trace(Toy())[:8])
    good = path.read_bytes()
    path.write_bytes(good + msgspec.msgpack.encode({"type": "round", "index": "six", "form": "plain"}))
    with open_trace(path) as trace:
        made = report(trace)
        assert made.rounds == len(trace) - 1
    assert made.torn is not None
    assert made.torn.byte >= len(good)
    (finding,) = made.findings
    assert finding.rule == "torn"
    assert "Expected `int`, got `str`" in finding.message


def test_text_of_a_trace_cannot_command_the_terminal(tmp_path: Path) -> None:
    records = [
        msgspec.structs.replace(r, device={"requested": "npu\x1b[2J", "provider": "cpu"})
        if isinstance(r, Header)
        else r
        for r in clean_trace(Toy())
    ]
    code, out, _ = specstep(written(tmp_path / "rude.msgpack", records))
    assert code == 1
    assert "\x1b" not in out


def test_numbers_that_json_does_not_have_are_null(tmp_path: Path) -> None:
    records = [
        msgspec.structs.replace(r, ms={"draft": float("nan")}) if isinstance(r, Round) and r.index == 2 else r
        for r in clean_trace(Toy())
    ]
    code, out, _ = specstep(written(tmp_path / "nan.msgpack", records), "--json")
    assert (code, json.loads(out)["findings"][0]["recorded"]) == (1, None)
