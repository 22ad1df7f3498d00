"""The what-if of the Fallback pane: its rules without a screen, and its keys."""

import pytest

from engine.errors import Refused
from engine.whatif import Kind, Rule
from tests.tui.runs import Listed, drafted, finished, live, plain, sunk
from tests.tui.screens import running
from tui import layout
from tui.marks import ASCII, UNICODE
from tui.panes import fallback
from tui.screens.sweep import SweepScreen
from tui.session import Session
from tui.whatif import WhatIf


def asked(source: Listed) -> WhatIf:
    return of(session(source))


def session(source: Listed) -> Session:
    made = Session(source)
    made.series.take_in(len(source))
    return made


def of(made: Session) -> WhatIf:
    made.whatif = WhatIf(made.source, made.series)
    return made.whatif


def painted(made: Session, width: int = 50, height: int = 14, *, ascii_only: bool = False) -> list[str]:
    lines = fallback.paint(made, ASCII if ascii_only else UNICODE, width, height)
    return ["".join(span.text for span in line) for line in lines]


def paying(count: int = 6) -> Listed:
    """Rounds of 4 ms and of 1, 2, 3, ... tokens, then plain ones of 2 ms: the break-even is 2."""
    rounds = [drafted(i, i % 4) for i in range(count)]
    return Listed([*rounds, *(plain(count + i, "budget") for i in range(5))])


def test_it_begins_at_the_recorded_rule_and_answers_it_with_the_recorded_flip() -> None:
    begun = asked(sunk())
    assert (begun.bar, begun.window) == (2.0, 3)
    assert (begun.answer.kind, begun.answer.flip) == (Kind.SAME, 3)


def test_a_bar_moves_in_notches_and_never_below_zero() -> None:
    begun = asked(sunk())
    begun.bar = 2.57
    begun.move_bar(1)
    assert begun.bar == 2.6
    begun.bar = 2.57
    begun.move_bar(-1)
    assert begun.bar == 2.5
    begun.move_bar(-99)
    assert begun.bar == 0
    begun.move_window(-99)
    assert begun.window == 1


def test_without_a_recorded_bar_it_begins_at_the_break_even() -> None:
    begun = asked(paying())
    assert begun.rule == Rule(0.0, 3)
    assert begun.bar == begun.even == 2.0


@pytest.mark.parametrize(
    ("text", "rule"),
    [("2.5", (2.5, 3)), ("2.5 4", (2.5, 4)), ("auto 6", (2.0, 6)), ("1,5", (1.0, 5)), (" 0 1 ", (0, 1))],
)
def test_a_rule_is_typed(text: str, rule: tuple[float, int]) -> None:
    begun = asked(paying())
    begun.read(text)
    assert (begun.bar, begun.window) == rule


@pytest.mark.parametrize("text", ["x", "", "2 3 4", "-1", "2 0", "nan", "2 1.5", "inf"])
def test_what_is_no_rule_is_refused_and_changes_nothing(text: str) -> None:
    begun = asked(paying())
    before = (begun.bar, begun.window)
    with pytest.raises(Refused):
        begun.read(text)
    assert (begun.bar, begun.window) == before
    with pytest.raises(Refused):
        asked(sunk()).read("auto")


def test_a_fork_keeps_the_rounds_up_to_where_the_runs_part() -> None:
    begun = asked(sunk())
    assert begun.kept(5) == 6
    begun.take(Rule(2.5, 3))
    assert (begun.answer.flip, begun.kept(5)) == (2, 3)
    begun.take(Rule(1.0, 3))
    assert begun.answer.kind is Kind.UNKNOWN
    assert begun.kept(5) == 4


def test_the_curve_is_the_mean_over_the_windows_own_rounds() -> None:
    begun = asked(sunk())
    assert [begun.mean(i) for i in range(4)] == [4.0, 2.5, 2.0, 1.0]
    begun.move_window(-2)
    assert [begun.mean(i) for i in range(4)] == [4.0, 1.0, 1.0, 1.0]
    assert begun.mean(4) is None
    assert begun.over(0, 6) == (1.0, 4.0)
    assert begun.over(4, 6) is None


def test_the_pane_draws_a_second_bar_marks_the_flip_and_says_what_it_costs() -> None:
    made = session(sunk())
    of(made).take(Rule(2.9, 3))
    text = "\n".join(painted(made))
    assert "2.9┤" in text
    assert "2.0┤" in text
    assert "╌╌" in text
    assert text.count("△") == 2
    assert "▲" in text
    assert "flips after round 2 (mean 2.00 over 3)" in text
    assert "6 rounds instead of 6" not in text
    plain_text = "\n".join(painted(made, ascii_only=True))
    assert plain_text.isascii()
    assert "f flips after round 2" in plain_text
    assert "==" in plain_text


def test_the_pane_says_that_a_later_flip_is_not_known() -> None:
    made = session(sunk())
    of(made).take(Rule(1.0, 3))
    text = " ".join(painted(made))
    assert "unknown" in text
    assert "△" not in text
    assert "time unknown" in text


async def test_keys_move_the_bar_and_the_window_and_escape_leaves() -> None:
    async with running(sunk(), (80, 24)) as screen:
        await screen.press("w")
        assert screen.main.active == layout.FALLBACK
        assert "what if bar 2.00 over 3" in screen.text
        assert "esc leave" in screen.text
        await screen.press("up", "up", "up", "less_than_sign", "greater_than_sign")
        assert "what if bar 2.30 over 3" in screen.text
        assert "△ flips after round 2 (mean 2.00 over 3)" in screen.text
        await screen.press("down", "greater_than_sign", "greater_than_sign")
        assert "what if bar 2.20 over 5" in screen.text
        await screen.press("a")
        assert "the break-even is not known yet" in screen.text
        await screen.press("enter")
        assert "a recording stays as it is" in screen.text
        await screen.press("escape")
        assert screen.session.whatif is None
        assert "what if" not in screen.text
        assert all(len(line) == 80 for line in screen.lines)


async def test_a_rule_can_be_typed_and_a_wrong_one_stays_in_the_prompt() -> None:
    async with running(sunk(), (80, 24)) as screen:
        await screen.press("w", "w", "backspace", "backspace", "x", "enter")
        assert "give a bar as a number" in screen.text
        await screen.press(*["backspace"] * 5, "2", ".", "9", "space", "2", "enter")
        assert screen.session.whatif is not None
        assert (screen.session.whatif.bar, screen.session.whatif.window) == (2.9, 2)


@pytest.mark.parametrize("marks", [UNICODE, ASCII], ids=["unicode", "ascii"])
async def test_the_sweep_marks_its_cells_by_signs_and_enter_takes_one(marks: object) -> None:
    chosen = ASCII if marks is ASCII else UNICODE
    async with running(sunk(), (80, 24), chosen) as screen:
        await screen.press("w", "up", "v")
        assert isinstance(screen.app.screen, SweepScreen)
        shown = screen.text
        assert "[" in shown
        assert "<" in shown
        assert "bar 2.10 over 3: " in shown
        if chosen is ASCII:
            assert all(line.isascii() for line in screen.lines)
        await screen.press("right", "up", "v")
        here = screen.app.screen.here
        assert here.bar > 2.1
        assert here.window == 2
        await screen.press("enter")
        assert screen.session.whatif is not None
        assert (screen.session.whatif.bar, screen.session.whatif.window) == here


async def test_enter_forks_a_live_run_where_the_flip_moved_to() -> None:
    source = finished(live())
    async with running(source) as screen:
        await screen.press("w")
        whatif = screen.session.whatif
        assert whatif is not None
        whatif.take(Rule(3.0, 3))
        # 4, 6, 1, 3, 5, 2, 1, 2 tokens: under 3 after round 6, where the run itself fell under 2 after round 7.
        assert (whatif.answer.flip, whatif.answer.recorded_flip) == (6, 7)
        await screen.press("enter")
        branch = screen.session.source
        assert branch is source.branches[-1]
        assert branch is not source
        assert (branch.header.options["fallback_below"], branch.header.run["forked_at"]) == (3.0, 7)
        assert len(branch) == 7
        assert screen.session.whatif is None
        await screen.press("n")
        assert branch.round(7).reason == "fallback"


async def test_what_a_recording_cannot_tell_a_fork_finds_out() -> None:
    source = finished(live(below=3.0))
    async with running(source) as screen:
        await screen.press("w")
        whatif = screen.session.whatif
        assert whatif is not None
        whatif.take(Rule(0.5, 3))
        flip = whatif.answer.recorded_flip
        assert whatif.answer.kind is Kind.UNKNOWN
        assert flip is not None
        await screen.press("enter", "n")
        branch = screen.session.source
        assert len(branch) == flip + 2
        assert branch.round(flip + 1).form == "one-pass"


@pytest.mark.parametrize("width", [40, 60, 80, 120])
async def test_the_sweep_shows_the_bars_there_is_room_for_and_the_one_at_the_cursor(width: int) -> None:
    async with running(sunk(), (width, 24)) as screen:
        await screen.press("w", "v", *["right"] * 30)
        cells = [line for line in screen.lines if line.startswith("→")]

        assert "…" not in cells[0]
        assert isinstance(screen.app.screen, SweepScreen)
        heads = next(line for line in screen.lines if "window " in line)
        assert heads.split()[-1] == f"{screen.app.screen.here.bar:.2f}"


async def test_a_bar_that_changes_nothing_in_a_run_that_is_over_is_not_forked() -> None:
    async with running(finished(live()), (80, 24)) as screen:
        source = screen.session.source
        await screen.press("w")
        assert "fork" in screen.text
        assert "esc leave" in screen.text
        await screen.press("enter")
        assert "there is nothing to fork" in screen.text
        assert screen.session.source is source


async def test_a_sweep_without_times_says_that_it_shows_flips() -> None:
    async with running(sunk(), (80, 24)) as screen:
        await screen.press("w", "v")
        assert "round of the flip, for there are not times enough" in screen.text
