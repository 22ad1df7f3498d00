"""What a theme of the terminal's own colours draws with: what can be read on the grounds that terminals have."""

import pytest
from rich.style import Style

from tests.tui.runs import live
from tests.tui.screens import running
from tui.marks import Role

RED, YELLOW, BLUE, MAGENTA, CYAN = 1, 3, 4, 5, 6


@pytest.mark.parametrize(("theme", "colours"), [("ansi-dark", {CYAN, YELLOW}), ("ansi-light", {BLUE, RED, MAGENTA})])
async def test_the_terminals_own_colours_are_those_that_show_on_its_ground(theme: str, colours: set[int]) -> None:
    async with running(live(), (80, 24)) as screen:
        screen.app.theme = theme
        await screen.settle()
        by_role = screen.main.styles_by_role
        quiet, text = by_role[Role.DIM], by_role[Role.TEXT]

    drawn = {style.color.number for style in by_role.values() if style.color is not None}
    assert drawn == {None, *colours}
    assert quiet == text + Style(dim=True)
