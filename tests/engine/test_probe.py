"""The probe tells an exact set-up from one that is not, by a loop that shares nothing with the engine's."""

from collections.abc import Iterator, Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.base.base import Rows
from engine.base.toy import ToyBase
from engine.errors import EngineFault, Refused
from engine.loop import run
from engine.options import Options
from engine.probe.compare import Candidate, Prompt, probe
from engine.probe.decode import by_hand, plain
from engine.probe.report import Difference, Report, first_difference
from engine.stats import Stats
from tests.engine.toys import PROMPT, DyingBase, Wanderer, plain_decode, tied_logits

VOCAB = 9


class Drifting(ToyBase):
    """A base whose batches choose otherwise than its single steps at one position."""

    def verify(self, tokens: Sequence[int]) -> Rows:
        start = self.consumed
        rows = super().verify(tokens)
        logits = rows.logits.copy()
        for j in range(len(tokens)):
            if start + j == 9:
                logits[j] = np.roll(logits[j], 1)
        return rows._replace(logits=logits)


@settings(max_examples=60)
@given(
    st.integers(0, 500),
    st.sampled_from((0.3, 0.8, 1.0)),
    st.sampled_from(("one-pass", "two-pass")),
    st.integers(1, 6),
    st.integers(1, 20),
    st.lists(st.integers(0, VOCAB - 1), max_size=2),
    st.booleans(),
)
def test_the_loop_written_by_hand_gives_plain_decode(
    seed: int, skill: float, form: str, k: int, max_tokens: int, stops: list[int], anchored: bool
) -> None:
    logits_of = tied_logits(VOCAB, seed)
    base = ToyBase(VOCAB, logits_of)
    drafter = Wanderer(logits_of, VOCAB, skill, seed, needs_anchor_row=anchored)
    options = Options(form="two-pass" if anchored else form, k=k, max_tokens=max_tokens, stop_tokens=tuple(stops))
    made = by_hand(base, drafter, PROMPT, options, lambda: 0.0)
    assert list(made.tokens) == plain_decode(logits_of, PROMPT, max_tokens, stops)
    assert list(base.tokens) == drafter.tokens == [*PROMPT, *made.tokens]


@settings(max_examples=40)
@given(
    st.integers(0, 500),
    st.sampled_from((0.0, 0.5)),
    st.sampled_from(((0, 1.0), (3, 1.0), (0, 0.8))),
    st.sampled_from(("one-pass", "two-pass")),
    st.integers(1, 5),
)
def test_by_hand_it_gives_the_gumbel_samplers_plain_text_and_counts_what_the_engine_counts(
    seed: int, tau: float, processing: tuple[int, float], form: str, k: int
) -> None:
    logits_of = tied_logits(VOCAB, seed)
    base, drafter = ToyBase(VOCAB, logits_of), Wanderer(logits_of, VOCAB, 0.6, seed)
    top_k, top_p = processing
    options = Options(
        form=form,
        k=k,
        max_tokens=24,
        sampler="gumbel",
        temperature=0.7,
        top_k=top_k,
        top_p=top_p,
        tau=tau,
        seed=seed,
    )
    made = by_hand(base, drafter, PROMPT, options, lambda: 0.0)
    assert made.tokens == plain(base, PROMPT, options, lambda: 0.0).tokens
    theirs = run(ToyBase(VOCAB, logits_of), Wanderer(logits_of, VOCAB, 0.6, seed), PROMPT, options)
    assert made.tokens == theirs.tokens
    ours, engines = Stats.of(made.rounds).as_map(), Stats.of(theirs.rounds).as_map()
    for figure in ("rounds", "drafted", "accepted", "batches", "tokens_per_round", "per_position"):
        assert ours[figure] == engines[figure]


def one(name: str, drafter: Wanderer) -> Candidate:
    return Candidate(name, lambda prompt: drafter)


def probed(base: ToyBase, candidates: Sequence[Candidate], options: Options, ks: Sequence[int]) -> Report:
    return probe(base, candidates, [Prompt("it", PROMPT)], options, ks)


def ticking(costs: Sequence[float]) -> Iterator[float]:
    """Seconds by a clock that goes on by each cost in turn."""
    now, i = 0.0, 0
    while True:
        yield now
        now += costs[i % len(costs)]
        i += 1


def test_an_exact_set_up_is_told_so_in_every_way() -> None:
    logits_of = tied_logits(VOCAB, 3)
    drafters = [one(name, Wanderer(logits_of, VOCAB, skill, 1)) for name, skill in (("good", 1.0), ("bad", 0.2))]
    report = probed(ToyBase(VOCAB, logits_of), drafters, Options(max_tokens=24), [2, 5])
    assert report.exact
    assert list(report.texts[0].tokens) == plain_decode(logits_of, PROMPT, 24)
    assert {(w.drafter, w.k, w.form, w.how) for w in report.ways} == {
        (name, k, form, how)
        for name in ("good", "bad")
        for k in (2, 5)
        for form in ("one-pass", "two-pass")
        for how in ("by-hand", "run", "run_from")
    }
    for k in (2, 5):
        for form in ("one-pass", "two-pass"):
            same = [w for w in report.ways if (w.drafter, w.k, w.form) == ("good", k, form)]
            assert len({(w.batches, w.rounds, w.tokens_per_round, w.by_position) for w in same}) == 1


def test_counts_are_pooled_over_the_prompts_and_every_prompt_has_its_drafter() -> None:
    logits_of = tied_logits(VOCAB, 3)
    opened: list[tuple[int, ...]] = []

    def open_for(prompt: Sequence[int]) -> Wanderer:
        opened.append(tuple(prompt))
        return Wanderer(logits_of, VOCAB, 0.8, 1)

    prompts = [Prompt("one", PROMPT), Prompt("other", (4, 5, 6, 7))]
    both = probe(ToyBase(VOCAB, logits_of), [Candidate("d", open_for)], prompts, Options(max_tokens=24), [3])
    each = [
        probe(ToyBase(VOCAB, logits_of), [Candidate("d", open_for)], [prompt], Options(max_tokens=24), [3])
        for prompt in prompts
    ]
    assert opened[:2] == [PROMPT, (4, 5, 6, 7)]
    assert [(text.name, text.prompt_tokens) for text in both.texts] == [("one", 3), ("other", 4)]
    for pooled, first, second in zip(both.ways, each[0].ways, each[1].ways, strict=True):
        assert pooled.tokens == 48
        assert (pooled.rounds, pooled.batches) == (first.rounds + second.rounds, first.batches + second.batches)
        assert pooled.fell_back_at == (None, None)


def test_times_are_medians_of_the_repeats_and_the_speed_up_is_that_of_neighbours() -> None:
    logits_of = tied_logits(VOCAB, 3)
    clock = ticking([0.001])
    report = probe(
        ToyBase(VOCAB, logits_of),
        [one("d", Wanderer(logits_of, VOCAB, 1.0, 1))],
        [Prompt("it", PROMPT)],
        Options(max_tokens=24),
        [3],
        forms=("one-pass",),
        repeat=5,
        clock=lambda: next(clock),
    )
    # By this clock a plain decode and one by hand take a tick for the prompt and a tick for all the rest.
    way = report.ways[0]
    assert (way.how, way.tokens, report.repeat) == ("by-hand", 24, 5)
    assert way.tokens_per_second == pytest.approx(24_000)
    assert way.ttft_ms == pytest.approx(1.0)
    assert way.speedup == pytest.approx(1.0)
    assert report.plain.tokens_per_second == pytest.approx(24_000)


def test_a_plain_decode_that_does_not_repeat_itself_is_not_exact() -> None:
    class Aging(ToyBase):
        passes = 0

        def step(self, token: int) -> Rows:
            self.passes += 1
            rows = super().step(token)
            return rows._replace(logits=np.roll(rows.logits, 1)) if self.passes == 40 else rows

    logits_of = tied_logits(VOCAB, 3)
    drafter = Wanderer(logits_of, VOCAB, 1.0, 1)
    assert not probed(Aging(VOCAB, logits_of), [one("d", drafter)], Options(max_tokens=24), [3]).exact


def test_what_draws_a_text_of_its_own_is_refused() -> None:
    logits_of = tied_logits(VOCAB, 3)
    with pytest.raises(Refused, match="keeps plain decode's distribution and not its tokens"):
        probed(
            ToyBase(VOCAB, logits_of),
            [one("d", Wanderer(logits_of, VOCAB, 1.0, 1))],
            Options(sampler="rejection", temperature=1.0),
            [3],
        )


def test_a_probe_of_nothing_is_refused() -> None:
    with pytest.raises(Refused, match="at least one prompt, one drafter, one k and one repeat"):
        probed(ToyBase(VOCAB, tied_logits(VOCAB, 3)), [], Options(), [3])


def test_what_does_not_fit_the_base_is_refused_before_anything_runs() -> None:
    logits_of = tied_logits(VOCAB, 3)
    with pytest.raises(Refused, match="ask for at most 7"):
        probed(
            ToyBase(VOCAB, logits_of, context_length=10),
            [one("d", Wanderer(logits_of, VOCAB, 1.0, 1))],
            Options(max_tokens=24),
            [3],
        )


def test_a_base_whose_batches_drift_is_not_exact_and_the_first_difference_is_named() -> None:
    logits_of = tied_logits(VOCAB, 3)
    report = probed(
        Drifting(VOCAB, logits_of), [one("good", Wanderer(logits_of, VOCAB, 1.0, 1))], Options(max_tokens=24), [8]
    )
    assert not report.exact
    found = report.ways[0].difference
    assert found is not None
    expected = plain_decode(logits_of, PROMPT, 24)
    # The row of position 9 chooses the token at position 10, which is the 7th behind a prompt of 3.
    assert (found.position, found.expected) == (7, expected[7])
    assert found.got != found.expected
    row = sorted(logits_of([*PROMPT, *expected[:7]]), reverse=True)
    assert found.gap == row[0] - row[1]


def test_it_says_where_the_fallback_fired() -> None:
    logits_of = tied_logits(VOCAB, 3)
    bad = Wanderer(logits_of, VOCAB, 0.0, 1)
    options = Options(max_tokens=24, fallback_below=2.0, fallback_window=4)
    report = probed(ToyBase(VOCAB, logits_of), [one("bad", bad)], options, [3])
    assert {(w.how, w.fell_back_at) for w in report.ways} == {("by-hand", (None,)), ("run", (4,)), ("run_from", (4,))}


def test_a_drafter_that_needs_the_anchors_row_is_probed_in_the_two_pass_form_only() -> None:
    logits_of = tied_logits(VOCAB, 3)
    drafter = Wanderer(logits_of, VOCAB, 0.7, 1, needs_anchor_row=True)
    report = probed(ToyBase(VOCAB, logits_of), [one("anchored", drafter)], Options(max_tokens=12), [3])
    assert {w.form for w in report.ways} == {"two-pass"}
    assert report.exact


def test_what_cannot_run_is_refused_and_what_breaks_is_a_fault() -> None:
    logits_of = tied_logits(VOCAB, 3)
    drafter = Wanderer(logits_of, VOCAB, 0.7, 1)
    with pytest.raises(Refused, match="the prompt is empty"):
        probe(ToyBase(VOCAB, logits_of), [one("d", drafter)], [Prompt("empty", [])], Options(), [3])
    with pytest.raises(EngineFault, match="session is dead"):
        probed(DyingBase(VOCAB, logits_of, 60), [one("d", drafter)], Options(max_tokens=24), [3])


def test_texts_part_where_the_first_token_differs_or_one_ends() -> None:
    assert first_difference([1, 2], [1, 2]) is None
    assert first_difference([1, 2, 3], [1, 4], [0.5, 0.25, 1.0]) == Difference(1, 2, 4, 0.25)
    assert first_difference([1], [1, 9]) == Difference(1, None, 9, None)
