"""What is said of a recording that no rule of the audit has anything to say about."""

from pathlib import Path

import msgspec
import pytest

from engine.errors import TraceError
from engine.faults.counting import PADDED_FROM
from engine.faults.evidence import by_choices, by_drafts, evidence, twin_path
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


def test_the_first_draft_that_a_right_run_does_not_make_is_told_with_what_it_costs(tmp_path: Path) -> None:
    fault = named("padded-drafts")
    request = on_toy(fault.shown)
    record(faulty(fault, request), tmp_path / "worse.msgpack")
    record(right(request), tmp_path / "right.msgpack")
    with Trace(tmp_path / "worse.msgpack") as worse, Trace(tmp_path / "right.msgpack") as good:
        shown = by_drafts(worse, good)
        assert by_drafts(good, good) is None
    assert shown is not None
    assert shown.round == PADDED_FROM
    assert f"round {PADDED_FROM} drafts [0, 0, 0, 0] where a right run drafts [" in shown.text
    assert "of the drafts are accepted in all" in shown.text


def test_what_was_chosen_otherwise_from_other_drafts_is_not_told(tmp_path: Path) -> None:
    request = on_toy(named("reused-u").shown)
    other = msgspec.structs.replace(request, drafter="scripted:takes=2")
    record(right(request), tmp_path / "one.msgpack")
    record(right(other), tmp_path / "other.msgpack")
    with Trace(tmp_path / "one.msgpack") as one, Trace(tmp_path / "other.msgpack") as another:
        assert by_choices(one, one) is None
        assert by_choices(one, another) is None


def test_a_recording_that_does_not_show_its_fault_is_an_error(tmp_path: Path) -> None:
    record(right(on_toy(named("near-tie").shown)), tmp_path / "counts-everything.msgpack")
    with pytest.raises(TraceError, match="nothing in this recording shows the fault"):
        evidence(named("counts-everything"), tmp_path)
