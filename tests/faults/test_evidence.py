"""What is said of a recording that no rule of the audit has anything to say about."""

from pathlib import Path

import pytest

from engine.errors import TraceError
from engine.faults.evidence import by_acceptance, evidence, twin_path
from engine.faults.gallery import named
from engine.faults.recording import begin_twin, record
from engine.trace.reader import Trace
from tests.faults.made import empty, faulty, on_toy, right


def recorded(name: str, folder: Path) -> Path:
    """The fault on a toy, and what it is compared with."""
    fault = named(name)
    request = on_toy(fault.shown)
    path = folder / f"{name}.msgpack"
    record(faulty(fault, request), path, fault)
    twin = twin_path(fault, folder)
    if twin is not None:
        record(begin_twin(fault, empty(request.model), request), twin)
    return path


def test_a_tie_is_told_with_the_token_the_round_and_the_gap(tmp_path: Path) -> None:
    path = recorded("near-tie", tmp_path)
    shown = evidence(named("near-tie"), tmp_path)
    assert shown is not None
    assert shown.round is not None
    with Trace(path) as trace:
        before = sum(trace.round(index).count for index in range(shown.round))
        tokens = trace.round(shown.round).emitted or ()
    # The row 24 positions behind the prompt's last is of token 24, so it chooses token 25.
    assert before <= 25 < before + len(tokens)
    assert shown.text.startswith(f"token 25 is {tokens[25 - before]}, where plain decode chooses ")
    assert shown.text.endswith("a tie, not a defect")


def test_a_character_in_halves_is_told_with_its_bytes(tmp_path: Path) -> None:
    recorded("split-character", tmp_path)
    shown = evidence(named("split-character"), tmp_path)
    assert shown is not None
    assert "keeps b'\\xc3' and rejects b'\\xa8' behind it; the next token, b'\\xa9', makes it 'é'" in shown.text


def test_a_torn_file_holds_the_rounds_before_the_tear(tmp_path: Path) -> None:
    path = recorded("torn-trace", tmp_path)
    with Trace(path) as trace:
        assert len(trace) == 6
        assert trace.torn is not None
    shown = evidence(named("torn-trace"), tmp_path)
    assert shown is not None
    assert shown.text.startswith(f"the trace is torn at byte {trace.torn.byte}, in record {trace.torn.record}")


def test_fewer_accepted_drafts_are_told_beside_those_of_the_right_run(tmp_path: Path) -> None:
    fault = named("padded-drafts")
    request = on_toy(fault.shown)
    record(faulty(fault, request), tmp_path / "worse.msgpack")
    record(right(request), tmp_path / "right.msgpack")
    with Trace(tmp_path / "worse.msgpack") as worse, Trace(tmp_path / "right.msgpack") as good:
        shown = by_acceptance(worse, good)
        assert by_acceptance(good, good) is None
    assert shown is not None
    assert shown.round is None
    assert "of the drafts are accepted" in shown.text


def test_a_recording_that_does_not_show_its_fault_is_an_error(tmp_path: Path) -> None:
    record(right(on_toy(named("near-tie").shown)), tmp_path / "counts-everything.msgpack")
    with pytest.raises(TraceError, match="nothing in this recording shows the fault"):
        evidence(named("counts-everything"), tmp_path)


def test_what_only_a_distribution_shows_has_no_evidence_in_a_run(tmp_path: Path) -> None:
    assert evidence(named("reused-u"), tmp_path) is None
