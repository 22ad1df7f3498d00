"""The recordings that come with the project: one of each fault, small, and found where the fault is."""

from pathlib import Path

import msgspec
import pytest

from engine.faults.evidence import evidence, twin_path
from engine.faults.fault import Fault
from engine.faults.gallery import FAULTS, named
from engine.faults.page import page
from engine.opening import BUNDLED
from engine.records import Round
from engine.trace.audit import audit, report
from engine.trace.reader import Trace
from tests.faults.first_rounds import SEEN_AS_INJECTED, first_round
from tests.faults.made import faulty, records_of, right, rounds_of

FOLDER = Path(__file__).parents[2] / "recordings" / "faults"
LARGEST = 40_000
TOYS = [fault for fault in FAULTS if fault.shown.model != BUNDLED and fault.stream is None]


def ids(fault: Fault) -> str:
    return fault.name


def decided(round_: Round) -> Round:
    """What was decided in it: without times, and without the figures whose last digit is the machine's."""
    return msgspec.structs.replace(timeless(round_), target_p=None, accept_p=None, gap=None, top=None, draft_top=None)


def rounds(trace: Trace) -> list[Round]:
    return [trace.round(index) for index in range(len(trace))]


@pytest.mark.parametrize("fault", FAULTS, ids=ids)
def test_a_recording_is_small_says_what_was_injected_and_shows_it_where_it_is(fault: Fault) -> None:
    path = FOLDER / f"{fault.name}.msgpack"
    assert path.stat().st_size < LARGEST
    shown = evidence(fault, FOLDER)
    with Trace(path) as trace:
        assert (trace.header.run["fault"], trace.header.run["injected"]) == (fault.name, fault.sentence)
        if fault.name not in SEEN_AS_INJECTED:
            assert shown.round == first_round(fault.name, trace.header, rounds(trace), trace.piece)


@pytest.mark.parametrize("fault", [fault for fault in FAULTS if fault.rules], ids=ids)
def test_the_audit_of_a_recording_finds_what_its_rules_can_find(fault: Fault) -> None:
    with Trace(FOLDER / f"{fault.name}.msgpack") as trace:
        assert set(fault.rules) <= {finding.rule for finding in report(trace).findings}


@pytest.mark.parametrize("fault", [f for f in FAULTS if twin_path(f, FOLDER)], ids=ids)
def test_the_run_beside_a_recording_is_small_and_right(fault: Fault) -> None:
    path = twin_path(fault, FOLDER)
    assert path is not None
    assert path.stat().st_size < LARGEST
    with Trace(path) as trace:
        assert audit(trace.records()) == []


@pytest.mark.parametrize("fault", TOYS, ids=ids)
def test_a_recording_of_a_toy_is_made_again_token_for_token(fault: Fault) -> None:
    made = rounds_of(records_of(faulty(fault, fault.shown)))
    with Trace(FOLDER / f"{fault.name}.msgpack") as trace:
        assert [decided(round_) for round_ in rounds(trace)] == [decided(round_) for round_ in made]


@pytest.mark.parametrize("name", {repr(f.shown): f.name for f in FAULTS if f.shown.model == BUNDLED}.values())
def test_a_right_run_of_the_bundled_models_with_the_same_options_raises_nothing(name: str) -> None:
    assert audit(records_of(right(named(name).shown))) == []


def test_the_page_of_the_recordings_is_as_the_program_makes_it() -> None:
    assert (FOLDER / "README.md").read_text(encoding="utf-8") == page(FOLDER)


def timeless(round_: Round) -> Round:
    """The round without its times and what float32 rounding may touch."""
    return msgspec.structs.replace(round_, ms=None)
