"""A quantised graph whose rows depend on how many are in their pass: its account, the start and the trace say so."""

from pathlib import Path

import pytest

from engine.trace.reader import open_trace
from tests.cli.commands import specstep
from tests.folders.tiny_folder import Make, genai, optimum

RUN = ("--prompt", "ab ab ab", "--max-tokens", "6", "--ignore-stops", "--drafter", "lookup")


@pytest.fixture(params=["genai", "optimum"])
def quantised(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    if request.param == "genai":
        return genai(tmp_path / "model", Make(genai=True, quantised=True))
    return optimum(tmp_path / "model", Make(quantised=True))


def test_a_run_warns_that_its_rows_depend_on_their_pass(quantised: Path, tmp_path: Path) -> None:
    made = specstep("record", "--model", quantised, *RUN, "-o", tmp_path / "run.msgpack")
    assert made.code == 0
    assert "plain and speculative text may part without --plain-width 2: this graph is quantised, and a row" in made.err
    assert "depends on how many are in its pass (a batch of 4 and single steps differ by up to" in made.err
    with open_trace(tmp_path / "run.msgpack") as trace:
        assert [(event.code, event.level) for event in trace.events()] == [("quantised-rows", "warning")]
        assert trace.header.run["model"]["quantised"] == ["DynamicQuantizeMatMul"]


def test_info_says_that_it_multiplies_integers(quantised: Path) -> None:
    assert "multiplies   integers (DynamicQuantizeMatMul)" in specstep("info", "--model", quantised).out
    assert "quantised" not in specstep("info", "--model", genai(quantised.parent / "float")).out


def test_a_probe_that_finds_a_difference_says_what_may_help(quantised: Path) -> None:
    words = ("probe", "--model", quantised, "--prompt", "ab ab ab", "--max-tokens", "40", "--ignore-stops")
    found = specstep(*words, "--bits")
    assert found.code in (0, 1)
    assert ("--plain-width 2" in found.err) == (found.code == 1)


def test_a_padded_plain_step_is_held_to_what_it_promises(quantised: Path, tmp_path: Path) -> None:
    """One scale for all rows of a pass: here not even two rows are like the others."""
    specstep("record", "--model", quantised, *RUN, "--plain-width", "2", "-o", tmp_path / "run.msgpack")
    with open_trace(tmp_path / "run.msgpack") as trace:
        assert [event.code for event in trace.events()] == ["plain-width"]


def test_a_float_graph_is_not_warned_of(tmp_path: Path) -> None:
    made = specstep("record", "--model", genai(tmp_path / "model"), *RUN, "-o", tmp_path / "run.msgpack")
    assert (made.code, made.err) == (0, "")
