"""Faults of single rounds, and of how one follows another, are found by their rule and at their round."""

from typing import Any

import msgspec
import pytest

from engine.records import AnyRecord, End, Header, Round
from engine.trace.audit import audit
from tests.trace import broken
from tests.trace.broken import ended, first, partly_accepted, retold, rounds_of, run, with_rounds
from tests.trace.clean import VOCAB, Toy, ToyEngine, clean_trace


def test_a_lost_round_is_a1() -> None:
    records = clean_trace(Toy())
    del records[2 + 4]
    finding = audit(records)[0]
    assert (finding.rule, finding.round, finding.recorded, finding.recomputed) == ("A1", 5, 5, 4)


def test_a_doubled_round_is_a1() -> None:
    records = clean_trace(Toy())
    records.insert(2 + 4, records[2 + 4])
    assert (audit(records)[0].rule, audit(records)[0].round) == ("A1", 4)


@pytest.mark.parametrize("place", [0, 1, -1])
def test_a_record_that_comes_again_is_a1(place: int) -> None:
    records = clean_trace(Toy())
    assert "A1" in {finding.rule for finding in audit([*records, records[place]])}


def test_rounds_without_a_header_are_a1() -> None:
    assert audit(clean_trace(Toy())[1:])[0].rule == "A1"


@pytest.mark.parametrize("change", [{"version": 2}, {"version": 0}, {"format": "other"}])
def test_another_format_or_version_is_a1(change: dict[str, Any]) -> None:
    assert [finding.rule for finding in audit(retold(clean_trace(Toy()), **change))] == ["A1"]


@pytest.mark.parametrize(
    ("field", "value"),
    [("take", 4), ("take", -1), ("verified", 4), ("limit", 2), ("limit", 5), ("targets", (1, 2))],
)
def test_counts_that_do_not_fit_are_a2(field: str, value: object) -> None:
    records = with_rounds(clean_trace(Toy(ease=(1.0,))), **{field: {3: value}})
    finding = first(audit(records), "A2")
    assert (finding.round, finding.field) == (3, "drafts" if field == "limit" and value == 2 else field)


def test_a_replay_that_is_counted_as_the_pass_is_a2() -> None:
    records = clean_trace(Toy(k=4, max_tokens=100))
    partly = [r for r in rounds_of(records) if r.take < r.drafted]
    replayed = with_rounds(
        records,
        verified={r.index: r.take for r in partly},
        targets={r.index: (r.targets or ())[: r.take + 1] for r in partly},
        accept_p=dict.fromkeys(range(100)),
        target_p=dict.fromkeys(range(100)),
    )
    findings = audit(replayed)
    assert [(f.rule, f.round, f.field) for f in findings] == [("A2", partly[0].index, "verified")]
    assert audit(clean_trace(Toy(k=4, max_tokens=100, width=2, ease=(1.0,)))) == []


def test_a_limit_that_may_overshoot_is_a2_at_the_round_that_has_it() -> None:
    records = clean_trace(Toy(max_tokens=10, k=5, ease=(0.0,)))
    at = next(r.index for r in rounds_of(records) if r.limit == 3)
    finding = first(audit(with_rounds(records, limit={at: 4})), "A2")
    assert (finding.round, finding.recorded, finding.recomputed) == (at, 4, 3)


def test_a_token_that_was_not_accepted_is_a3() -> None:
    records = clean_trace(Toy())
    at = partly_accepted(records)
    emitted = rounds_of(records)[at].emitted or ()
    finding = first(audit(with_rounds(records, emitted={at: (*emitted[:-1], (emitted[-1] + 1) % VOCAB)})), "A3")
    assert (finding.round, finding.field) == (at, "emitted")


def test_counts_everything_is_a4_at_the_first_wrong_draft() -> None:
    records = run(broken.CountsEverything)
    wrong = next(r for r in rounds_of(records) if r.drafts != (r.targets or ())[: r.drafted])
    finding = first(audit(records), "A4")
    assert finding.round == wrong.index
    assert finding.recorded in (wrong.drafts or ())


def test_an_unchecked_first_draft_is_a4() -> None:
    records = run(broken.FirstUnchecked)
    wrong = next(r for r in rounds_of(records) if (r.drafts or (0,))[0] != (r.targets or ())[0])
    assert first(audit(records), "A4").round == wrong.index


@pytest.mark.parametrize("sampler", ["greedy", "gumbel"])
def test_a_right_draft_that_was_not_accepted_is_a4(sampler: str) -> None:
    records = clean_trace(Toy(sampler=sampler))
    at = partly_accepted(records)
    round_ = rounds_of(records)[at]
    finding = first(audit(with_rounds(records, targets={at: (*(round_.drafts or ()), 0)})), "A4")
    assert (finding.round, finding.recorded, finding.recomputed) == (at, round_.take, round_.take + 1)


def test_a_correction_from_the_row_before_is_a5() -> None:
    records = run(broken.CorrectsFromRowBefore)
    at = next(r.index for r in rounds_of(records) if r.take)
    finding = first(audit(records), "A5")
    assert finding.round == at
    assert "twice" in finding.message


def test_an_anchor_that_is_not_the_last_choice_is_a6() -> None:
    records = clean_trace(Toy())
    t1 = rounds_of(records)[6].t1
    findings = audit(with_rounds(records, t1={6: (t1 or 0) + 1}))
    assert (findings[0].rule, findings[0].round) == ("A3", 6)
    assert (first(findings, "A6").recorded, first(findings, "A6").recomputed) == ((t1 or 0) + 1, t1)


def test_a_first_round_that_does_not_follow_the_prefill_is_a6_and_a7() -> None:
    records = clean_trace(Toy())
    records[1] = msgspec.structs.replace(records[1], next=0 if rounds_of(records)[0].t1 else 1, positions=4)
    findings = audit(records)
    assert first(findings, "A6").round == 0
    assert [(f.round, f.field) for f in findings if f.rule == "A7"] == [(None, "positions"), (0, "pos")]


@pytest.mark.parametrize("extra", [1, -1, 3])
def test_rows_that_stay_in_the_cache_or_are_cut_off_it_are_a7_and_a14(extra: int) -> None:
    records = clean_trace(Toy(ease=(0.5,), k=4))
    at, shift = partly_accepted(records), 0
    moved: list[AnyRecord] = []
    for record in records:
        if isinstance(record, Round):
            pos = (record.pos or 0) + shift
            shift += extra if record.index == at else 0
            end = (record.consumed or 0) + shift
            moved.append(msgspec.structs.replace(record, pos=pos, consumed=end, state={"kv_len": end}))
        else:
            moved.append(record)
    finding = first(audit(moved), "A7")
    assert (finding.round, finding.field, finding.recorded - finding.recomputed) == (at, "consumed", extra)


def test_a_start_that_is_not_the_end_before_is_told_in_a_sentence() -> None:
    records = clean_trace(Toy())
    held = rounds_of(records)[3].consumed
    moved = {"pos": {4: (held or 0) + 1}, "consumed": {4: (rounds_of(records)[4].consumed or 0) + 1}}
    finding = first(audit(with_rounds(records, **moved)), "A7")
    assert finding.message == (
        f"round 4 starts at position {(held or 0) + 1} but round 3 ended at {held}: "
        "a rejected row was probably kept in the cache; look at the rollback"
    )


@pytest.mark.parametrize("field", ["kv_len", "recurrent"])
def test_a_state_that_is_longer_than_the_text_is_a14(field: str) -> None:
    records = clean_trace(Toy())
    at = partly_accepted(records)
    round_ = rounds_of(records)[at]
    state = {**(round_.state or {}), field: (round_.pos or 0) + 1 + round_.drafted}
    finding = first(audit(with_rounds(records, state={at: state})), "A14")
    assert (finding.round, finding.field, finding.recomputed) == (at, f"state.{field}", round_.consumed)


@pytest.mark.parametrize("lengths", ["at once", "one behind", "when it drafts"])
def test_a_draft_cache_that_drifts_is_a14_from_the_first_drift_on(lengths: str) -> None:
    records = clean_trace(Toy(ease=(0.8,), k=4, max_tokens=150, lengths=lengths))
    drift, states, drifting = 0, dict[int, object](), list[int]()
    for round_ in rounds_of(records):
        if round_.index > 2 and round_.take < round_.drafted:
            drift += 2
            drifting.append(round_.index)
        states[round_.index] = {"draft_len": (round_.state or {})["draft_len"] + drift}
    found = [finding.round for finding in audit(with_rounds(records, state=states)) if finding.rule == "A14"]
    assert found == drifting


def stopping(engine: type[ToyEngine]) -> list[AnyRecord]:
    """A run whose first full round has a stop token as its second draft."""
    records = run(ToyEngine, ease=[1.0], k=4)
    return run(engine, ease=[1.0], k=4, stops=[(rounds_of(records)[2].drafts or ())[1]])


def test_text_behind_a_stop_inside_the_accepted_run_is_a8() -> None:
    assert audit(stopping(ToyEngine)) == []
    finding = first(audit(stopping(broken.StopInside)), "A8")
    assert finding.round == 2
    assert len(finding.recomputed) == 3


def test_a_limit_that_is_checked_before_the_stop_is_a8() -> None:
    records = stopping(ToyEngine)
    findings = audit(ended(records, reason="max_tokens"))
    assert [(finding.rule, finding.recomputed) for finding in findings] == [("A8", "stop")]


def test_a_run_that_goes_on_after_a_stop_is_a8() -> None:
    records = clean_trace(Toy(ease=(0.0,)))
    stop = rounds_of(records)[5].t1
    header = records[0]
    assert isinstance(header, Header)
    findings = audit(retold(records, options={**header.options, "stop_tokens": [stop]}))
    assert first(findings, "A8").round == 6


def test_a_run_that_says_stop_without_one_is_a8() -> None:
    records = clean_trace(Toy())
    unused = min({*range(VOCAB)} - {token for r in rounds_of(records) for token in r.emitted or ()})
    records = clean_trace(Toy(stops=(unused,)))
    assert [f.rule for f in audit(ended(records, reason="stop"))] == ["A8"]


def test_an_overshoot_is_a8() -> None:
    records = run(broken.Overshoots, max_tokens=30, ease=[1.0], k=6)
    assert sum(r.count for r in rounds_of(records)) > 30
    assert first(audit(records), "A8").round == rounds_of(records)[-1].index


def test_a_limit_that_is_not_used_up_is_a8() -> None:
    records = clean_trace(Toy())
    end = records[-1]
    assert isinstance(end, End)
    rest = [r for r in records[:-1] if not isinstance(r, Round) or r.index < 10]
    emitted = sum(r.count for r in rounds_of(rest))
    findings = audit([*rest, msgspec.structs.replace(end, rounds=10, emitted=emitted)])
    assert [finding.rule for finding in findings] == ["A8"]
