"""Faults of the fallback, of values, of drafting and of what really ran are found where they begin."""

import msgspec
import pytest

from engine.records import Header
from engine.trace.audit import audit
from tests.trace import broken
from tests.trace.broken import ended, first, partly_accepted, retold, rounds_of, run, with_rounds
from tests.trace.clean import PROMPT, VOCAB, Toy, ToyEngine, clean_trace

FALLBACKS: list[tuple[type[ToyEngine], dict[str, object], str]] = [
    (broken.EarlyVerdict, {"ease": [0.1], "below": 2.5}, "fallback.off"),
    (broken.AtTheBar, {"ease": [0.0], "below": 1.0}, "fallback.off"),
    (broken.Tumbles, {"ease": [0.9], "below": 1.5}, "fallback.window"),
    (broken.CountsPlainRounds, {"ease": [1.0], "below": 1.5, "k": 1, "max_tokens": 15}, "fallback.window"),
    (broken.ForgetsZeroDrafts, {"ease": [0.9], "below": 1.5, "short_drafts": 0.5}, "fallback.window"),
    (broken.RecordsTake, {"ease": [0.9], "below": 1.5}, "fallback.window"),
    (broken.NeverOff, {"ease": [0.1], "below": 2.5}, "form"),
]


@pytest.mark.parametrize(("engine", "options", "field"), FALLBACKS, ids=[case[0].__name__ for case in FALLBACKS])
def test_a_fallback_that_follows_another_rule_is_a9(
    engine: type[ToyEngine], options: dict[str, object], field: str
) -> None:
    assert audit(run(ToyEngine, **options)) == []
    assert first(audit(run(engine, **options)), "A9").field == field


def test_a_wrong_mean_is_a9() -> None:
    records = clean_trace(Toy(below=1.5, ease=(0.9,)))
    window = rounds_of(records)[4].fallback
    assert window is not None
    wrong = msgspec.structs.replace(window, mean=(window.mean or 0) + 0.5)
    finding = first(audit(with_rounds(records, fallback={4: wrong})), "A9")
    assert (finding.round, finding.field, finding.recomputed) == (4, "fallback.mean", window.mean)


@pytest.mark.parametrize("keep_windows", [True, False])
def test_drafting_after_the_fallback_is_told_once(keep_windows: bool) -> None:
    records = run(broken.NeverOff, ease=[0.1], below=2.5)
    if not keep_windows:
        records = with_rounds(records, fallback={r.index: None for r in rounds_of(records)})
    findings = [finding for finding in audit(records) if finding.field == "form"]
    assert [(finding.rule, finding.round) for finding in findings] == [("A9", 3)]


def test_a_policy_may_take_drafting_up_again() -> None:
    records = run(broken.NeverOff, ease=[0.1], below=2.5)
    header = records[0]
    assert isinstance(header, Header)
    assert audit(retold(records, options={**header.options, "fallback_cooldown": 8})) == []


@pytest.mark.parametrize(("field", "change"), [("rounds", 1), ("emitted", -1), ("fell_back_at", 1)])
def test_an_end_that_counts_otherwise_is_a10(field: str, change: int) -> None:
    records = clean_trace(Toy(ease=(0.1,), below=2.5))
    right = getattr(records[-1], field)
    findings = audit(ended(records, **{field: right + change}))
    assert [(f.rule, f.round, f.field, f.recomputed) for f in findings] == [("A10", None, field, right)]


@pytest.mark.parametrize("never", [0, -1])
def test_a_run_that_never_fell_back_has_no_number_for_it(never: int) -> None:
    assert [f.rule for f in audit(ended(clean_trace(Toy()), fell_back_at=never))] == ["A10"]


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("draft_p", (0.5, 1.2, 0.5)),
        ("target_p", (0.5, 0.5, -0.3, 0.5)),
        ("accept_p", (float("nan"), 0.5, 0.5)),
        ("ms", {"draft": -1.0}),
        ("ms", {"verify": float("nan"), "draft": 1.0}),
        ("ms", {"step": float("inf")}),
        ("top", (((VOCAB, 1.0),),)),
        ("next", VOCAB),
        ("drafts", (1, -1, 2)),
    ],
)
def test_a_value_that_cannot_be_is_a11(field: str, value: object) -> None:
    finding = first(audit(with_rounds(clean_trace(Toy(ease=(1.0,))), **{field: {3: value}})), "A11")
    assert finding.round == 3
    assert (finding.field or "").startswith(field)


def test_a_broken_row_that_decided_is_a12_and_one_behind_it_is_not() -> None:
    records = clean_trace(Toy(ease=(0.5,), k=4))
    at = partly_accepted(records)
    take, nan = rounds_of(records)[at].take, float("nan")
    for row in range(5):
        facts = tuple(nan if j == row else 0.5 for j in range(5))
        findings = audit(with_rounds(records, nonfinite={at: 1}, gap={at: facts}, target_p={at: facts}))
        assert [(finding.rule, finding.round) for finding in findings] == ([("A12", at)] if row <= take else [])


def test_a_broken_row_of_a_fully_accepted_round_decided() -> None:
    records = with_rounds(clean_trace(Toy(ease=(1.0,))), nonfinite={3: 7}, gap={3: None}, target_p={3: None})
    assert [(finding.rule, finding.round) for finding in audit(records)] == [("A12", 3)]


def test_drafts_that_took_no_time_are_a13() -> None:
    records = clean_trace(Toy())
    ms = {**(rounds_of(records)[7].ms or {}), "draft": 0.0}
    assert [(f.rule, f.round) for f in audit(with_rounds(records, ms={7: ms}))] == [("A13", 7)]
    still = {r.index: dict.fromkeys(r.ms or {}, 0.0) for r in rounds_of(records)}
    assert audit(with_rounds(records, ms=still)) == []


def test_padding_that_is_counted_as_drafts_is_a13_from_its_first_round() -> None:
    finding = first(audit(run(broken.PadsDrafts)), "A13")
    assert (finding.round, finding.recorded) == (5, [0, 0, 0])


def test_a_requested_provider_that_did_not_run_is_a16() -> None:
    for requested, provider in (("npu", "cpu"), (["DmlExecutionProvider", "CPUExecutionProvider"], "CPU")):
        records = retold(clean_trace(Toy()), device={"requested": requested, "provider": provider})
        assert [(f.rule, f.field) for f in audit(records)] == [("A16", "device.provider")]


@pytest.mark.parametrize(
    ("requested", "provider"),
    [
        ("npu", "VitisAIExecutionProvider"),
        ("auto", "CPUExecutionProvider"),
        ("directml", "DmlExecutionProvider"),
        ("CPU", "CPUExecutionProvider"),
        ("cuda:0", "CUDAExecutionProvider"),
        (["QNNExecutionProvider", "CPUExecutionProvider"], "CPUExecutionProvider, QNNExecutionProvider"),
    ],
)
def test_a_provider_may_be_asked_for_by_a_shorter_name(requested: object, provider: str) -> None:
    assert audit(retold(clean_trace(Toy()), device={"requested": requested, "provider": provider})) == []


def test_a_graph_that_was_all_placed_on_the_cpu_is_a16() -> None:
    device = {"requested": "npu", "provider": "VitisAI", "placement": {"CPUExecutionProvider": 412, "VitisAI": 0}}
    assert [f.field for f in audit(retold(clean_trace(Toy()), device=device))] == ["device.placement"]


def test_another_form_than_the_requested_one_is_a16_at_the_first_such_round() -> None:
    records = with_rounds(clean_trace(Toy()), form=dict.fromkeys(range(5, 9), "two-pass"))
    assert [(f.rule, f.round) for f in audit(records)] == [("A16", 5)]


def test_a_drafter_that_silently_failed_to_load_is_a16() -> None:
    plain = clean_trace(Toy(kind=None))
    header, named = plain[0], clean_trace(Toy())[0]
    assert isinstance(named, Header)
    assert [(f.rule, f.round) for f in audit(retold(plain, drafter=named.drafter))] == [("A16", 0)]
    assert [f.field for f in audit(retold(plain, run={"requested_drafter": "mtp"}))] == ["drafter"]
    assert audit([header, *plain[1:]]) == []


@pytest.mark.parametrize("length", [90, 400])
def test_an_endless_repetition_is_a18_from_where_it_begins(length: int) -> None:
    records = run(broken.Degenerates, max_tokens=length, k=4)
    finding = first(audit(records), "A18")
    assert finding.round is not None
    start = rounds_of(records)[finding.round].pos or 0
    assert abs(start - 30) <= 5
    assert finding.recorded > length - len(PROMPT) - 35


def test_a_fault_in_every_round_is_listed_a_hundred_times_and_then_counted() -> None:
    records = clean_trace(Toy(max_tokens=2000))
    spoiled = with_rounds(records, draft_p={r.index: (2.0,) * r.drafted for r in rounds_of(records)})
    findings = audit(spoiled)
    count = len(rounds_of(records)) - sum(r.drafted == 0 for r in rounds_of(records))
    assert len(findings) == 101
    assert findings[-1].recorded == count
