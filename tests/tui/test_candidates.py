"""The candidates of both sides, and whether a wider draft would pay."""

from engine.ranks import Recall
from tests.tui.runs import Listed, drafted, plain
from tests.tui.screens import running
from tests.tui.test_panes import at, shown
from tests.tui.test_text import steers
from tui import candidates
from tui.lines import width_of
from tui.marks import ASCII, UNICODE

PIECES = {0: b" a", 1: b" b", 2: b" c", 3: b" d", 100: b"x"}


def chosen_second() -> Listed:
    """The base chooses " b", which is the drafter's second; then what the drafter does not have."""
    first = drafted(
        0,
        0,
        n=2,
        drafts=(0, 2),
        targets=(1, 3, 3),
        top=(((1, 9.0), (0, 8.0)), ((3, 7.0),), ((3, 6.0),)),
        draft_top=(((0, 5.0), (1, 4.5)), ((2, 5.0), (0, 1.0))),
        emitted=(100,),
        next=1,
    )
    second = drafted(1, 1, n=1, t1=1, drafts=(0,), targets=(0, 3), emitted=(1, 0), draft_top=(((0, 5.0), (2, 4.0)),))
    return Listed([first, second, plain(2)], pieces=PIECES)


def test_the_rank_of_the_bases_choice_stands_at_its_row() -> None:
    session = at(chosen_second(), 0)
    text = shown(candidates.lines_of(session, session.round(0), UNICODE, 110))

    assert text.splitlines()[:3] == [
        "✗ row 0 after x  drafted ␣a  rejected  the base's choice is its 2nd",
        "   base    →␣b 9.0  ␣a 8.0",
        "   drafter ␣a 5.0  →␣b 4.5",
    ]
    assert "· row 1 after ␣a  drafted ␣c  unjudged" in text
    assert "row 2 after ␣c  nothing was drafted here" in text


def test_what_a_wider_draft_could_have_reached_is_said() -> None:
    session = at(chosen_second(), 0)
    found = Recall()
    for index in range(3):
        found.add(session.round(index))

    text = " ".join(shown(candidates.summary(found, 3, 3, 70)).split())
    assert "Of 2 judged drafts, the base's choice was among the drafter's first 50% best 2 100%" in text
    assert "(33% of the run so far)" in shown(candidates.summary(found, 1, 3, 200))
    assert candidates.summary(Recall(), 3, 3, 70) == []


def test_shares_are_added_up_round_by_round() -> None:
    found = Recall()
    for index in range(3):
        found.add(chosen_second().round(index))

    assert (found.judged, found.widest) == (2, 2)
    assert found.shares(3) == (0.5, 1.0, 1.0)
    assert Recall().shares(3) is None


def test_lines_fit_and_hold_nothing_that_steers() -> None:
    source = chosen_second()
    source = Listed([source.round(0)], pieces={**PIECES, 1: b"\x1b[2J\xe2\x80\xae", 100: "日本".encode() * 9})
    session = at(source, 0)
    for marks in (UNICODE, ASCII):
        for line in candidates.lines_of(session, session.round(0), marks, 60):
            assert not any(steers(span.text) for span in line)
        assert all(width_of(line) <= 60 for line in candidates.summary(Recall(), 1, 1, 60))


async def test_d_shows_the_candidates_and_n_goes_on_in_them() -> None:
    async with running(chosen_second(), (80, 24)) as screen:
        await screen.press("d")
        assert "candidates of round 0" in screen.lines[0]
        await screen.until(lambda: "Would a wider draft pay?" in screen.text)
        assert "the base's choice is its 2nd" in screen.text

        await screen.press("n")
        assert "candidates of round 1" in screen.lines[0]
        assert screen.session.moment.index == 1
        await screen.press("n")
        assert "specstep record --candidates 5" in screen.text
        await screen.press("escape")
        assert "round 2/2" in screen.lines[0]


def test_more_rows_than_drafts_are_not_shown() -> None:
    session = at(Listed([drafted(0, 1, n=2, verified=2**60)]), 0)
    assert len(candidates.lines_of(session, session.round(0), UNICODE, 110)) < 20
