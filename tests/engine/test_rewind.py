"""Going back to an earlier round and on from there."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.base.toy import ToyBase, linear_choice
from engine.drafters.scripted import ScriptedDrafter
from engine.errors import Refused
from engine.loop import Run, prefill, rounds
from engine.options import Options
from engine.records import Round
from tests.engine.toys import PROMPT, DyingBase, Wanderer, plain_decode, tied_logits

VOCAB = 9


def started(seed: int, skill: float, options: Options) -> tuple[Run, Wanderer]:
    logits_of = tied_logits(VOCAB, seed)
    base, drafter = ToyBase(VOCAB, logits_of), Wanderer(logits_of, VOCAB, skill, seed)
    return Run(base, drafter, len(PROMPT), prefill(base, PROMPT), options), drafter


def shape(made: list[Round]) -> list[tuple[object, ...]]:
    """Everything of the rounds but their times."""
    return [(r.index, r.form, r.reason, r.pos, r.drafts, r.targets, r.emitted, r.cut, r.next, r.fallback) for r in made]


@given(
    st.integers(0, 300),
    st.sampled_from((0.3, 0.8, 1.0)),
    st.sampled_from((0.0, 2.0)),
    st.sampled_from(("one-pass", "two-pass")),
    st.floats(0, 1),
    st.sampled_from(("greedy", "gumbel", "rejection")),
)
def test_a_run_that_is_rewound_goes_on_as_it_did(
    seed: int, skill: float, below: float, form: str, where: float, sampler: str
) -> None:
    options = Options(
        max_tokens=25,
        k=4,
        form=form,
        fallback_below=below,
        fallback_window=2,
        sampler=sampler,
        temperature=0.0 if sampler == "greedy" else 1.0,
        stop_tokens=(seed % VOCAB,),
    )
    run_, drafter = started(seed, skill, options)
    made = list(rounds(run_))
    before = run_.reason, run_.batches, run_.steps, run_.fallback.fell_back_at, tuple(run_.events)

    kept = made[: int(where * len(made))]
    run_.rewind(kept)
    text = [*PROMPT, *(token for r in kept for token in r.emitted or ())]
    assert list(run_.base.tokens) == drafter.tokens == text
    again = kept + list(rounds(run_))

    assert shape(again) == shape(made)
    assert (run_.reason, run_.batches, run_.steps, run_.fallback.fell_back_at, tuple(run_.events)) == before


def test_a_scripted_drafter_finds_its_place_in_the_script_again() -> None:
    logits_of = linear_choice(97)
    base = ToyBase(97, logits_of)
    drafter = ScriptedDrafter(lambda h: int(logits_of(h).argmax()), 97, [3, 0, 2, 1])
    run_ = Run(base, drafter, len(PROMPT), prefill(base, PROMPT), Options(max_tokens=12))
    made = list(rounds(run_))
    run_.rewind(made[:1])
    assert shape([*made[:1], *rounds(run_)]) == shape(made)


def test_a_fork_goes_on_by_its_own_options_with_the_same_text() -> None:
    run_, _ = started(3, 0.8, Options(max_tokens=25, k=2))
    made = list(rounds(run_))
    run_.rewind(made[:3], Options(max_tokens=18, k=5, form="two-pass"))
    fork = list(rounds(run_))
    assert {r.form for r in fork} <= {"two-pass", "plain"}
    assert max(r.limit or 0 for r in fork) == 5
    assert run_.emitted == plain_decode(tied_logits(VOCAB, 3), PROMPT, 18)


def test_a_fork_under_a_bar_that_the_kept_rounds_were_below_has_already_fallen_back() -> None:
    run_, _ = started(3, 0.3, Options(max_tokens=25, k=2))
    made = list(rounds(run_))
    run_.rewind(made[:5], Options(max_tokens=25, k=2, fallback_below=3.0, fallback_window=2))
    assert run_.fallback.fell_back_at == 2
    assert {r.reason for r in rounds(run_)} == {"fallback"}


def test_a_fork_whose_budget_is_already_spent_is_over() -> None:
    run_, _ = started(3, 0.8, Options(max_tokens=25))
    made = list(rounds(run_))
    run_.rewind(made[:4], Options(max_tokens=2))
    assert run_.reason == "max_tokens"
    assert run_.step() is None


def test_a_fork_with_options_that_do_not_fit_is_refused_and_changes_nothing() -> None:
    logits_of = tied_logits(VOCAB, 1)
    base = ToyBase(VOCAB, logits_of, context_length=20)
    run_ = Run(base, None, len(PROMPT), prefill(base, PROMPT), Options(max_tokens=10))
    made = list(rounds(run_))
    with pytest.raises(Refused, match="do not fit the base's context"):
        run_.rewind(made[:2], Options(max_tokens=100))
    assert (run_.options.max_tokens, run_.rounds, run_.reason) == (10, 10, "max_tokens")


def test_a_run_cannot_be_rewound_forward() -> None:
    run_, _ = started(3, 0.8, Options(max_tokens=25))
    made = list(rounds(run_))
    run_.rewind(made[:1])
    with pytest.raises(Refused, match="cannot rewind to position"):
        run_.rewind(made)


def test_a_run_that_broke_can_go_on_from_before_the_fault() -> None:
    logits_of = tied_logits(VOCAB, 2)
    base = DyingBase(VOCAB, logits_of, 3)
    run_ = Run(base, None, len(PROMPT), prefill(base, PROMPT), Options(max_tokens=10))
    made = list(rounds(run_))
    assert run_.reason == "fault"
    run_.rewind(made[:2])
    assert run_.reason is None
    assert run_.events == []
