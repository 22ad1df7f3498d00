"""Frequencies of seeded draws where there is too much to enumerate, within what so many draws allow."""

from collections import Counter

import msgspec
import numpy as np
import pytest

from engine.accept import sampled_round
from engine.base.toy import ToyBase
from engine.drafters.draft_model import DraftModelDrafter
from engine.drafters.drafter import Draft
from engine.loop import rounds
from engine.options import Options
from engine.sampling import Gumbel, Rejection, processed
from tests.sampling.toy_text import PROMPT, World, constant, worlds

MANY = pytest.mark.parametrize(
    ("count", "tolerance"), [(5_000, 0.03), pytest.param(200_000, 0.01, marks=pytest.mark.slow)]
)
OPTIONS = Options(sampler="rejection", temperature=0.8, top_k=20, top_p=0.95)


def rows(count: int, seed: int) -> np.ndarray[tuple[int, int], np.dtype[np.float32]]:
    return np.random.default_rng(seed).normal(0, 2, (count, 40)).astype(np.float32)


@MANY
def test_the_token_after_t1_has_the_base_s_frequencies_over_seeds(count: int, tolerance: float) -> None:
    base, drafted = rows(2, 1), rows(1, 2)[0]
    seen = np.zeros(40)
    for seed in range(count):
        sampler = Rejection(msgspec.structs.replace(OPTIONS, seed=seed))
        draft = Draft.of([sampler.propose(drafted, 10)])
        decision = sampled_round(draft, base, 10, sampler, frozenset())
        seen[decision.targets[0]] += 1
    np.testing.assert_allclose(seen / count, processed(base[0], 0.8, 20, 0.95), atol=tolerance)


@MANY
def test_gumbel_noise_draws_from_the_distribution_over_positions(count: int, tolerance: float) -> None:
    sampler, row = Gumbel(msgspec.structs.replace(OPTIONS, sampler="gumbel", seed=5)), rows(1, 3)[0]
    seen = np.zeros(40)
    for position in range(count):
        seen[sampler.choose(row, position)] += 1
    np.testing.assert_allclose(seen / count, processed(row, 0.8, 20, 0.95), atol=tolerance)


@MANY
@pytest.mark.parametrize("sampler", ["rejection", "gumbel"])
def test_a_long_text_has_the_base_s_frequencies(sampler: str, count: int, tolerance: float) -> None:
    world = worlds(3)["draft-model"]
    run = world.run(Options(sampler=sampler, temperature=1.0, k=3, max_tokens=count // 4, seed=11))
    for _ in rounds(run):
        pass
    text = (*PROMPT, *run.emitted)
    triples = Counter(zip(text[:-2], text[1:-1], text[2:], strict=True))
    pairs = Counter(text[i : i + 2] for i in range(len(text) - 2))
    for (a, b, c), seen in triples.items():
        expected = pairs[a, b] * world.probs((a, b), run.options)[c]
        assert abs(seen - expected) / len(text) < tolerance


def test_with_the_drafter_s_own_noise_a_drafter_that_is_the_base_is_always_right() -> None:
    world = worlds(3)["draft-model-that-is-the-base"]
    run = world.run(Options(sampler="gumbel", temperature=0.7, k=3, max_tokens=80, seed=1))
    assert all(round_.take == len(round_.drafts or ()) for round_ in rounds(run))


def test_with_the_same_noise_a_near_drafter_lands_more_than_by_rejection() -> None:
    p, q = (0.5, 0.3, 0.15, 0.05), (0.4, 0.35, 0.15, 0.1)
    world = World(4, constant(p), lambda: DraftModelDrafter(ToyBase(4, constant(q))))
    taken = {}
    for sampler in ("rejection", "gumbel"):
        run = world.run(Options(sampler=sampler, temperature=1.0, k=1, max_tokens=3000, seed=2))
        made = [round_ for round_ in rounds(run) if round_.drafts]
        taken[sampler] = sum(round_.take for round_ in made) / len(made)
    # By rejection: the sum of min(p, q). By shared noise it may be less than that bound, never more.
    assert taken["rejection"] == pytest.approx(0.9, abs=0.03)
    assert 0.8 < taken["gumbel"] <= taken["rejection"]
