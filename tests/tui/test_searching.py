"""The search of the screen: where it goes, what it says, and how it is left."""

from pathlib import Path

import recordings
from engine.trace.reader import open_trace
from tests.tui.runs import Listed, drafted, live
from tests.tui.screens import Screen, running
from tests.tui.test_panes import at, role_of, shown
from tui.marks import UNICODE, Role
from tui.moment import Phase
from tui.panes import text
from tui.search import Search, query

FLIP = Path(recordings.__file__).parent / "flip.msgpack"
WORDS = {0: b"one", 1: b" two", 2: b" three", 3: b" four", 4: b" five"}


def counting() -> Listed:
    """Rounds that emit "one two", " three", " four five", over and over; the last draft is rejected."""
    rounds = []
    for i in range(0, 9, 3):
        rounds += [
            drafted(i, 1, t1=0, drafts=(1, 4), targets=(1, 2, 2), emitted=(0, 1), next=2),
            drafted(i + 1, 0, t1=2, drafts=(4,), targets=(3, 3), emitted=(2,), next=3),
            drafted(i + 2, 1, t1=3, drafts=(4, 1), targets=(4, 0, 0), emitted=(3, 4), next=0),
        ]
    return Listed(rounds, pieces=WORDS)


async def look_for(screen: Screen, words: str) -> None:
    await screen.press("slash", *("space" if c == " " else "tilde" if c == "~" else c for c in words), "enter")
    await screen.until(lambda: screen.main.features["search"]._looking is None)  # type: ignore[attr-defined]


async def test_it_goes_to_the_round_that_completes_the_text_and_around_the_end() -> None:
    async with running(counting(), (120, 40)) as screen:
        await screen.press("n")
        await look_for(screen, "o three f")
        assert screen.session.moment.index == 2
        assert "match 1 of 3 of 'o three f'" in screen.lines[-2]

        await screen.press(".")
        assert screen.session.moment.index == 5
        await screen.press("2", ".")
        assert screen.session.moment.index == 2
        assert "from the start again: match 1 of 3" in screen.lines[-2]
        await screen.press(",")
        assert screen.session.moment.index == 8
        assert "from the end again: match 3 of 3" in screen.lines[-2]
        await screen.press("p", "p", ",")
        assert screen.session.moment.index == 5

        await screen.press("escape")
        assert screen.session.search is None
        await screen.press(".")
        assert "/ asks for a text" in screen.lines[-2]


async def test_what_is_not_there_is_said_and_where_it_was_not_looked_for() -> None:
    async with running(counting(), (120, 40)) as screen:
        await look_for(screen, "two five")
        assert "no matches of 'two five'; rejected drafts were not searched" in screen.lines[-2]

        await look_for(screen, "~two five")
        assert "match 1 of 3 of 'two five'" in screen.lines[-2]
        assert screen.session.moment.index == 0

        await look_for(screen, "~six")
        assert "what the run emitted was not searched" in screen.lines[-2]


async def test_a_trace_is_searched_from_its_file() -> None:
    with open_trace(FLIP) as trace:
        async with running(trace, (100, 30)) as screen:
            await look_for(screen, "the")
            search = screen.session.search
            assert search is not None
            assert search.rounds == len(trace)
            direct = Search(query("the"), trace.piece)
            direct.feed([trace.round(index) for index in range(len(trace))])
            assert list(search.matches) == list(direct.matches) != []
            assert screen.session.moment.index == search.matches[0].round


async def test_rounds_that_a_live_run_makes_are_searched_as_they_come() -> None:
    async with running(live(), (100, 30)) as screen:
        await look_for(screen, "mean")
        await screen.press("8", "n")
        assert screen.session.search is not None
        assert screen.session.search.rounds == 8
        assert screen.session.search.matches


def test_matches_are_shown_reversed_in_the_text() -> None:
    session = at(counting(), 4)
    session.search = Search(query("two three"), session.source.piece)
    session.search.feed([session.round(index) for index in range(9)])
    session.search.chosen = 1
    lines = text.paint(session, UNICODE, 60, 5)

    assert shown(lines) == "one two three four fiveone two→ three✗ five→ four"
    assert role_of(lines, " two three") is Role.MATCH
    assert [span.text for line in lines for span in line if span.role is Role.MATCH] == [" two three", " two", " three"]
    assert text.note(session, UNICODE) == "reversed: 3 matches of 'two three', at 2"


def test_a_match_among_drafts_is_shown_at_its_round_only() -> None:
    session = at(counting(), 3)
    session.search = Search(query("~two five"), session.source.piece)
    session.search.feed([session.round(index) for index in range(9)])

    lines = text.paint(session, UNICODE, 60, 5)
    assert [span.text for line in lines for span in line if span.role is Role.MATCH] == [" two", " five"]
    session.moment = at(counting(), 3, Phase.DRAFT).moment
    assert not any(span.role is Role.MATCH for line in text.paint(session, UNICODE, 60, 5) for span in line)
