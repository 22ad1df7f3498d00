"""What a distribution is made of, and what is drawn from it."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.base.base import Floats
from engine.drafters.drafter import Draft, Pick
from engine.options import Options
from engine.sampling import Coins, Gumbel, Purpose, Rejection, draw, processed, residual, softmax, uniform
from tests.sampling.exact_coins import Observed, distribution

LOGITS = st.lists(st.floats(-20, 20, width=32), min_size=1, max_size=12).map(lambda row: np.array(row, np.float32))
WEIGHTS = st.lists(st.sampled_from([0.0, 0.0, 1e-9, 0.1, 1.0, 3.0]), min_size=1, max_size=8).filter(any)


def normal(weights: list[float]) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    array = np.array(weights)
    return np.asarray(array / array.sum())


def log(*probs: float) -> Floats:
    return np.asarray(np.log(probs), np.float32)


@given(WEIGHTS)
def test_each_token_is_drawn_for_just_its_share_of_the_coins(weights: list[float]) -> None:
    probs = normal(weights)

    def experiment(coins: Coins) -> Observed:
        token = draw(probs, coins(0, Purpose.CHOOSE))
        return Observed((token,), token)

    shares = distribution(experiment)
    assert all(abs(shares.get((token,), 0.0) - p) < 1e-12 for token, p in enumerate(probs))


@given(WEIGHTS, st.floats(0, 1, exclude_max=True))
def test_a_token_of_probability_0_is_never_drawn(weights: list[float], coin: float) -> None:
    probs = normal(weights)
    for extreme in (coin, 0.0, np.nextafter(1.0, 0.0)):
        assert probs[draw(probs, float(extreme))] > 0


@given(LOGITS, st.floats(0.05, 5), st.integers(0, 14), st.floats(0.01, 1))
def test_a_processed_row_is_a_distribution_over_the_likeliest_tokens(
    row: Floats, temperature: float, top_k: int, top_p: float
) -> None:
    full, probs = softmax(row, temperature), processed(row, temperature, top_k, top_p)
    kept = np.flatnonzero(probs)
    assert abs(probs.sum() - 1) < 1e-12
    assert full[kept].min() >= np.delete(full, kept).max(initial=0.0)
    assert not top_k or len(kept) <= top_k
    np.testing.assert_allclose(probs[kept], full[kept] / full[kept].sum(), rtol=1e-9)


def test_the_order_is_temperature_then_top_k_then_top_p() -> None:
    row = log(0.4, 0.3, 0.2, 0.1)
    np.testing.assert_allclose(processed(row, 1.0, 2), [4 / 7, 3 / 7, 0, 0], rtol=1e-6)
    np.testing.assert_allclose(processed(row, 1.0, 0, 0.69), [4 / 7, 3 / 7, 0, 0], rtol=1e-6)
    # Of the three that top-k leaves, two reach 0.75 of what is left, though not of all.
    np.testing.assert_allclose(processed(row, 1.0, 3, 0.75), [4 / 7, 3 / 7, 0, 0], rtol=1e-6)
    # A temperature of 0.5 squares the probabilities first: 16 : 9 : 4 : 1, and two tokens reach 0.8.
    np.testing.assert_allclose(processed(row, 0.5, 0, 0.8), [16 / 25, 9 / 25, 0, 0], rtol=1e-6)


def test_ties_at_the_edge_of_top_k_keep_the_lower_ids() -> None:
    assert list(processed(np.zeros(5, np.float32), 1.0, 2)) == [0.5, 0.5, 0, 0, 0]


def test_a_masked_token_has_no_probability() -> None:
    row = np.array([1.0, -np.inf, 1.0], np.float32)
    assert list(processed(row, 0.7, 0, 0.99)) == [0.5, 0.0, 0.5]


def test_top_p_keeps_at_least_one_token() -> None:
    assert list(processed(log(0.9, 0.05, 0.05), 1.0, 0, 0.01)) == [1.0, 0.0, 0.0]


@given(st.data())
def test_what_is_kept_of_q_and_the_residual_make_up_p(data: st.DataObject) -> None:
    size = data.draw(st.integers(1, 6))
    shares = st.lists(st.floats(0, 1), min_size=size, max_size=size).filter(lambda row: sum(row) > 0.01)
    p, q = normal(data.draw(shares)), normal(data.draw(shares))
    accepted = np.minimum(p, q)
    np.testing.assert_allclose(accepted + (1 - accepted.sum()) * residual(p, q), p, atol=1e-12)


def test_the_residual_of_equal_distributions_is_the_distribution() -> None:
    p = np.array([0.25, 0.75])
    assert list(residual(p, p)) == [0.25, 0.75]


def test_a_coin_depends_on_seed_position_and_purpose_and_on_nothing_else() -> None:
    drawn = {
        (seed, position, purpose): uniform(seed, position, purpose)
        for seed in range(3)
        for position in range(50)
        for purpose in Purpose
    }
    assert len(set(drawn.values())) == len(drawn)
    assert all(uniform(*key) == coin for key, coin in reversed(drawn.items()))


@pytest.mark.parametrize("one", [Purpose.ACCEPT, Purpose.PROPOSE])
def test_coins_are_uniform_and_those_of_two_purposes_are_independent(one: Purpose) -> None:
    pairs = np.array([(uniform(7, i, one), uniform(7, i, Purpose.CHOOSE)) for i in range(4000)])
    assert ((pairs >= 0) & (pairs < 1)).all()
    shares, _, _ = np.histogram2d(pairs[:, 0], pairs[:, 1], bins=4, range=((0, 1), (0, 1)))
    np.testing.assert_allclose(shares / len(pairs), 1 / 16, atol=0.02)
    following = np.corrcoef(pairs[:-1, 0], pairs[1:, 0])[0, 1]
    assert abs(following) < 0.06


def test_the_largest_seed_and_position_have_a_coin() -> None:
    assert 0 <= uniform(2**63 - 1, 10**9, Purpose.ACCEPT) < 1
    assert Gumbel(Options(sampler="gumbel", temperature=1.0, seed=2**63 - 1)).choose(log(0.5, 0.5), 10**9) in (0, 1)


def test_a_drawn_token_has_the_confidence_of_its_row_whatever_it_is() -> None:
    sampler = Rejection(Options(sampler="rejection", temperature=2.0))
    picks = [sampler.propose(log(0.7, 0.2, 0.1), position) for position in range(40)]
    assert {pick.token for pick in picks} == {0, 1, 2}
    assert [pick.confidence for pick in picks] == pytest.approx([0.7] * 40, rel=1e-6)
    assert all(pick.q is not None and pick.p == pick.q[pick.token] for pick in picks)


def test_a_pick_that_was_not_drawn_is_certain_among_drawn_ones() -> None:
    q = np.array([0.5, 0.5, 0.0])
    draft = Draft.of([Pick(0, 0.5, 0.5, q), Pick(2, 0.9, 0.9)])
    assert draft.q is not None
    assert [list(row) for row in draft.q] == [[0.5, 0.5, 0.0], [0.0, 0.0, 1.0]]
    assert Draft.of([Pick(2, 0.9, 0.9)]).q is None
