"""An audit raises nothing on a clean recording, whatever the run was like and whatever its writer left out."""

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.records import AnyRecord, End, Header, Round
from engine.trace.audit import Audit, audit
from engine.trace.reader import open_trace
from tests.trace.clean import TOYS, VOCAB, Toy, clean_trace
from tests.trace.thinned import OPTIONAL, counts_only, without

VECTORS = Path(__file__).parents[1] / "vectors" / "traces"
EXPECTED: dict[str, list[dict[str, Any]]] = json.loads((VECTORS / "expected.json").read_text())


@pytest.mark.parametrize("name", EXPECTED)
def test_a_worked_trace_has_the_findings_it_must_have(name: str) -> None:
    trace = open_trace(VECTORS / f"{name}.msgpack")
    findings = audit(trace.records(), trace.torn)
    found = [{"rule": finding.rule, "round": finding.round} for finding in findings]
    for expected in EXPECTED[name]:
        assert expected in found
    assert bool(found) == bool(EXPECTED[name])


@settings(max_examples=150, deadline=None)
@given(toy=TOYS)
def test_a_clean_run_has_no_findings(toy: Toy) -> None:
    assert audit(clean_trace(toy)) == []


@settings(max_examples=100, deadline=None)
@given(toy=TOYS, keys=st.lists(st.sampled_from(OPTIONAL), unique=True))
def test_absent_keys_are_unknown_and_not_wrong(toy: Toy, keys: list[str]) -> None:
    assert audit(without(clean_trace(toy), keys)) == []


@settings(max_examples=100, deadline=None)
@given(toy=TOYS, data=st.data())
def test_absent_options_are_unknown_and_not_wrong(toy: Toy, data: st.DataObject) -> None:
    header, *rest = clean_trace(toy)
    assert isinstance(header, Header)
    kept = data.draw(st.sets(st.sampled_from(sorted(header.options))))
    options = {key: value for key, value in header.options.items() if key in kept}
    assert audit([msgspec.structs.replace(header, options=options), *rest]) == []


@settings(max_examples=60, deadline=None)
@given(toy=TOYS)
def test_an_imported_log_with_counts_only_has_no_findings(toy: Toy) -> None:
    assert audit(counts_only(clean_trace(toy))) == []


@settings(max_examples=30, deadline=None)
@given(toy=TOYS)
def test_a_run_cut_off_after_any_round_lacks_its_end_and_nothing_else(toy: Toy) -> None:
    records = clean_trace(toy)[:-1]
    for length in range(1, len(records) + 1, 7):
        assert [finding.rule for finding in audit(records[:length])] == ["end-missing"]


@pytest.mark.parametrize("reason", ["fault", "aborted"])
def test_a_run_that_broke_or_was_given_up_may_emit_less_than_its_limit(reason: str) -> None:
    records = clean_trace(Toy())[:9]
    emitted = sum(record.count for record in records if isinstance(record, Round))
    assert audit([*records, End(reason=reason, rounds=7, emitted=emitted)]) == []


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(
    "ease",
    [(0.9, 0.3), (0.95, 0.1), (0.3, 0.9), (0.9, 0.5, 0.9, 0.2, 0.9, 0.3, 0.8), (1.0, 0.2), (0.6,)],
)
def test_a_shift_from_easy_to_hard_text_is_no_finding(ease: tuple[float, ...], seed: int) -> None:
    for kind in ("mtp", "lookup"):
        assert audit(clean_trace(Toy(seed=seed, kind=kind, ease=ease, k=7, max_tokens=1500))) == []


@pytest.mark.parametrize("seed", range(6))
def test_text_that_loops_honestly_is_no_finding(seed: int) -> None:
    assert audit(clean_trace(Toy(seed=seed, loops=True, ease=(0.8,), k=4, max_tokens=1200))) == []


def test_a_separator_line_is_no_endless_repetition() -> None:
    records = clean_trace(Toy(ease=(1.0,), k=4, max_tokens=400))
    assert audit([_with_line(record, 20, 36) for record in records]) == []


def test_findings_come_out_with_the_record_that_shows_them() -> None:
    header, *rest = clean_trace(Toy())
    assert isinstance(header, Header)
    auditor = Audit(header)
    assert all(auditor.feed(record) == [] for record in rest)
    assert auditor.finish() == []


def _with_line(record: AnyRecord, first: int, last: int) -> AnyRecord:
    """Its tokens replaced by one and the same in the rounds between."""
    line = VOCAB - 1
    match record:
        case Round() if first <= record.index <= last:
            return msgspec.structs.replace(
                record,
                t1=line if record.index > first else record.t1,
                drafts=(line,) * record.drafted,
                targets=(line,) * (record.drafted + 1) if record.index < last else (*(line,) * record.drafted, 0),
                emitted=(line if record.index > first else record.t1 or 0, *(line,) * record.take),
                next=line if record.index < last else 0,
            )
        case Round() if record.index == last + 1:
            return msgspec.structs.replace(record, t1=0, emitted=(0, *(record.emitted or ())[1:]))
        case _:
            return record
