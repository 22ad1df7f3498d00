"""The rule that gives up drafting."""

from hypothesis import given
from hypothesis import strategies as st

from engine.base.toy import ToyBase
from engine.fallback import SpecFallback
from engine.loop import run
from engine.options import Options
from tests.engine.toys import PROMPT, Wanderer, tied_logits

counts = st.lists(st.integers(1, 8), max_size=40)
bars = st.sampled_from((0.0, 1.0, 1.5, 2.0, 2.5, 3.0, 8.0))
windows = st.integers(1, 6)


def fired_at(emitted: list[int], below: float, window: int) -> int | None:
    rule = SpecFallback(below, window)
    fired = [rule.record(count) for count in emitted]
    assert sum(fired) <= 1
    assert rule.fell_back_at == (fired.index(True) + 1 if True in fired else None)
    return rule.fell_back_at


def test_one_one_three_against_two_fires_at_round_three() -> None:
    assert fired_at([1, 1, 3], 2.0, 3) == 3


def test_a_mean_of_exactly_the_bar_keeps_drafting_and_the_round_after_fires() -> None:
    assert fired_at([4, 4, 1, 1, 1, 1, 4, 4], 2.5, 4) == 5


def test_rounds_of_exactly_two_never_fall_under_a_bar_of_two() -> None:
    assert fired_at([2] * 50, 2.0, 3) is None


@given(counts, bars, windows)
def test_it_fires_at_the_first_full_window_whose_mean_is_strictly_below(
    emitted: list[int], below: float, window: int
) -> None:
    full = range(window, len(emitted) + 1)
    expected = next((end for end in full if sum(emitted[end - window : end]) / window < below), None)
    assert fired_at(emitted, below, window) == expected


@given(counts, windows)
def test_a_bar_of_zero_never_fires(emitted: list[int], window: int) -> None:
    assert fired_at(emitted, 0.0, window) is None


@given(counts, bars, windows)
def test_once_off_it_stays_off_and_records_nothing_more(emitted: list[int], below: float, window: int) -> None:
    rule = SpecFallback(below, window)
    at = fired_at(emitted, below, window)
    for count in emitted:
        rule.record(count)
    assert (rule.off, rule.fell_back_at) == (at is not None, at)
    assert rule.recorded == (len(emitted) if at is None else at)
    assert list(rule.window().window) == emitted[:at][-window:]


@given(counts, bars, windows)
def test_its_window_is_the_last_recorded_counts_oldest_first(emitted: list[int], below: float, window: int) -> None:
    rule = SpecFallback(0.0, window)
    for count in emitted:
        rule.record(count)
    shown = rule.window()
    assert list(shown.window) == emitted[-window:]
    assert shown.mean == (sum(shown.window) / len(shown.window) if emitted else None)
    assert not shown.off


@given(bars, windows, st.integers(0, 1000), st.sampled_from((0.0, 0.3, 0.7)))
def test_a_run_falls_back_where_its_recorded_rounds_say_and_drafts_nothing_after(
    below: float, window: int, seed: int, skill: float
) -> None:
    logits_of = tied_logits(9, seed)
    options = Options(max_tokens=30, k=3, fallback_below=below, fallback_window=window)
    result = run(ToyBase(9, logits_of), Wanderer(logits_of, 9, skill, seed), PROMPT, options)

    recorded = [r for r in result.rounds if r.drafted or r.reason == "zero-draft"]
    assert result.fell_back_at == fired_at([r.count for r in recorded], below, window)
    if result.fell_back_at is not None:
        behind = result.rounds[recorded[-1].index + 1 :]
        assert len(recorded) == result.fell_back_at
        assert {r.reason for r in behind} <= {"fallback"}
        assert [event.code for event in result.events] == ["fell-back"]
        assert result.events[0].round == recorded[-1].index


def test_a_drafter_that_lands_nothing_trips_it_too() -> None:
    logits_of = tied_logits(9, 5)
    nothing = Wanderer(logits_of, 9, 0.0, 0)
    options = Options(max_tokens=20, k=1, tau=1.0, fallback_below=1.5, fallback_window=3)
    result = run(ToyBase(9, logits_of), nothing, PROMPT, options)
    assert result.fell_back_at == 3
    assert [r.reason for r in result.rounds[:4]] == ["zero-draft", "zero-draft", "zero-draft", "fallback"]
