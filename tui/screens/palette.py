"""The palette: every action in a line, those that hold the words that are typed, and enter does the one chosen."""

from collections.abc import Awaitable, Callable
from typing import ClassVar

from textual import events
from textual.binding import Binding, BindingType

from tui import layout
from tui.keys import LOOK, Key, ascii_of
from tui.lines import Line, Span, left
from tui.marks import Marks, Role
from tui.screens.listing import ListingScreen

_PANES = tuple(
    Key(f"pane.{number}", (), str(number), f"pane({number})", name.lower(), f"Show or focus the {name} pane.", LOOK)
    for number, name in enumerate(layout.NAMES, 1)
)
"""What a digit alone does, which waits to become a count."""


def matching(words: str, keys: tuple[Key, ...]) -> list[Key]:
    """The keys with an action whose label or help holds each of the words; where a label begins so, it comes first."""
    wanted = words.lower().split()
    found = [key for key in keys if key.action and all(word in f"{key.label} {key.help}".lower() for word in wanted)]
    return sorted(found, key=lambda key: not (wanted and key.label.startswith(wanted[0])))


class PaletteScreen(ListingScreen, inherit_bindings=False):
    """Calls ``run`` with the action that is chosen, when it is gone itself."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up", "up(1)", "up", show=False),
        Binding("down", "down(1)", "down", show=False),
        Binding("pageup", "page(-1)", "page up", show=False),
        Binding("pagedown", "page(1)", "page down", show=False),
        Binding("enter", "enter", "enter", show=False),
        Binding("backspace", "shorten", "shorten", show=False),
        Binding("escape,ctrl+p", "leave", "close", show=False),
    ]
    entering = "do it"

    def __init__(self, marks: Marks, keys: tuple[Key, ...], run: Callable[[str], Awaitable[None]]) -> None:
        super().__init__(marks, "Do")
        self._keys = (*(key for key in keys if key.id != "palette"), *_PANES)
        self._run = run
        self._typed = ""
        self._found = matching("", self._keys)

    def rows(self) -> int:
        return len(self._found)

    def heads(self, _width: int, /) -> list[Line]:
        if not self._typed:
            return [(Span("type words of what you want to do", Role.DIM),), ()]
        return [(Span(self._typed, Role.STRONG), Span(" ", Role.CURSOR)), ()]

    def row(self, index: int, _width: int, /) -> Line:
        key = self._found[index]
        name = left(self._said(key.shown), 10, self.marks)
        return (Span(name, Role.KEY), Span(left(key.label, 14, self.marks), Role.STRONG), Span(self._said(key.help)))

    def empty(self) -> str:
        return "No action has these words; backspace takes some back."

    def enter(self, index: int) -> None:
        action = self._found[index].action
        self.dismiss()
        self.call_later(self._run, action)

    def on_key(self, event: events.Key) -> None:
        """What can be printed is typed."""
        if event.is_printable and event.character:
            event.stop()
            self._type(self._typed + event.character)

    def action_shorten(self) -> None:
        self._type(self._typed[:-1])

    def _type(self, words: str) -> None:
        self._typed, self._found = words, matching(words, self._keys)
        self.go(0)

    def _said(self, text: str) -> str:
        return ascii_of(text) if self.marks.plain_text else text
