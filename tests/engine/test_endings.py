"""How a run ends: at a stop token wherever it sits, or at the budget, which nothing oversteps."""

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.base.base import Floats
from engine.base.toy import ToyBase
from engine.drafters.drafter import Draft
from engine.loop import Result, Run, prefill, run
from engine.options import Options
from engine.records import Verdict
from tests.engine.toys import PROMPT, SaysDrafter, Wanderer, tied_logits

FORMS = pytest.mark.parametrize("form", ["one-pass", "two-pass"])
VOCAB = 50
TEXT = (10, 11, 12, 20, 21, 22, 23, 24)


def recite(history: Sequence[int]) -> Floats:
    row = np.zeros(VOCAB, np.float32)
    row[TEXT[(len(history) - len(PROMPT)) % len(TEXT)]] = 1
    return row


def recited(base: ToyBase, form: str, *, stop: int | None = None, max_tokens: int = 8, k: int = 7) -> Result:
    """A run over TEXT with a drafter that knows it by heart."""
    drafter = SaysDrafter(lambda t1, limit: Draft(TEXT[TEXT.index(t1) + 1 :][:limit]))
    stops = () if stop is None else (stop,)
    return run(base, drafter, PROMPT, Options(form=form, k=k, max_tokens=max_tokens, stop_tokens=stops))


@FORMS
def test_a_stop_inside_the_accepted_run_ends_it_with_that_token(form: str) -> None:
    base = ToyBase(VOCAB, recite)
    result = recited(base, form, stop=12)
    (only,) = result.rounds
    assert result.tokens == (10, 11, 12)
    assert (result.reason, only.cut, only.take) == ("stop", "stop", 2)
    assert only.verdicts == (Verdict.ACCEPTED, Verdict.ACCEPTED, *[Verdict.UNJUDGED] * 5)
    assert list(base.tokens) == [*PROMPT, 10, 11, 12]


@FORMS
def test_a_stop_as_the_carried_token_ends_the_run_with_a_plain_round(form: str) -> None:
    result = recited(ToyBase(VOCAB, recite), form, stop=12, k=1)
    assert [(r.form, r.reason, r.emitted) for r in result.rounds] == [
        (form, None, (10, 11)),
        ("plain", "stop", (12,)),
    ]
    assert result.reason == "stop"


def test_a_stop_as_the_very_first_token_is_emitted_and_consumed() -> None:
    base = ToyBase(VOCAB, recite)
    result = recited(base, "one-pass", stop=10)
    assert (result.tokens, result.reason, base.consumed) == ((10,), "stop", 4)


@FORMS
def test_the_stop_is_checked_before_the_limit(form: str) -> None:
    result = recited(ToyBase(VOCAB, recite), form, stop=12, max_tokens=3)
    assert (result.tokens, result.reason) == ((10, 11, 12), "stop")
    result = recited(ToyBase(VOCAB, recite), form, stop=12, max_tokens=5)
    assert (result.tokens, result.reason) == ((10, 11, 12), "stop")


def test_a_stop_token_that_was_drafted_but_rejected_stops_nothing() -> None:
    base = ToyBase(VOCAB, recite)
    drafter = SaysDrafter(lambda t1, limit: Draft((49,) * limit))
    result = run(base, drafter, PROMPT, Options(k=3, max_tokens=8, stop_tokens=(49,)))
    assert (result.tokens, result.reason) == (TEXT, "max_tokens")


def test_a_stop_token_in_the_prompt_stops_nothing() -> None:
    options = Options(max_tokens=8, stop_tokens=(PROMPT[-1],))
    assert run(ToyBase(VOCAB, recite), None, PROMPT, options).reason == "max_tokens"


@FORMS
def test_the_last_round_may_draft_no_more_than_the_budget_leaves(form: str) -> None:
    result = recited(ToyBase(VOCAB, recite), form, max_tokens=6, k=3)
    assert [(r.limit, r.emitted, r.cut) for r in result.rounds] == [
        (3, (10, 11, 12, 20), None),
        (1, (21, 22), "budget"),
    ]


def test_a_budget_of_one_token_makes_a_plain_round() -> None:
    (only,) = recited(ToyBase(VOCAB, recite), "one-pass", max_tokens=1).rounds
    assert (only.form, only.reason, only.limit, only.emitted) == ("plain", "budget", 0, (10,))


@given(st.integers(1, 25), st.integers(1, 12), st.integers(0, 500), st.sampled_from((0.3, 0.9, 1.0)))
def test_no_run_oversteps_its_budget_and_without_a_stop_none_falls_short(
    max_tokens: int, k: int, seed: int, skill: float
) -> None:
    logits_of = tied_logits(9, seed)
    base = ToyBase(9, logits_of, context_length=len(PROMPT) + max_tokens)
    result = run(base, Wanderer(logits_of, 9, skill, seed), PROMPT, Options(max_tokens=max_tokens, k=k))
    assert len(result.tokens) == max_tokens
    assert result.reason == "max_tokens"


def test_a_finished_run_makes_no_more_rounds() -> None:
    base = ToyBase(VOCAB, recite)
    run_ = Run(base, None, len(PROMPT), prefill(base, PROMPT), Options(max_tokens=1))
    assert run_.step() is not None
    assert run_.done
    assert run_.step() is None
    assert base.consumed == 4
