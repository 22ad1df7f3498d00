"""What is known of all rounds at once."""

from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.fallback import SpecFallback
from engine.records import Event
from engine.stats import Stats
from engine.trace.reader import open_trace
from engine.trace.writer import TraceWriter
from tests.tui.runs import Listed, drafted, finished, live, plain, sunk
from tui.blocks import Blocks, spans, union
from tui.medians import EXACT, Medians
from tui.series import Fact, Series


@given(st.lists(st.integers(0, 255), min_size=1, max_size=400), st.data())
def test_a_span_of_blocks_is_the_span_of_its_values(values: list[int], data: st.DataObject) -> None:
    lowest: Blocks[int] = Blocks(min, [])
    flags: Blocks[int] = Blocks(union, bytearray())
    for value in values:
        lowest.append(value)
        flags.append(value)
    start = data.draw(st.integers(0, len(values) - 1))
    stop = data.draw(st.integers(start + 1, len(values)))

    assert lowest.over(start, stop) == min(values[start:stop])
    assert flags.over(start, stop) == union(values[start:stop])


def test_a_value_added_late_is_seen_in_every_span_that_holds_it() -> None:
    flags: Blocks[int] = Blocks(union, bytearray())
    for _ in range(200):
        flags.append(0)

    flags.add(70, 4)

    assert flags.over(0, 200) == flags.over(70, 71) == 4
    assert flags.over(0, 70) == 0


@given(st.integers(1, 500), st.integers(1, 100))
def test_spans_cover_everything_once_and_evenly(count: int, columns: int) -> None:
    parts = spans(count, columns)

    assert [i for start, stop in parts for i in range(start, stop)] == list(range(count))
    assert len(parts) == min(count, columns)
    assert max(b - a for a, b in parts) - min(b - a for a, b in parts) <= 1


@given(st.lists(st.integers(0, 7), min_size=1, max_size=60), st.integers(1, 5))
def test_the_mean_is_that_of_the_fallback_rule_where_the_trace_has_none(takes: list[int], window: int) -> None:
    rule = SpecFallback(0.0, window)
    series = Series(Listed([drafted(i, take, 7) for i, take in enumerate(takes)], window=window))
    series.take_in(len(takes))

    for i, take in enumerate(takes):
        rule.record(take + 1)
        assert series.mean(i) == pytest.approx(rule.window().mean)


def test_it_reads_no_more_than_it_is_allowed_to() -> None:
    series = Series(sunk())

    assert series.take_in(4) == 4
    assert not series.complete
    assert series.take_in(4) == 2
    assert series.complete


def test_the_flip_is_the_round_after_which_drafting_is_off() -> None:
    series = Series(sunk())
    series.take_in(6)

    assert series.flip == 3
    assert series.facts.values[3] & Fact.FLIP
    assert series.mean(4) is None


def test_a_flip_without_a_recorded_window_is_seen_in_the_first_plain_round() -> None:
    series = Series(Listed([drafted(0, 1), plain(1), plain(2)]))
    series.take_in(3)

    assert series.flip == 1


@pytest.mark.parametrize(
    ("round_", "fact"),
    [
        (drafted(0, 0), Fact.NONE),
        (drafted(0, 4), Fact.ALL),
        (drafted(0, 2, gap=(3.0, 2.0, 0.05, 9.0, 9.0)), Fact.TIE),
        (plain(0), Fact.PLAIN),
    ],
)
def test_remarkable_rounds_are_found(round_: object, fact: Fact) -> None:
    series = Series(Listed([round_]))  # type: ignore[list-item]
    series.take_in(1)

    assert series.facts.values[0] & fact


def test_a_near_tie_that_decided_nothing_is_none() -> None:
    series = Series(Listed([drafted(0, 2, gap=(3.0, 2.0, 1.0, 0.01, 0.01))]))
    series.take_in(1)

    assert not series.facts.values[0] & Fact.TIE


def test_a_message_is_an_event_even_when_it_is_read_before_its_round() -> None:
    event = Event(round=3, level="warning", message="odd")
    series = Series(Listed([drafted(i, 2) for i in range(5)], events=[event]))
    series.take_in(2)
    assert series.next_event(0) is None

    series.take_in(5)

    assert series.next_event(0) == 3
    assert series.previous_event(4) == 3


def test_a_round_that_took_three_times_the_median_of_its_kind_is_slow() -> None:
    rounds = [drafted(i, 2) for i in range(40)]
    rounds[3] = drafted(3, 2, ms={"verify": 90.0})
    rounds[30] = drafted(30, 2, ms={"draft": 1.0, "verify": 11.5})
    rounds[31] = plain(31, ms={"step": 90.0})
    series = Series(Listed(rounds))
    series.take_in(40)

    assert [i for i in range(40) if series.facts.values[i] & Fact.SLOW] == [30]
    assert series.next_event(0) == 30


def test_a_round_is_marked_before_it_is_read_or_after() -> None:
    series = Series(Listed([drafted(i, 2) for i in range(5)]))
    series.take_in(2)
    for index in (1, 3, 99):
        series.mark(index, Fact.FINDING)
    series.take_in(5)

    assert [i for i in range(5) if series.facts.values[i] & Fact.FINDING] == [1, 3]
    assert (series.next_event(1), series.previous_event(3)) == (3, 1)


def test_tokens_and_times_are_running_sums() -> None:
    series = Series(sunk())
    series.take_in(6)

    assert list(series.tokens) == [0, 4, 5, 6, 7, 8, 9]
    assert series.clock[-1] == 4 * 4.0 + 2 * 2.0
    assert series.round_of_token(4) == 1
    assert series.round_of_token(9) is None
    assert series.round_at(0.0045) == 1


def test_break_even_and_speed_up_are_those_of_the_engine() -> None:
    source = finished(live())
    series = Series(source)
    series.take_in(len(source))
    stats = Stats.of(source.round(i) for i in range(len(source)))
    assert source.end is not None

    assert series.break_even == stats.break_even(source.end.plain_ms) is not None
    assert series.speedup == stats.speedup(source.end.plain_ms)


@given(st.lists(st.floats(0, 100, width=32), min_size=1, max_size=50))
def test_a_median_of_few_samples_is_exact(values: list[float]) -> None:
    medians = Medians()
    for value in values:
        medians.add("x", value)
        medians.of("x")

    ordered = sorted(values)
    middle = ordered[(len(values) - 1) // 2 : len(values) // 2 + 1]
    assert medians.of("x") == sum(middle) / len(middle)
    assert medians.of("y") is None


def test_a_median_of_many_samples_lags_by_an_eighth_at_most() -> None:
    medians = Medians()
    for value in range(2 * EXACT):
        medians.add("x", float(value))
        median = medians.of("x")
        assert median is not None
        assert median >= value / 2 * 8 / 9 - 1


def test_of_a_file_only_some_keys_are_read_and_all_comes_out_the_same() -> None:
    path = Path(__file__).parents[2] / "recordings" / "flip.msgpack"
    with open_trace(path) as trace:
        rounds = [trace.round(i) for i in range(len(trace))]
        listed = Listed(rounds, window=trace.header.options["fallback_window"])
        part, whole = Series(trace), Series(listed)
        part.take_in(len(rounds))
        whole.take_in(len(rounds))

    assert part.damage is None
    assert (part.tokens, part.clock, part.flip, part.top) == (whole.tokens, whole.clock, whole.flip, whole.top)
    for column in ("counts", "facts", "low", "high"):
        assert getattr(part, column).values == getattr(whole, column).values
    assert part.break_even == whole.break_even
    assert part.drafted_ms.of("verify") == whole.drafted_ms.of("verify")


def test_what_was_not_read_yet_is_known_by_its_number_and_where_the_file_notes_it_by_its_tokens() -> None:
    path = Path(__file__).parents[2] / "recordings" / "flip.msgpack"
    with open_trace(path) as trace:
        series = Series(trace)
        series.take_in(10)
        assert series.total == len(trace)
        assert series.most(0, len(trace)) == max(trace.round(i).count for i in range(len(trace)))
    assert Series(Listed([drafted(0, 2)])).most(0, 1) is None


def test_a_file_that_breaks_is_taken_in_up_to_the_bad_round(tmp_path: Path) -> None:
    path = tmp_path / "broken.msgpack"
    source = Listed([drafted(i, 2) for i in range(9)])
    with TraceWriter(path) as writer:
        writer.write(source.header)
        for i in range(9):
            writer.write(source.round(i))
    good = msgspec.msgpack.encode(source.round(6))
    path.write_bytes(path.read_bytes().replace(good, good.replace(b"\xa4take\x02", b"\xa4take\xc2")))
    series = Series(open_trace(path))
    series.take_in(100)

    assert len(series) == series.total == 6
    assert "take" in str(series.damage)


def test_the_overview_is_made_anew_when_more_is_known() -> None:
    series = Series(Listed([drafted(i, i % 3) for i in range(200)]))
    series.take_in(100)
    assert [(most, facts & Fact.ALL) for *_, most, facts in series.overview(10)][4:6] == [(3, 0), (None, 0)]
    series.take_in(100)
    assert [stretch.most for stretch in series.overview(10)] == [3] * 10
    series.mark(150, Fact.FINDING)
    found = [stretch.start for stretch in series.overview(10) if stretch.facts & Fact.FINDING]
    assert found == [140]
    assert len(series.overview(20)) == 20
