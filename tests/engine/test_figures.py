"""What is recorded of rows of logits, against the definitions: softmax, sorted rows, what NaN and infinity do."""

import math
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from engine.base.base import Floats
from engine.drafters.drafter import Draft
from engine.errors import EngineFault
from engine.figures import Figures, candidates_of
from engine.options import Options
from engine.sampling import Greedy, Gumbel, Rejection, softmax

VOCAB = 7

LOGITS = st.one_of(
    st.floats(-30, 30, width=32),
    st.floats(-1000, 1000, width=32),
    st.sampled_from([0.0, 1.0, 80.0, -25.0, -math.inf]),
)
ROWS = arrays(np.float32, st.tuples(st.integers(1, 4), st.just(VOCAB)), elements=LOGITS).filter(
    lambda rows: bool(np.isfinite(rows.max(axis=1)).all())
)


def best_of(rows: Floats) -> tuple[int, ...]:
    return tuple(rows.argmax(axis=1).tolist())


@settings(deadline=None)
@given(ROWS, ROWS, st.integers(0, VOCAB + 1))
def test_the_figures_of_a_greedy_round_are_those_of_each_row_alone(rows: Floats, drafted: Floats, count: int) -> None:
    drafted = drafted[: len(rows) - 1]
    before, before_drafted = rows.copy(), drafted.copy()
    targets, draft = best_of(rows), Draft(best_of(drafted), logits=drafted)
    facts = Figures(count).of(draft, rows, targets, Greedy())
    ordered = np.sort(rows.astype(np.float64), axis=1)
    assert facts.gap == pytest.approx((ordered[:, -1] - ordered[:, -2]).tolist(), rel=1e-6)
    assert facts.target_p == pytest.approx(probabilities(rows, targets), abs=1e-6)
    assert facts.accept_p == pytest.approx(probabilities(rows, draft.tokens), abs=1e-6)
    assert (facts.draft_p or ()) == pytest.approx(probabilities(drafted, draft.tokens), abs=1e-6)
    assert all(0 <= p <= 1 for p in (*facts.target_p, *facts.accept_p, *(facts.draft_p or ())))
    assert facts.nonfinite == 0
    assert facts.top == candidates_of(rows, count)
    assert facts.draft_top == candidates_of(drafted, count)
    assert np.array_equal(rows, before)
    assert np.array_equal(drafted, before_drafted)


@settings(deadline=None)
@given(ROWS, st.integers(0, VOCAB), st.integers(0, VOCAB - 1))
def test_a_draft_that_left_its_probabilities_out_gets_those_of_the_full_softmax(
    rows: Floats, count: int, token: int
) -> None:
    drafted = rows[1:]
    assume(bool(np.isfinite(drafted[:, token]).all()))
    draft = Draft((token,) * len(drafted), logits=drafted)
    for sampler in (Greedy(), Gumbel(Options(max_tokens=1, sampler="gumbel", temperature=1.0))):
        facts = Figures(count).of(draft, rows, best_of(rows), sampler)
        assert (facts.draft_p or ()) == pytest.approx(probabilities(drafted, draft.tokens), abs=1e-6)
        assert facts.draft_top == candidates_of(drafted, count)


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("count", [0, 2])
def test_a_draft_that_was_picked_from_no_finite_logit_is_a_fault(value: float, count: int) -> None:
    drafted = np.array([[1, 2, 3], [1, value, 3]], np.float32)
    with pytest.raises(EngineFault, match="the drafter gave draft 2 probability nan"):
        Figures(count).of(Draft((2, 1), logits=drafted), np.eye(3, dtype=np.float32), (0, 1, 2), Greedy())


def test_the_probabilities_that_a_drafter_gave_are_kept_as_they_are() -> None:
    rows = np.eye(3, VOCAB, dtype=np.float32)
    draft = Draft((0, 1), (0.25, 0.5), (0.25, 0.5), logits=rows[:2])
    for count in (0, 2):
        facts = Figures(count).of(draft, rows, best_of(rows), Greedy())
        assert (facts.draft_p, facts.draft_top) == ((0.25, 0.5), candidates_of(rows[:2], count))


def test_without_a_draft_nothing_is_said_of_one_and_of_rows_without_a_pick_that_there_are_none() -> None:
    row = np.eye(1, VOCAB, dtype=np.float32)
    facts = Figures(2).of(Draft(), row, (0,), Greedy())
    assert (facts.accept_p, facts.draft_p, facts.draft_top) == ((), None, None)
    assert Figures(2).of(Draft((), (), (), logits=row[:0]), row, (0,), Greedy()).draft_top == ()


def test_under_the_rejection_rule_a_draft_has_the_probability_it_was_drawn_with_and_1_if_it_was_not() -> None:
    rejection = Rejection(Options(max_tokens=1, sampler="rejection", temperature=1.0))
    q, rows = np.eye(1, VOCAB)[0] / 4 + 0.1, np.eye(3, VOCAB, dtype=np.float32)
    drawn = Figures().of(Draft((0, 1), (0.9, 0.9), None, (q, q)), rows, (0, 1, 2), rejection)
    assert drawn.draft_p == pytest.approx((0.35, 0.1))
    assert drawn.accept_p == pytest.approx(probabilities(rows, (0, 1)))
    assert Figures().of(Draft((1, 0), (0.9, 0.9)), rows, (0, 1, 2), rejection).draft_p == (1.0, 1.0)
    assert Figures().of(Draft(), rows[:1], (0,), rejection).draft_p is None


@pytest.mark.parametrize("value", [math.nan, math.inf])
@pytest.mark.parametrize("at", [0, 3])
def test_a_row_that_is_not_finite_has_no_figures_and_is_counted(value: float, at: int) -> None:
    rows = np.array([[1, 2, 3, 4], [4, 3, 2, 1]], np.float32)
    rows[1, at] = value
    facts = Figures(2).of(Draft((3,)), rows, (3, 0), Greedy())
    assert facts.nonfinite == 1
    assert math.isnan(facts.gap[1])
    assert math.isnan(facts.target_p[1])
    assert facts.gap[0] == 1.0
    assert facts.target_p[0] == pytest.approx(softmax(rows[0])[3])
    assert facts.top == candidates_of(rows, 2)


def test_a_row_without_any_finite_entry_has_no_figures_beside_one_that_has() -> None:
    rows = np.array([[1, 2, 3], [-np.inf, -np.inf, -np.inf]], np.float32)
    facts = Figures().of(Draft((2,)), rows, (2, 0), Greedy())
    assert facts.gap[0] == 1.0
    assert math.isnan(facts.gap[1])
    assert math.isnan(facts.target_p[1])


def test_a_target_that_is_not_the_best_of_its_row_has_its_own_probability_and_the_rows_gap() -> None:
    facts = Figures(2).of(Draft(), np.array([[1, 2, 300, 4]], np.float32), (3,), Greedy())
    assert facts.target_p == pytest.approx((0.0,))
    assert facts.gap == (296.0,)
    assert facts.top == (((2, 300.0), (3, 4.0)),)


def test_a_row_of_one_token_has_an_infinite_gap_and_that_token_as_its_only_candidate() -> None:
    facts = Figures(3).of(Draft(), np.array([[2.0]], np.float32), (0,), Greedy())
    assert (facts.gap, facts.target_p, facts.top) == ((math.inf,), (1.0,), (((0, 2.0),),))


def test_equal_logits_are_candidates_in_the_order_of_their_ids() -> None:
    facts = Figures(4).of(Draft(), np.array([[1, 5, 5, 0, 5]], np.float32), (1,), Greedy())
    assert facts.top == (((1, 5.0), (2, 5.0), (4, 5.0), (0, 1.0)),)
    assert facts.gap == (0.0,)


def probabilities(rows: Floats, tokens: Sequence[int]) -> list[float]:
    return [float(softmax(row)[token]) for row, token in zip(rows, tokens, strict=False)]
