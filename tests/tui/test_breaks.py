"""Breakpoints at the keys."""

from tests.tui.runs import Listed, drafted, live
from tests.tui.screens import running
from tui.screens.breaks import BreaksScreen
from tui.screens.condition import ConditionPrompt

TAKES = (3, 0, 1, 0, 0, 2, 0)


def listed(*takes: int) -> Listed:
    return Listed([drafted(i, take) for i, take in enumerate(takes or TAKES)])


async def test_a_condition_is_typed_run_to_and_run_back_to() -> None:
    async with running(listed()) as screen:
        await screen.press("b", *"take == 0", "enter")
        assert "breakpoint 1: take == 0" in screen.lines[-2]
        for expected, number in ((1, 1), (3, 2), (4, 3)):
            await screen.press("c")
            assert screen.session.moment.index == expected
            assert f"paused  breakpoint 1: take == 0, hit {number}" in screen.text
        await screen.press("C")
        assert screen.session.moment.index == 3
        assert "● breakpoint 1: take == 0, hit 2 of 4" in screen.text
        await screen.press("n", "c", "c", "c")
        assert screen.session.moment.index == 6
        assert "end of the rounds: no breakpoint was hit" in screen.text
        await screen.press("C", "C", "C", "C")
        assert screen.session.moment.index == 0
        assert "start of the rounds: no breakpoint was hit" in screen.text


async def test_the_timeline_marks_every_hit() -> None:
    async with running(listed()) as screen:
        await screen.press("b", *"take == 0", "enter")
        assert any(line.count("●") == 4 for line in screen.lines)


async def test_the_round_here_and_one_by_its_number() -> None:
    async with running(listed()) as screen:
        await screen.press("n", "n", "b", "enter", "5", "b", "p", "p", "c")
        assert screen.session.moment.index == 2
        assert [each.stop.text for each in screen.session.breakpoints.all] == ["round == 2", "round == 5"]
        await screen.press("c")
        assert screen.session.moment.index == 5
        await screen.press("5", "b")
        assert [each.stop.text for each in screen.session.breakpoints.all] == ["round == 2"]


async def test_a_wrong_condition_keeps_the_prompt_and_shows_the_place() -> None:
    async with running(listed()) as screen:
        await screen.press("b", *"pos > 1 and tke == 0", "enter")
        assert isinstance(screen.app.screen, ConditionPrompt)
        assert "! unknown name tke: did you mean take? (column 13)" in screen.text
        typed = next(line for line in screen.lines if "pos > 1 and tke" in line)
        under = screen.lines[screen.lines.index(typed) + 1]
        assert under.index("^") == typed.index("tke")
        await screen.press("escape")
        assert screen.session.breakpoints.all == []


async def test_names_are_offered_and_tab_takes_the_first() -> None:
    async with running(listed()) as screen:
        await screen.press("b", *"ta")
        assert "tab: take  target_p" in screen.text or "tab: take" in screen.text
        await screen.press("tab", *"== 2", "enter")
        assert [each.stop.text for each in screen.session.breakpoints.all] == ["take == 2"]


async def test_hits_are_walked_over_though_only_some_are_stopped_at() -> None:
    async with running(listed()) as screen:
        await screen.press("b", *"take == 0 hit 3", "enter", "c")
        assert screen.session.moment.index == 4
        await screen.press("f7")
        assert screen.session.moment.index == 3
        await screen.press("2", "f8")
        assert screen.session.moment.index == 6
        await screen.press("f8")
        assert screen.session.moment.index == 6
        assert "no hit on this side of the round" in screen.text


async def test_the_list_switches_edits_deletes_and_goes() -> None:
    async with running(listed()) as screen:
        await screen.press("B")
        assert "No breakpoint yet" in screen.text
        await screen.press("b", *"take == 0", "enter", "b", *"take == 2", "enter")
        listing = screen.app.screen
        assert isinstance(listing, BreaksScreen)
        assert any("1 " in line and "4" in line and "take == 0" in line for line in screen.lines)
        await screen.press("up", "space")
        assert "take == 0  off" in screen.text
        await screen.press("down", "e", *([*["backspace"] * 1, "1"]), "enter")
        assert "take == 1" in screen.text
        await screen.until(lambda: screen.session.breakpoints.complete)
        await screen.press("enter")
        assert screen.session.moment.index == 2
        await screen.press("B", "d")
        assert [each.stop.text for each in screen.session.breakpoints.all] == ["take == 1"]


async def test_playing_stops_at_a_breakpoint() -> None:
    async with running(listed()) as screen:
        await screen.press("b", *"round == 2", "enter", "+", "+", "+", "+", "space")
        await screen.until(lambda: not screen.session.playing)
        assert screen.session.moment.index == 2
        assert "breakpoint 1: round == 2, hit 1" in screen.text


async def test_a_live_run_makes_rounds_until_it_hits_and_escape_interrupts() -> None:
    async with running(live((3, 5, 0, 2, 4, 1, 0, 1))) as screen:
        await screen.press("b", *"take == 0 every 2", "enter", "c")
        made = screen.session.source
        takes = [made.round(i).take for i in range(len(made))]
        assert takes.count(0) == 2
        assert takes[-1] == 0
        assert screen.session.moment.index == len(made) - 1
        assert "breakpoint 1: take == 0 every 2, hit 2" in screen.text
        await screen.press("B", "d", "escape", "c")
        assert screen.session.ended
