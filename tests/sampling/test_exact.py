"""Sampling by rejection gives the base's distribution, by enumeration of all that the random numbers can be."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from engine.base.toy import ToyBase
from engine.drafters.draft_model import DraftModelDrafter
from engine.faults.sampling import ArgmaxWithSoftQ, ResidualAsP, ResidualSoftmax, ReusedU
from engine.loop import rounds
from engine.options import Options
from engine.sampling import Coins, Rejection
from tests.sampling.exact_coins import Observed, distribution, total_variation
from tests.sampling.toy_text import World, constant, worlds
from tests.sampling.wrong_rules import DroppedForItself

EXACT = 1e-9
KINDS = sorted(worlds(3))
WRONG = (ResidualAsP, ResidualSoftmax, ReusedU, ArgmaxWithSoftQ)
SamplerOf = Callable[[Options, Coins], Rejection]


def sampled(**options: Any) -> Options:
    return Options(**{"sampler": "rejection", "temperature": 1.0, "max_tokens": 9, **options})


def after_one_round(world: World, options: Options, sampler: SamplerOf = Rejection) -> dict[tuple[int, ...], float]:
    """The distribution of a round's text, its carried token included."""

    def experiment(coins: Coins) -> Observed:
        round_ = world.run(options, sampler(options, coins)).step()
        assert round_ is not None
        assert round_.emitted is not None
        assert round_.next is not None
        return Observed((*round_.emitted, round_.next), (round_.drafts, round_.emitted, round_.next))

    return distribution(experiment)


def error_of_a_round(world: World, options: Options, sampler: SamplerOf = Rejection) -> float:
    """How far a round's text is from plain sampling; a short one is continued by plain sampling."""
    made = after_one_round(world, options, sampler)
    length = options.k + 2
    return total_variation(world.completed(made, options, length), world.plain(options, length))


def whole_text(world: World, options: Options) -> dict[tuple[int, ...], float]:
    """The distribution of a run's text and, unless a stop token ended it, the token carried at its end."""

    def experiment(coins: Coins) -> Observed:
        run = world.run(options, Rejection(options, coins))
        made = list(rounds(run))
        text = tuple(run.emitted) if run.reason == "stop" else (*run.emitted, run.t1)
        return Observed(text, tuple((r.drafts, r.emitted, r.next) for r in made))

    return distribution(experiment)


@pytest.mark.parametrize(("k", "vocab_size"), [(1, 3), (2, 2), (3, 2)])
@pytest.mark.parametrize("kind", KINDS)
def test_a_round_is_exact_with_every_drafter(kind: str, k: int, vocab_size: int) -> None:
    assert error_of_a_round(worlds(vocab_size)[kind], sampled(k=k)) <= EXACT


def test_a_round_of_two_drafts_is_exact_where_a_residual_holds_several_tokens() -> None:
    assert error_of_a_round(worlds(3)["draft-model"], sampled(k=2)) <= EXACT


@pytest.mark.slow
@pytest.mark.parametrize(("k", "vocab_size"), [(1, 5), (2, 3), (3, 3)])
@pytest.mark.parametrize("kind", KINDS)
def test_a_round_is_exact_over_more_tokens(kind: str, k: int, vocab_size: int) -> None:
    assert error_of_a_round(worlds(vocab_size)[kind], sampled(k=k)) <= EXACT


@pytest.mark.parametrize(
    "processing",
    [{"temperature": 0.5}, {"top_k": 2}, {"top_p": 0.7}, {"temperature": 1.5, "top_k": 2, "top_p": 0.8}],
    ids=str,
)
@pytest.mark.parametrize("kind", ["draft-model", "scripted"])
def test_a_round_is_exact_after_temperature_top_k_and_top_p(kind: str, processing: dict[str, Any]) -> None:
    assert error_of_a_round(worlds(3)[kind], sampled(k=1, **processing)) <= EXACT


@pytest.mark.parametrize(("tau", "lengths"), [(0.5, {1, 2}), (0.6, {0, 2})])
def test_dropping_drafts_under_tau_does_not_bend_the_distribution(tau: float, lengths: set[int]) -> None:
    world, options = worlds(3)["draft-model"], sampled(k=2, tau=tau)
    made = [world.run(sampled(k=2, tau=tau, seed=seed)).step() for seed in range(30)]
    assert {len(round_.drafts or ()) for round_ in made if round_} == lengths
    assert error_of_a_round(world, options) <= EXACT


def test_dropping_a_draft_for_the_token_that_was_drawn_would_bend_it() -> None:
    assert error_of_a_round(worlds(3)["draft-model"], sampled(k=1, tau=0.5), DroppedForItself) > 0.01


@pytest.mark.parametrize(
    ("kind", "form"),
    [("draft-model", "one-pass"), ("lookup", "one-pass"), ("draft-model", "two-pass"), ("synthetic", "two-pass")],
)
def test_a_whole_run_is_exact_so_no_number_is_used_for_two_decisions(kind: str, form: str) -> None:
    world, options = worlds(2)[kind], sampled(k=2, max_tokens=3, form=form)
    assert total_variation(whole_text(world, options), world.plain(options, 4)) <= EXACT


@pytest.mark.parametrize("kind", ["draft-model", "scripted", "lookup"])
def test_a_run_that_a_stop_token_may_end_is_exact(kind: str) -> None:
    options = sampled(k=2, max_tokens=3, stop_tokens=(1,))
    drafting = worlds(2)[kind]
    plain = World(2, drafting.base, None)
    texts = whole_text(plain, options)
    assert {len(text) for text in texts} == {1, 2, 3, 4}
    assert total_variation(whole_text(drafting, options), texts) <= EXACT


def fixture(p: tuple[float, ...], q: tuple[float, ...]) -> World:
    size = len(p)
    return World(size, constant(p), lambda: DraftModelDrafter(ToyBase(size, constant(q))))


def second_token(world: World, sampler: SamplerOf) -> list[float]:
    """The distribution of the token behind ``t1``."""
    masses = [0.0] * world.vocab_size
    for text, mass in after_one_round(world, sampled(k=1), sampler).items():
        masses[text[1]] += mass
    return masses


@pytest.mark.parametrize(
    ("sampler", "p", "q", "gives"),
    [
        (Rejection, (0.6, 0.3, 0.1), (0.2, 0.5, 0.3), (0.6, 0.3, 0.1)),
        (ResidualAsP, (0.6, 0.3, 0.1), (0.2, 0.5, 0.3), (0.44, 0.42, 0.14)),
        (ResidualSoftmax, (0.6, 0.3, 0.1), (0.2, 0.5, 0.3), (0.3709, 0.41455, 0.21455)),
        (ArgmaxWithSoftQ, (0.6, 0.3, 0.1), (0.2, 0.5, 0.3), (0.4, 0.6, 0.0)),
        (Rejection, (0.4, 0.4, 0.1, 0.1), (0.1, 0.1, 0.4, 0.4), (0.4, 0.4, 0.1, 0.1)),
        (ReusedU, (0.4, 0.4, 0.1, 0.1), (0.1, 0.1, 0.4, 0.4), (0.3, 0.5, 0.1, 0.1)),
    ],
)
def test_the_worked_fixture(
    sampler: SamplerOf, p: tuple[float, ...], q: tuple[float, ...], gives: tuple[float, ...]
) -> None:
    # The rows are float32 logits, so p itself is only known to about 1e-8.
    np.testing.assert_allclose(second_token(fixture(p, q), sampler), gives, atol=1e-4 if sampler in WRONG else 1e-7)


@pytest.mark.parametrize("wrong", WRONG)
def test_a_wrong_rule_fails_the_same_check(wrong: SamplerOf) -> None:
    assert error_of_a_round(worlds(3)["draft-model"], sampled(k=1), wrong) > 0.01
