"""Lists over the whole screen: a cursor, keys and the mouse, at any size, in signs that a terminal can show."""

import pytest
from rich.cells import cell_len

from tests.tui.runs import sunk
from tests.tui.screens import Screen, running
from tests.tui.test_text import steers
from tui.lines import Line, Span
from tui.marks import ASCII, UNICODE, Marks
from tui.screens.listing import ListingScreen


class Numbers(ListingScreen):
    """Rows that are numbered, and remember which were entered."""

    def __init__(self, marks: Marks, count: int) -> None:
        super().__init__(marks, "Numbers")
        self.count = count
        self.entered: list[int] = []

    def rows(self) -> int:
        return self.count

    def row(self, index: int, width: int) -> Line:
        return (Span(f"row {index}".ljust(width + 5, ".")),)

    def heads(self, _width: int, /) -> list[Line]:
        return [(Span("the head"),)]

    def enter(self, index: int) -> None:
        self.entered.append(index)
        self.note = f"entered {index}"
        self.update()


async def opened(screen: Screen, count: int, marks: Marks = UNICODE) -> Numbers:
    numbers = Numbers(marks, count)
    screen.main.push(numbers)
    await screen.settle()
    return numbers


async def test_the_cursor_moves_over_rows_that_scroll_and_enter_takes_one() -> None:
    async with running(sunk(), (80, 24)) as screen:
        numbers = await opened(screen, 100)
        assert "Numbers" in screen.lines[0]
        assert "1 of 100" in screen.lines[0]
        assert screen.lines[2].startswith("→row 0")

        await screen.press("down", "pagedown", "enter")
        assert numbers.entered == [21]
        assert "entered 21" in screen.lines[-2]
        assert any(line.startswith("→row 21") for line in screen.lines)
        assert "the head" in screen.lines[1]

        await screen.press("end", "down")
        assert numbers.cursor == 99
        await screen.press("home", "up")
        assert numbers.cursor == 0
        await screen.press("escape")
        assert screen.app.screen is screen.main


async def test_the_mouse_chooses_enters_and_scrolls() -> None:
    async with running(sunk(), (80, 24)) as screen:
        numbers = await opened(screen, 100)
        await screen.pilot.click("Listing", offset=(5, 6))
        assert (numbers.cursor, numbers.entered) == (4, [])
        await screen.pilot.click("Listing", offset=(5, 6))
        assert numbers.entered == [4]
        await screen.pilot.click("Listing", offset=(5, 0))
        assert numbers.cursor == 4


async def test_a_list_without_rows_says_so_and_enter_does_nothing() -> None:
    async with running(sunk(), (80, 24)) as screen:
        numbers = await opened(screen, 0)
        assert "There is nothing here." in screen.text
        await screen.press("down", "enter")
        assert numbers.entered == []


@pytest.mark.parametrize("marks", [UNICODE, ASCII], ids=["unicode", "ascii"])
@pytest.mark.parametrize("size", [(200, 50), (80, 24), (40, 12), (20, 5)])
async def test_every_row_fills_the_terminal_and_none_more(size: tuple[int, int], marks: Marks) -> None:
    async with running(sunk(), size, marks) as screen:
        await opened(screen, 30, marks)
        for key in ("down", "end", "enter"):
            await screen.press(key)
            assert [cell_len(line) for line in screen.lines] == [size[0]] * size[1]
            assert not any(steers(line) for line in screen.lines)
            if marks is ASCII:
                assert screen.text.isascii()


class Explained(Numbers):
    """Rows under many lines."""

    def heads(self, _width: int, /) -> list[Line]:
        return [(Span(f"head {i}"),) if i % 3 else () for i in range(12)]


@pytest.mark.parametrize("height", [24, 12, 8])
async def test_the_lines_above_leave_room_for_rows_and_the_chosen_one_is_seen(height: int) -> None:
    async with running(sunk(), (40, height)) as screen:
        explained = Explained(UNICODE, 30)
        screen.main.push(explained)
        await screen.settle()
        await screen.press("pagedown", "down")

        rows = [line for line in screen.lines if "row " in line]
        assert len(rows) >= 3
        assert sum(line.startswith("→row ") for line in rows) == 1
        await screen.pilot.click("Listing", offset=(5, screen.lines.index(rows[0])))
        assert any(line.startswith(f"→{rows[0][1:8]}") for line in screen.lines)


async def test_enter_is_offered_only_where_there_is_a_row() -> None:
    async with running(sunk(), (80, 24)) as screen:
        await opened(screen, 0)
        assert "enter" not in screen.lines[-1]
        await screen.press("escape")
        await opened(screen, 1)
        assert "enter open" in screen.lines[-1]
