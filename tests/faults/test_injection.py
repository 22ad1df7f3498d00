"""Every fault that the toys can have is injected into a live run, and found where it is; a right run shows nothing."""

import msgspec
import pytest

from engine.errors import Refused
from engine.faults.fault import Beside, Fault
from engine.faults.gallery import FAULTS, named
from engine.records import End, Header
from engine.trace.audit import audit
from tests.faults.first_rounds import first_round
from tests.faults.made import faulty, on_toy, records_of, right, rounds_of, text_of

NEEDS_WEIGHTS = {"hidden-stale", "tap-off-by-one", "degenerate", "argmax-with-soft-q", "residual-softmax"}
NOT_IN_THE_RECORDS = {"torn-trace"}
ON_TOYS = [fault for fault in FAULTS if fault.name not in NEEDS_WEIGHTS]
FOUND = [fault for fault in ON_TOYS if fault.rules and fault.name not in NOT_IN_THE_RECORDS]


def ids(fault: Fault) -> str:
    return fault.name


def test_every_fault_of_the_list_is_there_once() -> None:
    names = [fault.name for fault in FAULTS]
    assert len(names) == len(set(names))
    assert set(names) == {
        *("counts-everything", "replay-counted", "padded-drafts", "rows-shifted"),
        *("stop-inside", "cap-before-stop", "overshoot", "anchor-lost", "duplicate-at-boundary"),
        *("kv-not-rolled-back", "kv-off-by-one", "draft-cache-drift"),
        *("recurrent-not-restored", "recurrent-wrong-slot", "hidden-stale", "tap-off-by-one", "sliding-window"),
        *("nan-row", "near-tie", "basis-mismatch"),
        *("residual-as-p", "residual-softmax", "reused-u", "argmax-with-soft-q"),
        *("fallback-early", "fallback-tumbling", "fallback-non-strict", "fallback-plain-in-window"),
        *("fallback-fills-with-t1", "never-recorded"),
        *("silently-plain", "degenerate", "split-character", "torn-trace"),
    }


def test_every_fault_says_in_a_sentence_what_goes_wrong_and_what_shows_it() -> None:
    for fault in FAULTS:
        assert fault.sentence[0].isupper()
        assert fault.sentence.endswith((".", "!")) or ": " in fault.sentence
        assert fault.rules or fault.beside


@pytest.mark.parametrize("fault", ON_TOYS, ids=ids)
def test_a_right_run_with_the_same_options_raises_nothing(fault: Fault) -> None:
    assert audit(records_of(right(on_toy(fault.shown)))) == []


@pytest.mark.parametrize("fault", FOUND, ids=ids)
def test_the_audit_finds_the_fault_at_its_round(fault: Fault) -> None:
    request = on_toy(fault.shown)
    run = faulty(fault, request)
    records = records_of(run)
    finding = next(finding for finding in audit(records) if finding.rule == fault.rules[0])
    rounds = rounds_of(records)
    expected = first_round(fault.name, run.header, rounds, run.piece)
    if fault.name == "sliding-window":  # what the rule weighs are rates, which may seem to fall a round before
        assert abs((finding.round or 0) - expected) <= 2
    else:
        assert finding.round == expected
    for rule in fault.rules:
        assert rule in {finding.rule for finding in audit(records)}


@pytest.mark.parametrize("fault", [f for f in ON_TOYS if f.beside in (Beside.PLAIN, Beside.TIE)], ids=ids)
def test_the_text_parts_from_that_of_plain_decode_by_the_same_base(fault: Fault) -> None:
    request = on_toy(fault.shown)
    plain = text_of(records_of(faulty(fault, msgspec.structs.replace(request, drafter="none"))))
    assert text_of(records_of(faulty(fault, request))) != plain


@pytest.mark.parametrize("name", ["replay-counted", "padded-drafts", "draft-cache-drift", "sliding-window"])
def test_a_fault_of_drafts_alone_leaves_the_text_as_it_is(name: str) -> None:
    request = on_toy(named(name).shown)
    assert text_of(records_of(faulty(named(name), request))) == text_of(records_of(right(request)))


@pytest.mark.parametrize("fault", [f for f in ON_TOYS if not f.rules and f.name != "reused-u"], ids=ids)
def test_the_audit_is_silent_where_nothing_in_the_records_is_wrong(fault: Fault) -> None:
    assert audit(records_of(faulty(fault, on_toy(fault.shown)))) == []


@pytest.mark.parametrize("fault", ON_TOYS, ids=ids)
def test_the_header_says_what_was_injected_and_what_was_asked_for(fault: Fault) -> None:
    request = on_toy(fault.shown)
    header = records_of(faulty(fault, request))[0]
    assert isinstance(header, Header)
    assert header.run["fault"] == fault.name
    assert header.run["injected"] == fault.sentence
    assert header.options["max_tokens"] == request.options.max_tokens


@pytest.mark.parametrize("fault", ON_TOYS, ids=ids)
def test_the_end_counts_what_was_told(fault: Fault) -> None:
    records = records_of(faulty(fault, on_toy(fault.shown)))
    end = records[-1]
    assert isinstance(end, End)
    assert end.emitted == len(text_of(records)) == end.stats["emitted"]
    assert end.stats["accepted"] == sum(round_.take for round_ in rounds_of(records))


def test_a_replay_makes_every_drafter_look_perfect() -> None:
    fault = named("replay-counted")
    stats = [records_of(run)[-1] for run in (faulty(fault, on_toy(fault.shown)), right(on_toy(fault.shown)))]
    rates = [end.stats["evaluated_acceptance_rate"] for end in stats if isinstance(end, End)]
    assert rates[0] == 1
    assert rates[1] < 0.9


@pytest.mark.parametrize("form", ["one-pass", "two-pass"])
@pytest.mark.parametrize("name", ["kv-not-rolled-back", "kv-off-by-one", "replay-counted", "recurrent-not-restored"])
def test_a_fault_of_the_state_is_found_in_both_forms(name: str, form: str) -> None:
    fault = named(name)
    request = on_toy(fault.shown)
    request = msgspec.structs.replace(request, options=msgspec.structs.replace(request.options, form=form))
    findings = audit(records_of(faulty(fault, request)))
    assert fault.rules[0] in {finding.rule for finding in findings}


@pytest.mark.parametrize("name", ["kv-not-rolled-back", "recurrent-not-restored", "draft-cache-drift"])
def test_a_run_that_is_rewound_goes_on_with_its_fault(name: str) -> None:
    fault = named(name)
    request = on_toy(fault.shown)
    run = faulty(fault, request)
    rounds = [run.step() for _ in range(6)]
    run.rewind([round_ for round_ in rounds[:2] if round_ is not None])
    again = records_of(run)
    assert rounds_of(again)[0].index == 2
    assert audit([again[0], again[1], *(r for r in rounds[:2] if r), *again[2:]]) != []


@pytest.mark.parametrize(
    ("name", "changes", "message"),
    [
        ("reused-u", {}, "needs the sampler rejection"),
        ("hidden-stale", {}, "reads no rows"),
        ("tap-off-by-one", {}, "reads no taps"),
        ("recurrent-not-restored", {}, "use toy-hybrid"),
    ],
)
def test_a_fault_that_the_run_cannot_have_is_refused(name: str, changes: dict[str, object], message: str) -> None:
    with pytest.raises(Refused, match=message):
        faulty(named(name), on_toy(named("counts-everything").shown))


def test_an_unknown_fault_is_refused_with_the_nearest_name() -> None:
    with pytest.raises(Refused, match="did you mean near-tie"):
        named("neartie")
