"""The guided tours: stops that the data gives, captions that cover nothing, and a way out at any time."""

import pytest
from rich.cells import cell_len

from engine.trace.reader import open_trace
from tests.tui.runs import live
from tests.tui.screens import Screen, running
from tests.tui.test_text import steers
from tui.marks import ASCII, UNICODE, Marks
from tui.series import Fact, Series
from tui.tours import Stop, Story, first_trace, stops

FALLBACK = stops(Story.FALLBACK)


def series_of(stop: Stop) -> Series:
    with open_trace(stop.trace) as trace:
        series = Series(trace)
        series.take_in(len(trace))
    return series


def test_the_stops_of_the_fallback_are_what_their_captions_say() -> None:
    series = series_of(FALLBACK[0])
    at = {stop.title: stop.at for stop in FALLBACK}

    assert series.facts.values[at["Drafting pays on code"]] & Fact.ALL
    assert series.facts.values[at["Prose begins"]] & Fact.NONE
    assert at["The flip"] == series.flip
    assert series.facts.values[at["Plain decode"]] & Fact.PLAIN
    assert at["The mean sinks"] == at["The flip"] - 1
    before, here = series.mean(at["The mean sinks"]), series.mean(at["The flip"])
    assert before is not None
    assert here is not None
    assert f"{before:.2f}" in next(stop.says for stop in FALLBACK if stop.title == "The mean sinks")
    assert f"{here:.2f}" in next(stop.says for stop in FALLBACK if stop.title == "The flip")
    assert FALLBACK[-1].asked is not None


def test_each_fault_of_the_tour_is_shown_where_the_audit_finds_it() -> None:
    found = stops(Story.FAULTS)

    assert len({stop.trace for stop in found}) == 3
    assert sum("rule A" in stop.title for stop in found) == 3
    assert found[0].trace == first_trace(Story.FAULTS)


async def on_tour(screen: Screen, title: str) -> None:
    for _ in range(200):
        await screen.settle()
        if title in screen.text:
            return
    pytest.fail(f"{title!r} does not come:\n{screen.text}")


@pytest.mark.parametrize("marks", [UNICODE, ASCII], ids=["unicode", "ascii"])
@pytest.mark.parametrize("size", [(120, 40), (80, 24)])
async def test_a_tour_goes_from_stop_to_stop_and_its_words_cover_nothing(size: tuple[int, int], marks: Marks) -> None:
    async with running(live(), size, marks) as screen:
        await screen.press("D")
        for number, stop in enumerate(FALLBACK, 1):
            await on_tour(screen, f"{number}/{len(FALLBACK)}  {stop.title}")
            assert screen.session.moment.index == stop.at
            assert (screen.main.active, screen.session.whatif is not None) == (stop.pane, stop.asked is not None)
            words = " ".join(screen.text.split())
            assert " ".join(stop.says.split()) in words or marks is ASCII
            assert [cell_len(line) for line in screen.lines] == [size[0]] * size[1]
            assert not any(steers(line) for line in screen.lines)
            await screen.press("n")
        assert "the tour is over" in screen.lines[-2]
        before = screen.session.moment.index
        await screen.press("escape", "n")
        assert screen.session.moment.index == before + 1


async def test_p_goes_back_and_escape_leaves_for_free_stepping() -> None:
    async with running(live(), (80, 24)) as screen:
        await screen.press("D")
        await on_tour(screen, "A round")
        await screen.press("p", "n", "n", "p")
        await on_tour(screen, "2/7")
        await screen.press("s")
        assert screen.session.moment.index == FALLBACK[1].at + 1
        await screen.press("escape")
        assert "the tour is left" in screen.lines[-2]
        assert "2/7" not in screen.text
        await screen.press("n", "n")
        assert screen.session.moment.index == FALLBACK[1].at + 2


async def test_the_tour_of_the_faults_goes_through_three_recordings() -> None:
    found = stops(Story.FAULTS)
    async with running(live(), (100, 30)) as screen:
        await screen.press("D")
        await on_tour(screen, "A round")
        await screen.press("D")
        for stop in found:
            await on_tour(screen, stop.title)
            assert screen.session.source.header.run.get("fault") == stop.trace.stem
            assert screen.session.moment.index == stop.at
            await screen.press("n")
