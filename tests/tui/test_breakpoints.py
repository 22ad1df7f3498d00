"""Breakpoints without a screen: which rounds they stop at, forward and backward, as far as it is known."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.conditions import BadCondition
from tests.tui.runs import Listed, drafted
from tui.breakpoints import Breakpoints

TAKES = (3, 0, 1, 0, 0, 2, 0)


def over(takes: tuple[int, ...] | list[int], *texts: str, looked: bool = True) -> Breakpoints:
    breakpoints = Breakpoints()
    breakpoints.look_at(Listed([drafted(i, take) for i, take in enumerate(takes)]))
    for text in texts:
        breakpoints.add(text)
    while looked and breakpoints.go_on():
        pass
    return breakpoints


def told(breakpoints: Breakpoints, index: int, direction: int, **how: bool) -> str:
    look = breakpoints.ahead if direction > 0 else breakpoints.behind
    hit, known = look(index, **how)
    assert known
    return "none" if hit is None else f"{hit.round} {hit}"


def test_the_nearest_hit_of_all_that_count_is_told_with_its_number() -> None:
    breakpoints = over(TAKES, "take == 0", "take == 2")
    assert told(breakpoints, -1, 1) == "1 breakpoint 1: take == 0, hit 1"
    assert told(breakpoints, 4, 1) == "5 breakpoint 2: take == 2, hit 1"
    assert told(breakpoints, 6, 1) == "none"
    assert told(breakpoints, 5, -1) == "4 breakpoint 1: take == 0, hit 3"
    assert told(breakpoints, 1, -1) == "none"
    breakpoints.all[0].enabled = False
    assert told(breakpoints, -1, 1) == "5 breakpoint 2: take == 2, hit 1"
    assert [str(hit) for hit in breakpoints.at(4)] == []


@given(
    st.lists(st.integers(0, 1), min_size=1, max_size=40),
    st.sampled_from(("", " hit 1", " hit 3", " every 2", " every 3")),
    st.integers(-1, 40),
)
def test_counted_hits_are_those_that_a_walk_over_all_rounds_stops_at(takes: list[int], count: str, at: int) -> None:
    breakpoints = over(takes, f"take == 0{count}")
    (each,) = breakpoints.all
    zeros = [i for i, take in enumerate(takes) if take == 0]
    stops = [index for number, index in enumerate(zeros, 1) if each.stop.stops(number)]

    ahead, behind = breakpoints.ahead(at).hit, breakpoints.behind(at).hit
    assert (None if ahead is None else ahead.round) == next((i for i in stops if i > at), None)
    assert (None if behind is None else behind.round) == next((i for i in reversed(stops) if i < at), None)
    assert [i for i in range(len(takes)) if breakpoints.stop_at(i)] == stops
    every = breakpoints.ahead(at, counted=False).hit
    assert (None if every is None else every.round) == next((i for i in zeros if i > at), None)


def test_a_hit_is_not_known_before_the_rounds_in_between_were_looked_at() -> None:
    breakpoints = over([1] * 3000 + [0] * 3000, "take == 0", "round == 2500", looked=False)
    assert breakpoints.ahead(-1) == (None, False)
    breakpoints.all[0].go_on(4000)
    hit, known = breakpoints.ahead(-1)
    assert hit is not None
    assert (hit.round, known) == (3000, False)
    assert not breakpoints.behind(6000).known
    while breakpoints.go_on():
        pass
    assert told(breakpoints, -1, 1).startswith("2500 ")
    assert breakpoints.complete


def test_another_source_and_another_condition_are_looked_at_from_the_start() -> None:
    breakpoints = over(TAKES, "take == 0")
    (each,) = breakpoints.all
    assert each.hits == 4
    breakpoints.look_at(Listed([drafted(0, 0)]))
    assert (each.hits, each.complete) == (0, False)
    breakpoints.go_on()
    assert each.hits == 1


def test_what_is_removed_stops_nothing_and_its_number_is_not_used_again() -> None:
    breakpoints = over(TAKES, "take == 0", "round == 2")
    breakpoints.remove(breakpoints.all[1])
    added = breakpoints.add("round == 3")
    assert added.number == 3
    assert breakpoints.of("round == 2") is None


@pytest.mark.parametrize(
    ("texts", "until"),
    [
        ((), "end"),
        (("take == 0 hit 3",), "(take == 0)"),
        (("take == 0", "flip"), "(take == 0) or (flip)"),
        (("take == 0 or " * 70 + "flip",) * 2, None),
    ],
)
def test_an_engine_is_told_one_condition_for_all(texts: tuple[str, ...], until: str | None) -> None:
    assert over(TAKES, *texts).until() == until


def test_a_wrong_condition_makes_no_breakpoint() -> None:
    breakpoints = over(TAKES)
    with pytest.raises(BadCondition):
        breakpoints.add("tke == 0")
    assert breakpoints.all == []
