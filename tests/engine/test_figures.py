"""What is recorded of rows of logits, against the definitions: softmax, sorted rows, what NaN and infinity do."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from engine.base.base import Floats
from engine.drafters.drafter import Draft
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
@given(ROWS, st.integers(0, VOCAB + 1))
def test_figures_of_a_greedy_round_are_those_of_each_row_alone(rows: Floats, count: int) -> None:
    before, targets = rows.copy(), best_of(rows)
    draft = Draft(tuple(range(len(rows) - 1)))
    facts = Figures(count).of_rows(draft, rows, targets, Greedy())
    ordered = np.sort(rows.astype(np.float64), axis=1)
    probs = [softmax(row) for row in rows]
    assert facts.gap == tuple((ordered[:, -1] - ordered[:, -2]).tolist())
    assert facts.target_p == pytest.approx([p[token] for p, token in zip(probs, targets, strict=True)], abs=1e-6)
    assert facts.accept_p == pytest.approx([p[token] for p, token in zip(probs, draft.tokens, strict=False)], abs=1e-6)
    assert all(0 <= p <= 1 for p in (*facts.target_p, *facts.accept_p))
    assert facts.nonfinite == 0
    assert facts.top == candidates_of(rows, count)
    assert np.array_equal(rows, before)


@settings(deadline=None)
@given(ROWS, st.integers(0, VOCAB), st.integers(0, VOCAB - 1))
def test_a_draft_that_left_its_probabilities_out_gets_those_of_the_full_softmax(
    rows: Floats, count: int, token: int
) -> None:
    before = rows.copy()
    draft = Draft((token,) * len(rows), logits=rows)
    for sampler in (Greedy(), Gumbel(Options(max_tokens=1, sampler="gumbel", temperature=1.0))):
        facts = Figures(count).of_draft(draft, sampler)
        assert facts.p == pytest.approx([softmax(row)[token] for row in rows], abs=1e-6)
        assert facts.top == candidates_of(rows, count)
        assert np.array_equal(rows, before)


def test_the_probabilities_that_a_drafter_gave_are_kept_as_they_are() -> None:
    rows = np.eye(2, VOCAB, dtype=np.float32)
    draft = Draft((0, 1), (0.25, 0.5), (0.25, 0.5), logits=rows)
    assert Figures(2).of_draft(draft, Greedy()) == ((0.25, 0.5), candidates_of(rows, 2))
    assert Figures().of_draft(draft, Greedy()) == ((0.25, 0.5), None)
    assert Figures(2).of_draft(Draft(), Greedy()) == (None, None)


def test_under_the_rejection_rule_a_draft_has_the_probability_it_was_drawn_with_and_1_if_it_was_not() -> None:
    rejection = Rejection(Options(max_tokens=1, sampler="rejection", temperature=1.0))
    q = np.array([0.5, 0.25, 0.25])
    assert Figures().of_draft(Draft((1, 0), (0.9, 0.9), None, (q, q)), rejection).p == (0.25, 0.5)
    assert Figures().of_draft(Draft((1, 0), (0.9, 0.9)), rejection).p == (1.0, 1.0)
    assert Figures().of_draft(Draft(), rejection).p is None


@pytest.mark.parametrize("value", [math.nan, math.inf])
@pytest.mark.parametrize("at", [0, 3])
def test_a_row_that_is_not_finite_has_no_figures_and_is_counted(value: float, at: int) -> None:
    rows = np.array([[1, 2, 3, 4], [4, 3, 2, 1]], np.float32)
    rows[1, at] = value
    facts = Figures(2).of_rows(Draft((3,)), rows, (3, 0), Greedy())
    assert facts.nonfinite == 1
    assert math.isnan(facts.gap[1])
    assert math.isnan(facts.target_p[1])
    assert (facts.gap[0], facts.target_p[0]) == (1.0, pytest.approx(softmax(rows[0])[3]))
    assert facts.top == candidates_of(rows, 2)


def test_a_target_that_is_not_the_best_of_its_row_has_its_own_probability_and_the_rows_gap() -> None:
    rows = np.array([[1, 2, 300, 4]], np.float32)
    facts = Figures(2).of_rows(Draft(), rows, (3,), Greedy())
    assert facts.target_p == pytest.approx((0.0,))
    assert facts.gap == (296.0,)
    assert facts.top == (((2, 300.0), (3, 4.0)),)


def test_a_row_of_one_token_has_an_infinite_gap_and_that_token_as_its_only_candidate() -> None:
    facts = Figures(3).of_rows(Draft(), np.array([[2.0]], np.float32), (0,), Greedy())
    assert (facts.gap, facts.target_p, facts.top) == ((math.inf,), (1.0,), (((0, 2.0),),))


def test_equal_logits_are_candidates_in_the_order_of_their_ids() -> None:
    rows = np.array([[1, 5, 5, 0, 5]], np.float32)
    facts = Figures(4).of_rows(Draft(), rows, (1,), Greedy())
    assert facts.top == (((1, 5.0), (2, 5.0), (4, 5.0), (0, 1.0)),)
    assert facts.gap == (0.0,)
