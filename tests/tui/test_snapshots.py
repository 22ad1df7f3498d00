"""The screen as it is seen, in its main states and sizes; ``pytest --snapshot-update`` takes the pictures anew.

They are text, row by row; and for each theme the ways in which it draws.
"""

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest
from syrupy.assertion import SnapshotAssertion

from engine.records import RoundSource
from tests.tui.runs import Listed, drafted, finished, live, plain, sunk
from tests.tui.screens import Screen, running
from tests.tui.test_findings import wrong_counts
from tests.tui.test_searching import counting
from tui.app import SpecstepApp
from tui.marks import ASCII, UNICODE, Marks
from tui.themes import NAMES

SMALL, MIDDLE, LARGE = (80, 24), (120, 40), (200, 50)


class State(NamedTuple):
    """A picture: its name, what is open, the keys pressed, the size of the terminal, and the signs."""

    name: str
    source: Callable[[], RoundSource]
    keys: tuple[str, ...]
    size: tuple[int, int]
    marks: Marks = UNICODE


def split() -> Listed:
    """A character of which the accepted draft is one half, and the rejected one not the other."""
    pieces = {0: b"def caf", 1: b"\xc3", 2: b"\xa8", 3: b"\xa9", 4: "日本\n".encode()}
    first = drafted(0, 1, n=2, t1=0, drafts=(1, 2), targets=(1, 3, 3), emitted=(0, 1), next=3)
    return Listed([first, drafted(1, 1, n=1, t1=3, drafts=(4,), targets=(4, 0), emitted=(3, 4), next=0)], pieces=pieces)


def ran() -> RoundSource:
    """The run of the tests, to its end."""
    return finished(live())


STATES = (
    State("first-contact", live, (), MIDDLE),
    State("round-small", ran, ("3", "n"), SMALL),
    State("text-small", ran, ("3", "n", "1", "escape"), SMALL),
    State("fallback-small", ran, ("9", "n", "3", "escape"), SMALL),
    State("cost-small", ran, ("9", "n", "4", "escape"), SMALL),
    State("timeline-small", ran, ("9", "n", "5", "escape"), SMALL),
    State("middle", ran, ("4", "n"), MIDDLE),
    State("large", ran, ("4", "n"), LARGE),
    State("floor", ran, ("4", "n"), (40, 12)),
    State("ascii", ran, ("4", "n"), MIDDLE, ASCII),
    State("into-draft", ran, ("3", "n", "s"), MIDDLE),
    State("into-accept", ran, ("3", "n", "s", "s", "s"), SMALL),
    State("findings", lambda: wrong_counts(at=2), ("e", "6", "escape"), SMALL),
    State("findings-middle", lambda: wrong_counts(at=2), ("e",), MIDDLE),
    State("search", counting, ("slash", *"three", "enter", "."), MIDDLE),
    State("marks", ran, ("5", "n", "m", "enter", "apostrophe"), SMALL),
    State("candidates", ran, ("3", "n", "d"), SMALL),
    State("half-a-character", split, (), MIDDLE),
    State("no-drafter", lambda: Listed([plain(i, reason="no-drafter") for i in range(4)]), ("n",), SMALL),
    State("the-flip", sunk, ("e",), MIDDLE),
)


@pytest.fixture(autouse=True)
def alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No marks of another test."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))


@pytest.mark.parametrize("state", STATES, ids=lambda state: state.name)
async def test_the_screen_looks_as_it_did(state: State, snapshot: SnapshotAssertion) -> None:
    async with running(state.source(), state.size, state.marks) as screen:
        await audited(screen)
        await screen.press(*state.keys)
        await audited(screen)

        assert "\n".join(line.rstrip() for line in screen.lines) == snapshot(name=state.name)


@pytest.mark.parametrize("theme", NAMES)
async def test_a_theme_draws_as_it_did(theme: str, snapshot: SnapshotAssertion) -> None:
    source = ran()
    app = SpecstepApp(lambda: source, UNICODE, waiting="opening", theme=theme)
    async with app.run_test(size=(100, 30)) as pilot:
        screen = Screen(app, pilot)
        await screen.settle()
        await audited(screen)
        await screen.press("4", "n")

        assert "\n".join(drawn(screen)) == snapshot(name=theme)


async def audited(screen: Screen) -> None:
    """Wait until the audit has said what it can, so that it says it in every picture."""
    await screen.until(lambda: screen.session.found.done or screen.session.source.live)


def drawn(screen: Screen) -> list[str]:
    """The ways in which anything on the screen is drawn, each with the first text that is drawn so."""
    first: dict[str, str] = {}
    for row in screen.app.screen._compositor.render_strips():
        for text, style, _ in row:
            if text.strip():
                first.setdefault(str(style), text.strip())
    return [f"{style:60} {text}" for style, text in first.items()]
