"""A drafter that errs at given rates."""

from collections.abc import Sequence

import numpy as np
import pytest

from engine.base.toy import ToyBase, linear_choice
from engine.drafters.synthetic import SyntheticDrafter
from engine.errors import Refused
from engine.loop import Result, Run, prefill, rounds, run
from engine.options import Options
from engine.stats import Stats

VOCAB, PROMPT = 97, (1, 2, 3)


def plain_text(max_tokens: int) -> tuple[int, ...]:
    base = ToyBase(VOCAB, linear_choice(VOCAB))
    return (*PROMPT, *run(base, None, PROMPT, Options(max_tokens=max_tokens)).tokens)


def drafted(rates: Sequence[float], options: Options, seed: int = 0) -> Result:
    drafter = SyntheticDrafter(plain_text(options.max_tokens), rates, VOCAB, seed=seed)
    return run(ToyBase(VOCAB, linear_choice(VOCAB)), drafter, PROMPT, options)


def test_drafts_land_at_the_rates_given_by_place() -> None:
    result = drafted([0.9, 0.6, 0.8], Options(max_tokens=4000, k=4))
    conditional = Stats.of(result.rounds).by_position.conditional
    np.testing.assert_allclose(np.array(conditional, float), [0.9, 0.6, 0.8, 0.8], atol=0.05)
    assert result.tokens == plain_text(4000)[len(PROMPT) :]


@pytest.mark.parametrize("form", ["one-pass", "two-pass"])
@pytest.mark.parametrize(("rate", "take"), [(1.0, 3), (0.0, 0)])
def test_a_sure_rate_is_sure(rate: float, take: int, form: str) -> None:
    result = drafted([rate], Options(max_tokens=13, k=3, form=form))
    assert {round_.take for round_ in result.rounds if len(round_.drafts or ()) == 3} == {take}


def test_which_drafts_are_wrong_is_a_function_of_the_seed() -> None:
    options = Options(max_tokens=60, k=3)
    one, again, other = (drafted([0.5], options, seed) for seed in (1, 1, 2))
    assert [r.drafts for r in one.rounds] == [r.drafts for r in again.rounds] != [r.drafts for r in other.rounds]


def test_a_rewound_run_comes_out_the_same_again() -> None:
    base = ToyBase(VOCAB, linear_choice(VOCAB))
    drafter = SyntheticDrafter(plain_text(40), [0.6], VOCAB)
    run_ = Run(base, drafter, 3, prefill(base, PROMPT), Options(max_tokens=40))
    made = list(rounds(run_))
    run_.rewind(made[:4])
    assert [r.drafts for r in rounds(run_)] == [r.drafts for r in made[4:]]


def test_it_says_that_it_is_synthetic_and_claims_its_rates() -> None:
    drafter = SyntheticDrafter(plain_text(9), [0.9, 0.5], VOCAB)
    assert drafter.info.kind == "synthetic"
    assert drafter.info.name == "synthetic-0.9-0.5"
    first = drafted([0.9, 0.5], Options(max_tokens=9, k=3)).rounds[0]
    assert first.draft_p == (0.9, 0.5, 0.5)


def test_tau_cuts_where_its_rates_fall_under_it() -> None:
    result = drafted([0.9, 0.8, 0.3], Options(max_tokens=30, k=5, tau=0.5))
    assert {len(round_.drafts or ()) for round_ in result.rounds if round_.limit and round_.limit > 1} == {2}


def test_where_the_run_leaves_the_text_it_drafts_nothing() -> None:
    text = list(plain_text(20))
    text[8] += 1
    drafter = SyntheticDrafter(text, [1.0], VOCAB)
    result = run(ToyBase(VOCAB, linear_choice(VOCAB)), drafter, PROMPT, Options(max_tokens=20, k=2))
    assert result.tokens == plain_text(20)[len(PROMPT) :]
    assert {round_.reason for round_ in result.rounds if round_.pos is not None and round_.pos >= 8} == {
        "zero-draft",
        "budget",
    }


def test_at_the_end_of_the_text_it_drafts_what_there_is() -> None:
    drafter = SyntheticDrafter(plain_text(20)[:9], [1.0], VOCAB)
    result = run(ToyBase(VOCAB, linear_choice(VOCAB)), drafter, PROMPT, Options(max_tokens=20, k=4))
    assert [len(round_.drafts or ()) for round_ in result.rounds[:3]] == [4, 0, 0]
    assert result.tokens == plain_text(20)[len(PROMPT) :]


@pytest.mark.parametrize(
    ("rates", "vocab_size", "says"),
    [
        ([], 9, "at least one acceptance rate"),
        ([0.5, 1.5], 9, "rate of draft 2 is 1.5"),
        ([-0.1], 9, "rate of draft 1 is -0.1"),
        ([float("nan")], 9, "rate of draft 1 is nan"),
        ([0.5], 1, "cannot err in a vocabulary of 1"),
    ],
)
def test_rates_that_make_no_sense_are_refused(rates: list[float], vocab_size: int, says: str) -> None:
    with pytest.raises(Refused, match=says):
        SyntheticDrafter((1, 2), rates, vocab_size)
