"""The screen under its keys, over a run that is stepped and over traces, with no terminal."""

import asyncio
from functools import partial
from pathlib import Path

import msgspec
import pytest
from rich.cells import cell_len
from textual.events import Key
from textual.widgets import Input

from engine.errors import EngineFault, TraceError
from engine.records import Round
from engine.trace.reader import open_trace
from tests.tui.runs import Listed, drafted, finished, live, sunk
from tests.tui.screens import Screen, running
from tests.tui.test_text import steers
from tui.live import LiveSource
from tui.marks import ASCII, UNICODE, Marks
from tui.moment import START, Moment, Phase
from tui.screens.help import HelpScreen
from tui.screens.main import MainScreen
from tui.screens.prompt import PromptScreen
from tui.themes import NAMES


async def test_a_live_run_opens_before_its_first_round_and_says_what_to_press() -> None:
    async with running(live()) as screen:
        assert screen.session.moment == START
        assert "paused" in screen.lines[-2]
        assert "n makes a round" in screen.lines[-2]
        assert "No round yet" in screen.text
        assert "n next" in screen.lines[-1]


async def test_n_makes_a_round_and_p_goes_back_to_one() -> None:
    async with running(live()) as screen:
        await screen.press("n", "n")
        assert screen.session.moment == Moment(1)
        assert len(screen.session.source) == 2
        assert "round 1/1" in screen.lines[0]

        await screen.press("p")
        assert screen.session.moment == Moment(0)
        assert "round 0/1" in screen.lines[0]
        assert len(screen.session.source) == 2


async def test_a_count_is_shown_while_it_is_pending_and_used_by_the_next_key() -> None:
    async with running(live()) as screen:
        await screen.press("1", "0")
        assert screen.lines[-2].startswith(" 10 ")

        await screen.press("n")
        assert screen.session.moment == Moment(9)
        assert screen.session.count == ""


async def test_a_digit_alone_shows_a_pane_and_a_count_leaves_it_as_it_was() -> None:
    async with running(finished(live()), (80, 24)) as screen:
        await screen.press("4")
        assert "median ms" in screen.text
        await screen.press("escape", "n")
        assert "median ms" in screen.text
        assert screen.session.moment == Moment(1)

        await screen.press("2", "n")
        assert "median ms" in screen.text
        assert screen.session.moment == Moment(3)


async def test_a_digit_that_waited_too_long_is_no_count(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(MainScreen, "DIGIT_WAITS", 0.01)
    async with running(finished(live()), (80, 24)) as screen:
        await screen.press("4")
        await screen.until(lambda: not screen.session.count)
        await screen.press("n")

        assert screen.session.moment == Moment(1)
        assert "median ms" in screen.text


async def test_s_goes_into_a_round_phase_by_phase_and_shift_s_back() -> None:
    async with running(live()) as screen:
        for phase in Phase:
            await screen.press("s")
            assert screen.session.moment == Moment(0, phase)
            assert f"[{phase.name.lower()}]" in screen.text
        assert len(screen.session.source) == 1

        await screen.press("S", "S")
        assert screen.session.moment == Moment(0, Phase.VERIFY)


async def test_space_runs_and_pauses_and_the_footer_tells_the_keys_for_it() -> None:
    async with running(live(max_tokens=20_000)) as screen:
        await screen.press("9", "plus")
        await screen.pilot.press("space")
        while len(screen.session.source) < 3:
            await asyncio.sleep(0.01)
        assert screen.session.playing
        await screen.pilot.press("space")
        await screen.settle()

        made = len(screen.session.source)
        assert not screen.session.playing
        await asyncio.sleep(0.1)
        assert len(screen.session.source) == made
        assert screen.session.moment.index >= made - 2
        assert "paused" in screen.lines[-2]


async def test_a_run_plays_to_its_end_and_says_why_it_ended() -> None:
    async with running(live(max_tokens=20)) as screen:
        await screen.press("9", "plus")
        await screen.pilot.press("space")
        await screen.until(lambda: screen.session.ended)

        assert "end of run  max_tokens is reached" in screen.lines[-2]
        assert not screen.session.playing


async def test_e_and_shift_e_walk_over_events() -> None:
    async with running(sunk()) as screen:
        await screen.press("e")
        assert "all drafts rejected" in screen.lines[-2]
        await screen.press("2", "e")
        assert screen.session.moment == Moment(3)
        assert "flip" in screen.lines[-2]
        await screen.press("E")
        assert screen.session.moment == Moment(2)


@pytest.mark.parametrize(("place", "index"), [("5", 5), ("tok 4", 1), ("flip", 3), ("50%", 2), ("end", 5)])
async def test_g_goes_to_a_place(place: str, index: int) -> None:
    async with running(sunk()) as screen:
        await screen.press("g")
        screen.app.screen.query_one(Input).value = place
        await screen.press("enter")

        assert screen.session.moment == Moment(index)
        assert not isinstance(screen.app.screen, PromptScreen)


async def test_g_says_what_is_wrong_and_stays_open() -> None:
    async with running(sunk()) as screen:
        await screen.press("g", *"99", "enter")
        assert "round 99 is not there: the last round is 5" in screen.text
        assert isinstance(screen.app.screen, PromptScreen)

        await screen.press("escape")
        assert screen.session.moment == Moment(0)


async def test_a_count_before_g_is_the_round() -> None:
    async with running(finished(live())) as screen:
        await screen.press("1", "1", "g")
        assert screen.session.moment == Moment(11)

        await screen.press("9", "9", "9", "g")
        assert screen.session.moment == Moment(11)
        assert "round 999 is not there" in screen.lines[-2]


async def test_tab_and_z_choose_and_zoom_a_pane() -> None:
    async with running(finished(live())) as screen:
        assert "1 Text" in screen.text
        await screen.press("tab", "z")
        assert "3 Fallback" in screen.lines[1]
        assert "break-even" in screen.text
        assert "median ms" not in screen.text

        await screen.press("z")
        assert "median ms" in screen.text


async def test_a_pane_that_is_too_long_is_scrolled_and_says_so() -> None:
    async with running(finished(live()), (40, 12)) as screen:
        await screen.press("4", "escape")
        assert "more" in screen.lines[1]
        before = screen.lines[2]
        await screen.press("down", "down")
        assert screen.lines[2] != before
        await screen.press("up", "up")
        assert screen.lines[2] == before


async def test_a_click_in_the_timeline_goes_to_the_round_under_it() -> None:
    async with running(finished(live())) as screen:
        await screen.pilot.click("#rounds", offset=(1 + 2 * 4, 2))
        assert screen.session.moment == Moment(4)
        await screen.pilot.click("#cost", offset=(5, 3))
        assert screen.main.active == 4


async def test_a_click_on_a_tab_shows_its_pane_and_one_in_the_footer_is_the_key() -> None:
    async with running(finished(live()), (80, 24)) as screen:
        await screen.pilot.click(offset=(screen.lines[1].index("Cost"), 1))
        await screen.settle()
        assert "median ms" in screen.text

        await screen.pilot.click(offset=(screen.lines[-1].index("next"), 23))
        await screen.settle()
        assert screen.session.moment == Moment(1)
        await screen.pilot.click(offset=(screen.lines[1].index("Text"), 1))
        await screen.pilot.click(offset=(79, 23))
        await screen.settle()
        assert screen.session.moment == Moment(1)
        assert "def mean(values):" in screen.text


async def test_help_opens_over_the_screen_and_any_way_out_closes_it() -> None:
    async with running(sunk(), (80, 24)) as screen:
        for key in ("question_mark", "escape", "f1", "q"):
            await screen.press(key)
        assert not isinstance(screen.app.screen, HelpScreen)
        await screen.press("question_mark")
        assert "What you are looking at" in screen.text
        await screen.press("end")
        assert "Quit." in screen.text
        await screen.press("n")
        assert screen.session.moment == Moment(0)


async def test_t_goes_through_the_themes() -> None:
    async with running(sunk()) as screen:
        seen = [screen.app.theme]
        for _ in NAMES[1:]:
            await screen.press("t")
            seen.append(screen.app.theme)

        assert seen == list(NAMES)


async def test_q_quits() -> None:
    async with running(sunk()) as screen:
        await screen.press("q")
        assert not screen.app.is_running


async def test_shift_w_saves_a_live_run_as_a_trace_that_replays(tmp_path: Path) -> None:
    source = live()
    async with running(source) as screen:
        await screen.press("5", "n", "W")
        screen.app.screen.query_one(Input).value = str(tmp_path / "run.msgpack")
        await screen.press("enter")
        assert "saved 5 rounds" in screen.lines[-2]

        await screen.press("W")
        screen.app.screen.query_one(Input).value = str(tmp_path / "run.msgpack")
        await screen.press("enter")
        assert "is there already" in screen.text

    with open_trace(tmp_path / "run.msgpack") as trace:
        assert [trace.round(i) for i in range(len(trace))] == [source.round(i) for i in range(5)]
        assert trace.end is not None
        assert trace.end.reason == "aborted"
        assert trace.piece(source.round(0).t1 or 0) == source.piece(source.round(0).t1 or 0)


async def test_a_fault_of_the_engine_is_said_and_the_rounds_before_it_stay() -> None:
    source = live()
    made: list[Round] = []

    def step() -> Round | None:
        if len(made) == 3:
            raise EngineFault("the session is dead")
        round_ = type(source.stepper).step(source.stepper)
        if round_ is not None:
            made.append(round_)
        return round_

    source.stepper.step = step  # type: ignore[method-assign]
    async with running(source) as screen:
        await screen.press("9", "9", "n")

        assert "fault  the session is dead" in screen.lines[-2]
        assert screen.session.moment == Moment(2)
        await screen.press("p")
        assert screen.session.moment == Moment(1)


@pytest.mark.parametrize("marks", [UNICODE, ASCII], ids=["unicode", "ascii"])
@pytest.mark.parametrize("size", [(200, 50), (140, 40), (120, 40), (100, 30), (80, 24), (60, 20), (40, 12)])
async def test_at_any_size_every_row_fills_the_terminal_and_none_more(size: tuple[int, int], marks: Marks) -> None:
    async with running(finished(live()), size, marks) as screen:
        for _ in range(5):
            await screen.press("s", "tab")
            assert [cell_len(line) for line in screen.lines] == [size[0]] * size[1]
            assert not any(steers(line) for line in screen.lines)
            if marks is ASCII:
                assert screen.text.isascii()


async def test_the_layout_follows_the_terminal_while_it_runs() -> None:
    async with running(finished(live()), (160, 45)) as screen:
        for width, together in ((160, True), (120, True), (80, False), (160, True)):
            await screen.pilot.resize_terminal(width, 40)
            await screen.until(partial(laid_out, screen, width, together))


def laid_out(screen: Screen, width: int, together: bool) -> bool:
    """Whether every row is as wide, and panes that have room for it stand together."""
    stand_together = "1 Text" in screen.text and "median ms" in screen.text
    return stand_together is together and {cell_len(line) for line in screen.lines} == {width}


async def test_80_by_24_shows_a_round_of_seven_drafts_whole() -> None:
    known = {"draft_p": (0.5,) * 7, "target_p": (0.5,) * 8, "gap": (1.0,) * 8}
    firsts = [200 if i else 0 for i in range(9)]
    source = Listed(
        [
            drafted(i, 3, 7, pos=4 * i, consumed=4 * i + 4, t1=first, emitted=(first, 0, 1, 2), **known)
            for i, first in enumerate(firsts)
        ]
    )
    source.header = msgspec.structs.replace(source.header, options={**source.header.options, "k": 7})
    async with running(source, (80, 24)) as screen:
        await screen.press("n")

        assert screen.session.found.all == []
        assert " more" not in screen.lines[1]
        assert "next round's token" in screen.text
        assert "verify 3.00" in screen.text
        assert "5 Rounds" in screen.text


async def test_a_round_that_cannot_be_read_is_said_and_the_others_stay() -> None:
    class Damaged(Listed):
        def round(self, index: int) -> Round:
            if index == 3:
                raise TraceError("run.msgpack: byte 812 is not a record", 812)
            return super().round(index)

    async with running(Damaged([drafted(i, 1) for i in range(6)])) as screen:
        await screen.press("2", "n")
        assert screen.session.moment == Moment(2)
        assert "byte 812 is not a record" in screen.lines[-2]

        await screen.press("n")
        assert screen.text.count("byte 812 is not a record") > 1
        await screen.press("s", "p", "p")
        assert screen.session.moment.index < 3


def test_the_live_source_knows_when_only_the_end_is_left() -> None:
    source: LiveSource = live(max_tokens=8)
    while not source.spent:
        round_ = source.make()
        assert round_ is not None
        source.append(round_)

    assert source.make() is None
    source.finish()
    assert not source.spent
    assert source.end is not None


async def test_ctrl_c_stops_what_runs_and_a_second_one_leaves() -> None:
    async with running(live(), (80, 24)) as screen:
        await screen.press("question_mark", "ctrl+c")
        assert screen.app.screen is screen.main
        await screen.press("space", "ctrl+c")
        assert not screen.session.playing
        assert "interrupted; ctrl+c again leaves, and so does q" in screen.lines[-2]
        assert screen.app.is_running
        await screen.pilot.press("ctrl+c")
        assert screen.app._exit


async def test_what_is_typed_ahead_goes_to_the_prompt_that_a_key_opens() -> None:
    async with running(finished(live()), (80, 24)) as screen:
        for key in ("g", "1", "2"):
            screen.app.post_message(Key(key, key))
        await screen.settle()
        assert isinstance(screen.app.screen, PromptScreen)
        assert screen.app.screen.query_one(Input).value == "12"
        await screen.press("enter")
        assert screen.session.moment.index == 12


async def test_a_key_that_has_nothing_to_do_says_why() -> None:
    async with running(live(), (80, 24)) as screen:
        for key, says in (
            ("p", "there is no round yet to go back from"),
            ("S", "there is no round yet to go back from"),
            ("plus", "8 rounds a second when space runs it"),
            ("enter", "enter is for 6 Findings, and to fork in a what-if of a live run"),
            ("R", "the engine runs in this process: o goes on by other options"),
        ):
            await screen.press(key)
            assert says in screen.lines[-2]
