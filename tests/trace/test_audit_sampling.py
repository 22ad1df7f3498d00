"""Under rejection sampling the recorded numbers must give each decision; A4 and A5 stay out of it."""

import msgspec
import pytest

from engine.records import AnyRecord, Header
from engine.trace.audit import audit
from tests.trace import broken
from tests.trace.broken import rounds_of, run, with_rounds
from tests.trace.clean import Toy, ToyEngine, clean_trace

SAMPLING: dict[str, object] = {"sampler": "rejection", "k": 4, "max_tokens": 150}
FAULTS = [(broken.DrawsFromBase, "next"), (broken.OneCoin, "u"), (broken.OtherBasis, "u")]


@pytest.mark.parametrize("one_hot", [True, False])
@pytest.mark.parametrize(("engine", "field"), FAULTS, ids=[fault[0].__name__ for fault in FAULTS])
def test_a_wrong_rule_of_rejection_is_a15(engine: type[ToyEngine], field: str, one_hot: bool) -> None:
    options = {**SAMPLING, "one_hot": one_hot, "max_tokens": 500}
    assert audit(run(ToyEngine, **options)) == []
    findings = audit(run(engine, **options))
    assert {finding.rule for finding in findings} == {"A15"}
    assert field in {finding.field for finding in findings}


def test_a_picked_draft_that_is_judged_as_a_drawn_one_is_a15() -> None:
    findings = audit(run(broken.PicksAsIfDrawn, **SAMPLING))
    assert [(finding.rule, finding.field) for finding in findings] == [("A15", "draft_p")]


def rejecting(records: list[AnyRecord]) -> int:
    """A round, not the first, that accepts some drafts and rejects one."""
    return next(r.index for r in rounds_of(records) if r.index > 5 and 0 < r.take < r.drafted and r.cut is None)


@pytest.mark.parametrize("draft", [0, -1])
def test_one_decision_that_its_numbers_do_not_give_is_found_at_its_round(draft: int) -> None:
    """The first draft of the round was accepted, the last one that has a number was rejected."""
    records = run(ToyEngine, **SAMPLING)
    at = rejecting(records)
    round_ = rounds_of(records)[at]
    u = list(round_.u or ())
    u[draft] = 0.9999999 if draft == 0 else 0.0
    p = list(round_.accept_p or ())
    p[draft if draft == 0 else len(u) - 1] = 0.001
    findings = audit(with_rounds(records, u={at: tuple(u)}, accept_p={at: tuple(p)}))
    assert [(finding.rule, finding.round, finding.field) for finding in findings] == [("A15", at, "u")]


@pytest.mark.parametrize("nudge", [1e-7, -1e-7])
def test_a_decision_on_the_edge_may_fall_either_way(nudge: float) -> None:
    records = run(ToyEngine, **SAMPLING)
    at = rejecting(records)
    round_ = rounds_of(records)[at]
    u, p, q = round_.u or (), list(round_.accept_p or ()), round_.draft_p or ()
    p[0] = u[0] * q[0] * (1 + nudge)
    assert audit(with_rounds(records, accept_p={at: tuple(p)})) == []


def test_a_number_outside_the_unit_interval_is_a15() -> None:
    records = run(ToyEngine, **SAMPLING)
    at = rejecting(records)
    u = rounds_of(records)[at].u or ()
    findings = audit(with_rounds(records, u={at: (*u[:-1], 1.5)}))
    assert [(finding.rule, finding.round, finding.recorded) for finding in findings] == [("A15", at, 1.5)]


def test_one_seed_for_every_round_is_a15() -> None:
    records = run(ToyEngine, **SAMPLING)
    same = {r.index: (0.5, *(r.u or ())[1:]) for r in rounds_of(records) if r.u}
    shares = {r.index: None for r in rounds_of(records)}
    findings = audit(with_rounds(records, u=same, accept_p=shares))
    assert {(finding.rule, finding.field) for finding in findings} == {("A15", "u")}


def test_a_drafter_that_reports_no_probability_may_be_accepted_above_p() -> None:
    records = run(ToyEngine, **SAMPLING)
    assert audit(with_rounds(records, draft_p=dict.fromkeys(range(200)))) == []


def test_the_rows_behind_a_decision_are_free_under_rejection() -> None:
    records = run(ToyEngine, **SAMPLING)
    at = rejecting(records)
    round_ = rounds_of(records)[at]
    targets = (*(round_.targets or ())[: round_.take + 1], *(0,) * (round_.drafted - round_.take))
    assert audit(with_rounds(records, targets={at: targets})) == []


@pytest.mark.parametrize("sampler", ["rejection", "typical"])
def test_matching_rules_are_not_applied_where_they_do_not_hold(sampler: str) -> None:
    records = run(broken.FirstUnchecked)
    header = records[0]
    assert isinstance(header, Header)
    options = {**header.options, "sampler": sampler, "temperature": 0.8}
    assert audit([msgspec.structs.replace(header, options=options), *records[1:]]) == []


def test_gumbel_follows_the_matching_rule() -> None:
    assert audit(clean_trace(Toy(sampler="gumbel"))) == []
    assert {finding.rule for finding in audit(run(broken.FirstUnchecked, sampler="gumbel"))} == {"A4"}


def test_a_correction_that_the_base_can_never_choose_is_a15_at_its_round() -> None:
    records = run(ToyEngine, **SAMPLING)
    at = rejecting(records)
    target_p, take = rounds_of(records)[at].target_p or (), rounds_of(records)[at].take
    never = {at: (*target_p[:take], 0.0, *target_p[take + 1 :])}
    findings = audit(with_rounds(records, target_p=never))
    assert [(finding.rule, finding.round, finding.field) for finding in findings] == [("A15", at, "target_p")]
