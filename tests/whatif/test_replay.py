"""Another bar and window over recorded rounds: exact up to the recorded flip, and honest behind it."""

import math
from pathlib import Path

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from engine.errors import Refused
from engine.fallback import SpecFallback
from engine.stats import Stats
from engine.trace.audit import audit
from engine.trace.reader import open_trace
from engine.whatif import Kind, bars_for, rule_of, windows_for
from engine.whatif.replay import NEVER, UNKNOWN, Replay
from tests.whatif.made import DRAFTED_MS, PLAIN_MS, milliseconds, observed, plain, replay, run

ROOT = Path(__file__).parents[2]
TRACES = sorted([*ROOT.glob("recordings/**/*.msgpack"), *ROOT.glob("tests/vectors/traces/*.msgpack")])
counts = st.lists(st.integers(1, 6), max_size=40)
bars = st.sampled_from((0.0, 1.0, 1.5, 2.0, 2.5, 3.0, 3.3, 8.0))
windows = st.integers(1, 7)


def test_by_hand_an_earlier_flip_is_exact_in_rounds_and_time() -> None:
    # 4 4 1 1 1 1 4 4 and no bar: 8 rounds, 20 tokens, 48 ms. Over 4 rounds against 2.5 it fires after round 4 (1.75).
    asked = replay(run([4, 4, 1, 1, 1, 1, 4, 4])).ask(2.5, 4)
    assert (asked.kind, asked.flip, asked.fell_back_at, asked.mean) == (Kind.FLIPS, 4, 5, 1.75)
    # 11 tokens by then; the 9 others a round each.
    assert (asked.recorded_rounds, asked.rounds) == (8, 5 + 9)
    # Three rounds of 6 ms are saved, nine steps of 2 ms are paid.
    assert asked.saved_ms is not None
    assert asked.saved_ms == pytest.approx(3 * DRAFTED_MS - 9 * PLAIN_MS)
    assert asked.ms == pytest.approx(8 * (DRAFTED_MS + 0.5) - asked.saved_ms)


def test_by_hand_a_later_flip_is_unknown_and_has_bounds() -> None:
    # Against 2.5 over 4 the run went plain after round 4, with 9 tokens to go; nobody knows what 1.5 would have met.
    asked = replay(run([4, 4, 1, 1, 1, 1, 4, 4], 2.5, 4)).ask(1.5, 4, k=3)
    assert (asked.kind, asked.flip, asked.rounds, asked.saved_ms) == (Kind.UNKNOWN, None, None, None)
    # Between three rounds of 4 tokens (the last short) and nine of one, behind the five that were drafted.
    assert (asked.fewest, asked.most, asked.recorded_rounds, asked.recorded_flip) == (5 + 3, 5 + 9, 14, 4)
    assert replay(run([4, 4, 1, 1, 1, 1, 4, 4], 2.5, 4)).ask(1.5, 4).fewest == 5 + 1


def test_by_hand_the_recorded_flip_is_the_same_run() -> None:
    asked = replay(run([1, 1, 3, 5], 2.0, 3)).ask(1.7, 3)
    assert (asked.kind, asked.flip, asked.rounds, asked.saved_ms) == (Kind.SAME, 2, 8, 0.0)


def test_by_hand_a_bar_that_is_never_under_run_leaves_the_run_as_it_is() -> None:
    asked = replay(run([2] * 9)).ask(2.0, 3)
    assert (asked.kind, asked.rounds, asked.saved_ms) == (Kind.NEVER, 9, 0.0)


def test_a_zero_draft_round_counts_and_plain_rounds_of_other_reasons_do_not() -> None:
    rounds = [plain(0, "zero-draft"), plain(1, "zero-draft"), plain(2, "budget"), plain(3, "stop")]
    assert replay(rounds).ask(2.0, 3).kind is Kind.NEVER
    assert replay(rounds).ask(2.0, 2).flip == 1


def test_without_times_there_is_no_time_estimate() -> None:
    asked = replay(run([1, 1, 1, 1]), plain_ms=None).ask(2.0, 1)
    assert (asked.flip, asked.saved_ms, asked.tokens_per_second) == (0, None, None)
    untimed = [*run([1, 1]), plain(2, "budget")]
    untimed[-1] = type(untimed[-1])(index=2, form="plain", reason="budget", n_emitted=1)
    assert replay(untimed).ask(2.0, 1).saved_ms is None


def test_no_rounds_at_all_never_flip() -> None:
    asked = replay([]).ask(3.0, 3)
    assert (asked.kind, asked.rounds, asked.tokens_per_second) == (Kind.NEVER, 0, None)


@pytest.mark.parametrize(("bar", "window"), [(-1.0, 3), (math.nan, 3), (math.inf, 3), (2.0, 0)])
def test_a_rule_that_no_run_can_have_is_refused(bar: float, window: int) -> None:
    with pytest.raises(Refused):
        replay(run([1, 2])).ask(bar, window)
    with pytest.raises(Refused):
        replay(run([1, 2])).sweep([bar], [window])


@given(st.lists(st.integers(1, 6), min_size=1, max_size=40), bars, windows)
def test_on_a_run_without_a_bar_it_fires_where_the_rule_does_and_the_run_is_what_that_rule_makes(
    emitted: list[int], bar: float, window: int
) -> None:
    recorded, other = run(emitted), run(emitted, bar, window)
    rule = SpecFallback(bar, window)
    fired = next((i for i, count in enumerate(emitted) if rule.record(count)), None)
    asked = replay(recorded).ask(bar, window)
    assert (asked.flip, asked.rounds) == (fired, len(other))
    assert asked.saved_ms == pytest.approx(milliseconds(recorded) - milliseconds(other), abs=1e-3)


@given(counts, bars, windows, bars, windows)
def test_what_is_known_is_true_and_bounds_hold(
    emitted: list[int], below: float, size: int, bar: float, window: int
) -> None:
    asked = replay(run(emitted, below, size)).ask(bar, window, k=5)
    truth = run(emitted, bar, window)
    assert asked.fewest <= len(truth) <= asked.most
    if asked.kind is not Kind.UNKNOWN:
        assert asked.rounds == len(truth)
        flips = [round_.index for round_ in truth if round_.form != "plain"]
        if asked.flip is not None:
            assert asked.flip == flips[-1]


@given(counts, bars, windows)
def test_the_recorded_rule_gives_the_recorded_flip(emitted: list[int], bar: float, window: int) -> None:
    asked = replay(run(emitted, bar, window)).ask(bar, window)
    assert asked.flip == asked.recorded_flip or asked.recorded_flip is None
    assert asked.rounds == asked.recorded_rounds


@given(counts, bars, windows, st.lists(bars, min_size=1, max_size=4), st.lists(windows, min_size=1, max_size=4))
def test_a_sweep_agrees_with_single_replays(
    emitted: list[int], below: float, size: int, some: list[float], sizes: list[int]
) -> None:
    asking = replay(run(emitted, below, size))
    grid = asking.sweep(some, sizes)
    for i, window in enumerate(sizes):
        for j, bar in enumerate(some):
            one = asking.ask(bar, window)
            expected = {Kind.NEVER: NEVER, Kind.UNKNOWN: UNKNOWN}.get(one.kind, one.flip)
            assert grid.flips[i, j] == expected
            speed = math.nan if one.tokens_per_second is None else one.tokens_per_second
            assert grid.tokens_per_second[i, j] == pytest.approx(speed, nan_ok=True)


@given(counts, windows)
def test_a_higher_bar_never_flips_later(emitted: list[int], window: int) -> None:
    flips = [
        float(flip) if flip >= 0 else math.inf for flip in replay(run(emitted)).sweep((1.5, 2, 3, 8), [window]).flips[0]
    ]
    assert flips == sorted(flips, reverse=True)


@given(st.lists(st.integers(1, 6), min_size=6, max_size=30), bars)
def test_time_is_saved_exactly_where_the_rounds_behind_the_flip_are_under_the_break_even(
    emitted: list[int], bar: float
) -> None:
    asked = replay(run(emitted)).ask(bar, 2)
    assume(asked.flip is not None and asked.flip + 1 < len(emitted))
    assert asked.flip is not None
    assert asked.saved_ms is not None
    behind = emitted[asked.flip + 1 :]
    even = DRAFTED_MS / PLAIN_MS
    assert asked.saved_ms == pytest.approx((even - sum(behind) / len(behind)) * PLAIN_MS * len(behind), abs=1e-3)


@pytest.mark.parametrize("path", TRACES, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_the_recorded_bar_reproduces_the_flip_of_every_recording_that_the_audit_agrees_with(path: Path) -> None:
    with open_trace(path, salvage=True) as trace:
        rounds = [trace.round(index) for index in range(len(trace))]
        broken = any(finding.rule in ("A9", "A10") for finding in audit(trace.records()))
        rule = rule_of(trace.header.options)
        end = trace.end
        asked = Replay(observed(rounds), Stats.of(rounds).plain_ms(), end).ask(*rule)
    recorded = None if end is None else end.fell_back_at
    if not broken:
        assert asked.kind is not Kind.UNKNOWN
        assert asked.fell_back_at == recorded
        assert asked.flip == asked.recorded_flip
        assert asked.rounds == len(rounds)
    elif recorded is not None:
        assert asked.kind in (Kind.UNKNOWN, Kind.SAME, Kind.FLIPS)


def test_the_axes_of_a_sweep_hold_what_was_wanted_and_fit_the_run() -> None:
    assert bars_for(4) == (1.5, 2.0, 2.5, 3.0, 3.5, 4.0)
    assert bars_for(6, (0.0, None, 2.57, 2.0)) == (1.5, 2.0, 2.5, 2.57, 3.0, 3.5, 4.0, 4.5, 5.0, 5.5, 6.0)
    assert len(bars_for(100)) <= 10
    assert bars_for(1) == (1.5,)
    assert [bars_for(8, most=most)[:2] for most in (0, 1, 2, 3)] == [(1.5, 8.0)] * 3 + [(1.5, 5.0)]
    assert windows_for(5, (3, 40)) == (1, 2, 3, 4, 40)
    assert windows_for(0) == (1,)
