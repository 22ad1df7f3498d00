"""Sampled runs: what they owe to their seed, to their record, and to plain decode."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.base.toy import ToyBase
from engine.drafters.draft_model import DraftModelDrafter
from engine.drafters.synthetic import SyntheticDrafter
from engine.errors import Refused
from engine.loop import rounds
from engine.loop import run as run_whole
from engine.options import Options
from engine.records import Round
from tests.sampling.toy_text import PROMPT, World, table, worlds

KINDS = sorted(worlds(5))
FORMS = ("one-pass", "two-pass")


def text(world: World, options: Options) -> list[int]:
    run = world.run(options)
    for _ in rounds(run):
        pass
    return run.emitted


def decisions(made: list[Round]) -> list[Any]:
    return [(r.t1, r.drafts, r.draft_p, r.targets, r.take, r.emitted, r.next, r.u, r.accept_p) for r in made]


@settings(max_examples=80, deadline=None)
@given(
    kind=st.sampled_from(KINDS),
    temperature=st.sampled_from([0.3, 0.7, 1.0]),
    k=st.integers(1, 6),
    form=st.sampled_from(FORMS),
    tau=st.sampled_from([0.0, 0.5]),
    seed=st.integers(0, 2**63 - 1),
    processing=st.sampled_from([{}, {"top_k": 3}, {"top_p": 0.8}]),
    stop=st.sampled_from([(), (4,)]),
)
def test_gumbel_text_is_plain_text_token_for_token(
    kind: str,
    temperature: float,
    k: int,
    form: str,
    tau: float,
    seed: int,
    processing: dict[str, Any],
    stop: tuple[int, ...],
) -> None:
    world = worlds(5)[kind]
    options = Options(
        sampler="gumbel",
        temperature=temperature,
        k=k,
        form=form,
        tau=tau,
        seed=seed,
        max_tokens=30,
        stop_tokens=stop,
        **processing,
    )
    assert text(world, options) == text(World(5, world.base, None), options)


def test_gumbel_text_is_not_greedy_text_and_differs_by_seed() -> None:
    world = worlds(5)["draft-model"]
    texts = {tuple(text(world, Options(sampler="gumbel", temperature=1.0, seed=seed))) for seed in range(4)}
    assert len(texts | {tuple(text(world, Options()))}) == 5


def test_a_synthetic_drafter_lands_at_its_rates_on_gumbel_text() -> None:
    options = Options(sampler="gumbel", temperature=1.0, k=2, max_tokens=1500, seed=3)
    base = table(5, 1)
    plain = run_whole(ToyBase(5, base), None, PROMPT, options)
    drafter = SyntheticDrafter((*PROMPT, *plain.tokens), (0.8, 0.5), 5)
    result = run_whole(ToyBase(5, base), drafter, PROMPT, options)
    assert result.tokens == plain.tokens
    takes = [round_.take for round_ in result.rounds if len(round_.drafts or ()) == 2]
    assert np.mean([take >= 1 for take in takes]) == pytest.approx(0.8, abs=0.04)
    assert np.mean([take == 2 for take in takes if take]) == pytest.approx(0.5, abs=0.05)


@pytest.mark.parametrize("sampler", ["rejection", "gumbel"])
@pytest.mark.parametrize("kind", KINDS)
def test_a_run_is_a_function_of_its_seed(kind: str, sampler: str) -> None:
    def made(seed: int) -> list[Any]:
        return decisions(list(rounds(worlds(5)[kind].run(Options(sampler=sampler, temperature=1.0, seed=seed)))))

    assert made(1) == made(1)
    assert made(1) != made(2)


@pytest.mark.parametrize("sampler", ["rejection", "gumbel"])
@pytest.mark.parametrize("kind", KINDS)
def test_a_run_that_is_rewound_comes_out_the_same_again(kind: str, sampler: str) -> None:
    run = worlds(5)[kind].run(Options(sampler=sampler, temperature=1.0, k=3, max_tokens=40))
    made = list(rounds(run))
    for back in (len(made) - 1, 7, 1, 0):
        run.rewind(made[:back])
        assert decisions(made[:back] + list(rounds(run))) == decisions(made)


def test_a_prompt_fed_token_by_token_gives_the_same_sampled_run() -> None:
    world = worlds(5)["draft-model"]
    options = Options(sampler="rejection", temperature=1.0, seed=4)
    assert world.drafter is not None
    both = [
        run_whole(ToyBase(5, world.base), world.drafter(), PROMPT, options, batched=batched)
        for batched in (True, False)
    ]
    assert decisions(list(both[0].rounds)) == decisions(list(both[1].rounds))


@settings(max_examples=60, deadline=None)
@given(
    kind=st.sampled_from(KINDS),
    seed=st.integers(0, 10**6),
    k=st.integers(1, 5),
    stop=st.sampled_from([(), (4,)]),
    processing=st.sampled_from([{"temperature": 1.0}, {"temperature": 0.6, "top_k": 3}]),
)
def test_the_record_of_a_rejection_round_reproduces_its_decisions(
    kind: str, seed: int, k: int, stop: tuple[int, ...], processing: dict[str, Any]
) -> None:
    options = Options(sampler="rejection", seed=seed, k=k, max_tokens=30, stop_tokens=stop, **processing)
    for round_ in rounds(worlds(5)[kind].run(options)):
        assert round_.drafts is not None
        assert round_.targets is not None
        if not round_.drafts:
            continue
        assert round_.u is not None
        assert round_.draft_p is not None
        assert round_.accept_p is not None
        stopped = round_.cut == "stop"
        assert len(round_.u) == min(len(round_.drafts), round_.take + (not stopped))
        # The last one judged was rejected, unless every one, or the one that stops the run, was accepted.
        for j, u in enumerate(round_.u):
            assert (u * round_.draft_p[j] < round_.accept_p[j]) == (j < round_.take)
        assert round_.drafts[: round_.take] == round_.targets[: round_.take]
        assert round_.next == round_.targets[round_.take]
        assert 0 < (round_.target_p or ())[round_.take] <= 1


@pytest.mark.parametrize("form", FORMS)
def test_a_stop_token_inside_the_accepted_run_ends_a_sampled_run_with_it(form: str) -> None:
    # Every choice is certain at this temperature, and the drafter is the base.
    base = table(5, 1, 50.0)
    world = World(5, base, lambda: DraftModelDrafter(ToyBase(5, base)))
    cold: dict[str, Any] = {"sampler": "rejection", "temperature": 0.01, "k": 4, "form": form}
    free = text(world, Options(max_tokens=12, **cold))
    stop = free[2]
    assert stop not in free[:2]
    run = world.run(Options(max_tokens=12, stop_tokens=(stop,), **cold))
    (round_,) = rounds(run)
    assert run.reason == "stop"
    assert run.emitted == free[:3]
    assert (round_.take, round_.cut, [str(v) for v in round_.verdicts]) == (
        2,
        "stop",
        ["accepted", "accepted", "unjudged", "unjudged"],
    )
    assert len(round_.u or ()) == 2
    assert run.base.consumed == len(PROMPT) + 3


@pytest.mark.parametrize("max_tokens", [1, 2, 3, 4, 5, 9])
@pytest.mark.parametrize("kind", KINDS)
def test_a_sampled_run_never_overshoots_its_budget(kind: str, max_tokens: int) -> None:
    for seed in range(5):
        run = worlds(5)[kind].run(Options(sampler="rejection", temperature=1.0, k=4, max_tokens=max_tokens, seed=seed))
        for round_ in rounds(run):
            assert len(round_.drafts or ()) <= (round_.limit or 0)
        assert len(run.emitted) == max_tokens
        assert run.base.consumed == len(PROMPT) + max_tokens


def nan_after(position: int, base: Any) -> Any:
    """A base whose row is not a number once it holds ``position`` tokens."""
    return lambda history: np.full(5, np.nan, np.float32) if len(history) == position else base(history)


@pytest.mark.parametrize("sampler", ["rejection", "gumbel"])
def test_a_row_that_is_not_a_number_ends_a_sampled_run_with_what_stood(sampler: str) -> None:
    base = table(5, 1)
    world = World(5, nan_after(12, base), lambda: DraftModelDrafter(ToyBase(5, base)))
    run = world.run(Options(sampler=sampler, temperature=1.0, k=3, max_tokens=30))
    made = list(rounds(run))
    assert run.reason == "fault"
    assert run.emitted == [token for round_ in made for token in round_.emitted or ()]
    assert run.base.consumed == len(PROMPT) + len(run.emitted) < 12
    assert "not finite" in run.events[-1].message


def test_a_row_behind_a_rejection_may_be_anything() -> None:
    base = table(5, 1)
    world = World(5, nan_after(7, base), lambda: DraftModelDrafter(ToyBase(5, table(5, 3, 6.0))))
    behind = 0
    for seed in range(20):
        run = world.run(Options(sampler="rejection", temperature=1.0, k=3, max_tokens=5, seed=seed))
        round_ = run.step()
        if round_ is None:
            assert run.reason == "fault"
            continue
        behind += round_.nonfinite == 5 and round_.take < 2
    assert behind


@pytest.mark.parametrize("sampler", ["rejection", "gumbel"])
def test_a_drafter_s_row_that_is_not_a_number_is_a_fault_and_never_a_token(sampler: str) -> None:
    base = table(5, 1)
    world = World(5, base, lambda: DraftModelDrafter(ToyBase(5, nan_after(10, base))))
    run = world.run(Options(sampler=sampler, temperature=1.0, k=3, max_tokens=30))
    assert [len(round_.emitted or ()) for round_ in rounds(run)]
    assert run.reason == "fault"
    assert "NaN" in run.events[-1].message


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"sampler": "rejection"}, "temperature"),
        ({"sampler": "gumbel"}, "temperature"),
        ({"temperature": 0.7}, "greedy is temperature 0"),
        ({"sampler": "rejection", "temperature": -1.0}, "temperature is -1.0"),
        ({"sampler": "rejection", "temperature": float("nan")}, "temperature is nan"),
        ({"sampler": "rejection", "temperature": float("inf")}, "temperature is inf"),
        ({"sampler": "gumbel", "temperature": 1.0, "top_p": 0.0}, "top_p is 0.0"),
        ({"sampler": "gumbel", "temperature": 1.0, "top_p": 1.5}, "top_p is 1.5"),
        ({"sampler": "gumbel", "temperature": 1.0, "top_k": -1}, "top_k is -1"),
        ({"sampler": "gumbel", "temperature": 1.0, "seed": -1}, "seed is -1"),
        ({"sampler": "gumbel", "temperature": 1.0, "seed": 2**64}, "seed is 18446744073709551616"),
        ({"sampler": "nucleus", "temperature": 1.0}, "sampler is 'nucleus'"),
        ({"tau": 1.5}, "tau is 1.5"),
    ],
)
def test_sampling_that_makes_no_sense_is_refused(options: dict[str, Any], says: str) -> None:
    with pytest.raises(Refused, match=says):
        Options(**options)
