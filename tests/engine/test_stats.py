"""What is counted, and how."""

import itertools
import statistics
from array import array

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.base.toy import ToyBase
from engine.loop import run
from engine.options import Options
from engine.records import MOST, End, Prefill, Round
from engine.stats import Stats, median
from tests.engine.toys import PROMPT, Wanderer, tied_logits


def drafted(d: int, a: int, *, limit: int = 4, cut: str | None = None, ms: dict[str, float] | None = None) -> Round:
    emitted = tuple(range(a + 1))
    return Round(
        index=0, form="one-pass", limit=limit, drafts=(7,) * d, take=a, emitted=emitted, cut=cut, consumed=0, ms=ms
    )


def plain(ms: float | None = None, reason: str = "fallback") -> Round:
    return Round(index=0, form="plain", reason=reason, drafts=(), emitted=(1,), ms=None if ms is None else {"step": ms})


def test_the_worked_figures() -> None:
    """Five drafted rounds (d, a) and two plain ones, one-pass."""
    takes = ((4, 4), (4, 0), (4, 1), (2, 2), (4, 2))
    figures = Stats.of([*(drafted(d, a) for d, a in takes), plain(), plain()]).as_map()

    assert (figures["rounds"], figures["plain_rounds"], figures["drafted"], figures["accepted"]) == (5, 2, 18, 9)
    assert (figures["emitted"], figures["batches"], figures["steps"]) == (16, 5, 2)
    assert figures["draft_acceptance_rate"] == 0.5
    assert figures["evaluated_acceptance_rate"] == 0.75
    assert figures["draft_share"] == 0.5625
    assert figures["tokens_per_round"] == pytest.approx(2.8)
    assert figures["tokens_per_base_pass"] == pytest.approx(16 / 7)
    assert figures["per_position"]["unconditional"] == pytest.approx((0.8, 0.6, 0.2, 0.2))
    assert figures["per_position"]["drafted_only"] == pytest.approx((0.8, 0.6, 0.25, 0.25))
    assert figures["per_position"]["conditional"] == pytest.approx((0.8, 0.75, 0.5, 1.0))


def test_the_public_names_are_those_documented() -> None:
    assert list(Stats().as_map()) == [
        *("rounds", "plain_rounds", "drafted", "verified", "accepted", "emitted", "batches", "steps"),
        *("draft_acceptance_rate", "evaluated_acceptance_rate", "draft_share", "tokens_per_round"),
        *("tokens_per_base_pass", "per_position", "fell_back_at", "reason", "ms", "plain_ms", "ttft_ms"),
        *("tokens_per_second", "break_even", "speedup", "repeated_8grams", "detail"),
    ]


def test_what_is_not_known_is_none_and_not_zero() -> None:
    figures = Stats().as_map()
    rates = [key for key in figures if key.endswith(("_rate", "_share", "_round", "_pass", "_ms", "_second"))]
    assert {figures[key] for key in (*rates, "break_even", "speedup", "fell_back_at", "reason")} == {None}


@given(st.integers(0, 500), st.sampled_from((0.3, 0.8, 1.0)), st.integers(1, 6))
def test_one_and_the_unconditional_rates_add_up_to_the_tokens_per_round(seed: int, skill: float, k: int) -> None:
    logits_of = tied_logits(9, seed)
    result = run(ToyBase(9, logits_of), Wanderer(logits_of, 9, skill, seed), PROMPT, Options(max_tokens=40, k=k))
    stats = Stats.of(round_ for round_ in result.rounds if round_.cut is None)
    if stats.rounds:
        assert 1 + sum(stats.by_position.unconditional) == pytest.approx(stats.tokens_per_round)


@given(st.integers(0, 500), st.sampled_from((0.3, 0.8, 1.0)), st.sampled_from(("one-pass", "two-pass")))
def test_its_counts_are_those_of_the_run(seed: int, skill: float, form: str) -> None:
    logits_of = tied_logits(9, seed)
    options = Options(max_tokens=40, form=form, stop_tokens=(seed % 9,))
    result = run(ToyBase(9, logits_of), Wanderer(logits_of, 9, skill, seed), PROMPT, options)
    stats = Stats.of(result.rounds)
    assert (stats.emitted, stats.batches, stats.steps) == (len(result.tokens), result.batches, result.steps)
    assert stats.rounds + stats.plain_rounds == len(result.rounds)
    assert stats.accepted <= stats.judged <= stats.verified <= stats.drafted


def counted(rounds: list[Round]) -> tuple[list[float], list[float], list[float | None]]:
    """The rates by position, each counted over all rounds again."""
    rates: tuple[list[float], list[float], list[float | None]] = ([], [], [])
    for i in itertools.count(1):
        possible = [r for r in rounds if r.cut is None or i <= (r.take if r.cut == "stop" else r.limit or 0)]
        tried = [r for r in possible if r.drafted >= i]
        if not tried:
            return rates
        hits = sum(r.take >= i for r in tried)
        judged = sum(i <= min(r.in_batch, r.take + (r.cut != "stop")) for r in tried)
        rates[0].append(hits / len(possible))
        rates[1].append(hits / len(tried))
        rates[2].append(hits / judged if judged else None)
    return rates


@given(
    st.lists(
        st.builds(
            lambda d, a, cut, left: drafted(d, min(a, d), cut=cut, limit=max(d, left) if cut == "budget" else 9),
            st.integers(1, 6), st.integers(0, 6), st.sampled_from((None, "stop", "budget")), st.integers(0, 6),
        )
    )
)  # fmt: skip
def test_the_rates_by_position_are_those_of_a_count_over_all_rounds(rounds: list[Round]) -> None:
    position = Stats.of(rounds).by_position
    assert tuple(map(list, position)) == counted(rounds)


def test_many_shapes_of_deep_rounds_cost_no_more_than_their_depth_and_their_number() -> None:
    deep = (Round(index=0, form="one-pass", n_drafts=MOST - i, take=i) for i in range(2000))
    position = Stats.of(deep).by_position
    assert (len(position.unconditional), position.conditional[0]) == (MOST, 1999 / 2000)


def test_a_round_cut_by_the_budget_is_in_no_denominator_beyond_its_limit() -> None:
    position = Stats.of([drafted(4, 4), drafted(1, 1, limit=1, cut="budget")]).by_position
    assert position.unconditional == (1.0, 1.0, 1.0, 1.0)


def test_a_round_cut_by_a_stop_counts_but_its_unjudged_positions_do_not() -> None:
    stats = Stats.of([drafted(4, 4), drafted(4, 2, cut="stop")])
    assert (stats.drafted, stats.accepted, stats.judged) == (8, 6, 6)
    assert stats.by_position.unconditional == stats.by_position.drafted_only == (1.0, 1.0, 1.0, 1.0)


def test_drafts_cut_from_the_batch_were_not_judged() -> None:
    round_ = Round(index=0, form="one-pass", drafts=(7,) * 4, verified=2, take=2, emitted=(0, 1, 2))
    stats = Stats.of([round_])
    assert (stats.drafted, stats.verified, stats.judged) == (4, 2, 2)
    assert stats.by_position.conditional == (1.0, 1.0, None, None)


def test_the_break_even_is_a_round_over_a_plain_step_and_the_speedup_follows() -> None:
    phases = {"draft": 1.0, "verify": 2.0, "accept": 0.5, "rollback": 0.5, "other": 100.0}
    stats = Stats.of([*(drafted(4, 3, ms=phases) for _ in range(5)), *(plain(2.0) for _ in range(5))])
    assert stats.break_even() == 2.0
    assert stats.speedup() == 2.0


def test_one_cold_round_does_not_move_the_break_even() -> None:
    warm = [drafted(4, 3, ms={"draft": 1.0, "verify": 3.0}) for _ in range(6)]
    cold = drafted(4, 3, ms={"draft": 500.0, "verify": 300.0})
    assert Stats.of([cold, *warm]).break_even(2.0) == 2.0


def test_four_rounds_are_too_few_for_a_break_even() -> None:
    assert Stats.of([drafted(4, 3, ms={"verify": 3.0})] * 4).break_even(2.0) is None


def test_a_plain_step_costs_what_the_run_says_from_five_on_and_before_that_what_was_measured() -> None:
    assert Stats.of([plain(9.0)] * 4).plain_ms(2.0) == 2.0
    assert Stats.of([plain(9.0)] * 4).plain_ms() is None
    assert Stats.of([plain(9.0)] * 5).plain_ms(2.0) == 9.0


def test_a_round_whose_drafter_gave_nothing_is_no_measure_of_a_plain_step() -> None:
    assert Stats.of([plain(9.0, "zero-draft")] * 9).plain_ms(2.0) == 2.0


def test_figures_of_an_imported_log_come_from_its_counts() -> None:
    log = [Round(index=0, form="one-pass", n_drafts=4, take=2, n_emitted=3), Round(index=1, form="plain", n_emitted=1)]
    figures = Stats.of(log).as_map(detail="counts")
    assert (figures["drafted"], figures["accepted"], figures["emitted"]) == (4, 2, 4)
    assert (figures["detail"], figures["tokens_per_second"], figures["ms"]) == ("counts", None, {})


def test_prefill_and_end_give_their_figures() -> None:
    end = End(reason="stop", fell_back_at=4, plain_ms=2.5)
    figures = Stats.of([drafted(4, 1)]).as_map(Prefill(positions=3, ms=12.0, plain_ms=3.0), end)
    keys = ("ttft_ms", "plain_ms", "reason", "fell_back_at")
    assert [figures[key] for key in keys] == [12.0, 2.5, "stop", 4]


def test_the_median_of_many_is_that_of_the_sorted_values() -> None:
    for size in (4096, 4097, 10_001, 10_002):
        values = array("d", ((i * 7919) % 10_007 for i in range(size)))
        assert median(values) == statistics.median(values)
        values.append(1.0)
