"""At which of the rounds that meet a condition to stop."""

import pytest

from engine.conditions import About, BadCondition, Lookout, Stop
from engine.records import Event
from tests.conditions.made import HEADER
from tests.tui.runs import drafted


@pytest.mark.parametrize(
    ("text", "shown", "stops"),
    [
        ("take == 0", "take == 0", [1, 2, 3, 4, 5, 6]),
        ("take == 0 hit 3", "take == 0 hit 3", [3]),
        (" take == 0 , every  2 ", "take == 0 every 2", [2, 4, 6]),
        ('text contains "x hit 3"', 'text contains "x hit 3"', [1, 2, 3, 4, 5, 6]),
    ],
)
def test_a_count_behind_the_condition_says_which(text: str, shown: str, stops: list[int]) -> None:
    stop = Stop(text)
    assert stop.text == shown
    assert [number for number in range(1, 7) if stop.stops(number)] == stops


@pytest.mark.parametrize(("text", "column"), [("take == 0 hit 0", 15), ("tke == 0 hit 3", 1), ("hit 3", 1)])
def test_a_count_that_makes_no_sense_is_refused(text: str, column: int) -> None:
    with pytest.raises(BadCondition) as refused:
        Stop(text)
    assert refused.value.column == column


def test_a_lookout_counts_hits_and_hears_what_is_said() -> None:
    lookout = Lookout(Stop("warning hit 2"), About(HEADER))
    said = (Event(round=1, level="warning"), Event(round=3, level="warning"))
    stopped = [lookout.stops_at(drafted(i, 1), said[: 1 + (i == 3)]) for i in range(4)]
    assert stopped == [False, False, False, True]
    assert lookout.hits == 2
