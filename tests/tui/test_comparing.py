"""Comparing two runs on the screen: the walk over differences without it, and the keys."""

from pathlib import Path

import pytest

from engine.errors import TraceError
from engine.records import Round
from engine.trace.reader import open_trace
from tests.compare.texts import Listed, written
from tests.tui.runs import live
from tests.tui.screens import Screen, running
from tui.comparing import Comparing, Difference, What
from tui.marks import ASCII, UNICODE
from tui.offers import RECORDINGS, name_of, offers
from tui.panes.sides import beside, told

FAULTS = RECORDINGS / "faults"
TEXT = [5, 6, 7, 8, 9, 10, 11, 12]


def compared(left: list[Round], right: list[Round]) -> Comparing:
    made = Comparing(Listed(left), Listed(right), ("mine", "theirs"))
    while not made.done:
        made.go_on(1)
    return made


def lines(comparing: Comparing, index: int, width: int = 78, *, ascii_only: bool = False) -> list[str]:
    marks = ASCII if ascii_only else UNICODE
    shown = beside(comparing, comparing.difference(index), marks, width)
    return ["".join(span.text for span in line) for line in shown]


def test_differences_come_in_the_order_of_the_text_and_the_parting_is_looked_at_first() -> None:
    left, right = written(TEXT, [0]), written([5, 6, 7, 80, 9, 10, 11], [0], wrong=77)
    made = compared(left, right)
    found = [made.difference(i) for i in range(len(made))]
    assert [(each.what, each.token) for each in found] == [
        (What.DRAFTS, 0),
        (What.DRAFTS, 1),
        (What.DRAFTS, 2),
        (What.TEXT, 3),
        (What.LENGTH, 7),
    ]
    assert made.first == 3
    # Token 3 is carried out of round 2 on both sides.
    assert found[3] == Difference(What.TEXT, 3, 2, 2)
    assert found[4] == Difference(What.LENGTH, 7, 6, None)


def test_equal_runs_have_no_difference_and_say_so() -> None:
    made = compared(written(TEXT, [1]), written(TEXT, [1]))
    assert (len(made), made.verdict()) == (0, "EQUAL: the same 8 tokens")


def test_while_it_is_read_it_says_what_is_known_so_far() -> None:
    made = Comparing(Listed(written(TEXT, [0])), Listed(written([5, 60, 7], [0])), ("mine", "theirs"))
    made.go_on(2)
    assert made.verdict() == "reading, 18%: equal so far"
    made.go_on(2)
    assert made.verdict().endswith("different from token 1 on")


def test_a_side_that_cannot_be_read_is_said_and_ends_it() -> None:
    class Broken(Listed):
        def round(self, index: int) -> Round:
            if index == 2:
                raise TraceError("the round record at byte 99 cannot be read")
            return super().round(index)

    made = Comparing(Broken(written(TEXT, [0])), Listed(written(TEXT, [0])), ("mine", "theirs"))
    made.go_on(100)
    assert made.done
    assert made.verdict() == "not readable to the end: the round record at byte 99 cannot be read"


@pytest.mark.parametrize("width", [60, 78, 118])
@pytest.mark.parametrize("ascii_only", [False, True])
def test_both_rounds_stand_side_by_side_in_any_width(width: int, ascii_only: bool) -> None:
    made = compared(written(TEXT, [2]), written([5, 6, 70, 8, 9], [1]))
    for index in range(len(made)):
        shown = lines(made, index, width, ascii_only=ascii_only)
        assert all(len(line) <= width for line in shown)
        assert shown[0].startswith("A mine")
        assert "B theirs" in shown[0]
        marks = ASCII if ascii_only else UNICODE
        assert sum(len(span.text) for span in told(made, made.difference(index), marks, width)) <= width


def test_the_end_of_a_text_is_no_round() -> None:
    made = compared(written(TEXT, [0]), written(TEXT[:3], [0]))
    assert "no round: the text had ended" in "\n".join(lines(made, len(made) - 1))


def test_a_trace_is_offered_what_stands_beside_it_its_twin_first(tmp_path: Path) -> None:
    with open_trace(FAULTS / "near-tie.msgpack") as trace:
        found = offers(trace)
        assert name_of(trace) == "near-tie"
    assert found[0].title == "near-tie.plain"
    assert "near-tie" not in [offer.title for offer in found]
    assert "flip" in [offer.title for offer in found]


def test_branches_are_offered_before_files() -> None:
    source = live()
    source.append(source.make() or pytest.fail("no round"))
    branch = source.fork(1)
    assert [offer.source for offer in offers(branch)][:1] == [source]
    assert offers(branch)[0].about == "the first of this run, 1 round"
    assert offers(source)[0].about == "off main at round 1, 1 round"


async def shown(screen: Screen, words: str) -> None:
    """Until the reading in the background has come so far."""
    await screen.until(lambda: words in screen.text)


@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
async def test_the_key_offers_compares_and_goes_to_a_round(size: tuple[int, int]) -> None:
    async with running(open_trace(FAULTS / "near-tie.msgpack"), size) as screen:
        await screen.press("equals_sign", "enter")
        await shown(screen, "a near-tie, not a defect")
        assert "round 6  one-pass" in screen.text
        assert "round 24  plain" in screen.text
        assert "token 25" in screen.text
        await screen.press("c")
        assert "tokens a round" in screen.text
        assert "3.43" in screen.text
        await screen.press("c", "enter")
        assert screen.session.moment.index == 6


async def test_n_walks_over_differences_of_drafts_where_the_text_is_equal() -> None:
    async with running(open_trace(FAULTS / "hidden-stale.msgpack"), (120, 40)) as screen:
        await screen.press("equals_sign", "enter")
        await shown(screen, "EQUAL: the same 120 tokens")
        assert "round 1  one-pass" in screen.text
        await screen.press("n")
        assert "round 4  one-pass" in screen.text
        await screen.press("p", "escape")
        assert screen.app.screen is screen.main


async def test_a_file_can_be_typed_and_one_that_is_none_is_said(tmp_path: Path) -> None:
    bad = tmp_path / "bad.msgpack"
    bad.write_bytes(b"nothing")
    async with running(open_trace(FAULTS / "near-tie.msgpack"), (80, 24)) as screen:
        await screen.press("equals_sign", "end", "enter")
        screen.app.screen.query_one("Input").value = str(bad)  # type: ignore[attr-defined]
        await screen.press("enter")
        await shown(screen, "not a trace")


async def test_branches_are_listed_shown_renamed_and_compared() -> None:
    source = live()
    async with running(source, (120, 40)) as screen:
        await screen.press(*"nnnn", "o", *"k=2", "enter")
        await screen.press(*"nnn")
        branch = screen.session.source
        assert [each.name for each in source.branches] == ["main", "fork1"]
        await screen.press("L")
        assert "scripted k 2 bar 2   off main at round 4, 7 rounds, goes on" in screen.text
        await screen.press("r", *["backspace"] * 5, *"short", "enter")
        assert [each.name for each in source.branches] == ["main", "short"]
        assert branch.header.run["branch"] == "short"
        await screen.press("L", "home", "enter")
        assert screen.session.source is source
        assert "this is main" in screen.text
        await screen.press("equals_sign")
        assert "short" in screen.text
        await screen.press("enter")
        await shown(screen, "DIFFERENT IN LENGTH")


async def test_two_branches_never_have_one_name() -> None:
    source = live()
    async with running(source) as screen:
        await screen.press("n", "o", *"k=2", "enter", "L", "r", *["backspace"] * 5, *"main", "enter")
        assert "no other branch has" in screen.text
        await screen.press("escape", "L", "escape")
        assert [each.name for each in source.branches] == ["main", "fork1"]


async def test_a_recording_has_no_branches() -> None:
    async with running(open_trace(FAULTS / "near-tie.msgpack"), (80, 24)) as screen:
        await screen.press("L")
        assert "only a live run has branches" in screen.text
