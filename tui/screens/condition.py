"""Asks for a condition: what may follow is offered while it is typed, and what is wrong is shown at its place."""

from collections.abc import Callable
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.widgets import Input, Static

from engine.conditions import BadCondition
from engine.conditions.completion import Offers, complete
from engine.errors import SpecstepError
from tui.screens.prompt import PromptScreen

_SHOWN = 12
"""Offers in the line under the field."""


class ConditionPrompt(PromptScreen):
    """A prompt with completion: ``tab`` takes the first offer. An empty answer stands for ``default``."""

    DEFAULT_CSS = """
    ConditionPrompt .place { height: 1; padding: 0 1; color: $alarm; text-style: bold; display: none; }
    ConditionPrompt .place.-wrong { display: block; }
    ConditionPrompt .offers { height: 1; padding: 0 1; color: $quiet; }
    ConditionPrompt .offers:ansi { text-style: dim; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [Binding("tab", "take", "complete", show=False, priority=True)]

    def __init__(self, label: str, hint: str, value: str, answer: Callable[[str], None], default: str = "") -> None:
        super().__init__(label, hint, value, answer)
        self._default = default
        self._offers = Offers(0, ())

    def compose(self) -> ComposeResult:
        with Vertical():
            yield Static(self._hint, classes="says", markup=False)
            with Horizontal():
                yield Static(self._label, classes="label", markup=False)
                yield Input(self._value, select_on_focus=False)
            yield Static("", classes="place", markup=False)
            yield Static("", classes="offers", markup=False)

    def on_mount(self) -> None:
        """Offer what may stand at the start."""
        self._offer()

    def on_input_changed(self) -> None:
        """Offer what may follow; a complaint about what stood there before goes away."""
        self.query_one(".place").remove_class("-wrong")
        self._offer()

    def take(self, text: str) -> None:
        super().take(text if text.strip() else self._default)

    def complain(self, error: SpecstepError) -> None:
        """Say what is wrong, and show where."""
        super().complain(error)
        if isinstance(error, BadCondition):
            field, place = self.query_one(Input), self.query_one(".place", Static)
            field.cursor_position = error.column - 1
            place.update(" " * (len(self._label) + error.column) + "^")
            place.add_class("-wrong")

    def action_take(self) -> None:
        """Put the first offer in place of the word at the cursor."""
        field = self.query_one(Input)
        if self._offers.offers:
            taken = self._offers.offers[0].text
            rest = field.value[field.cursor_position :]
            gap = "" if rest.startswith(" ") else " "
            field.value = f"{field.value[: self._offers.start]}{taken}{gap}{rest}"
            field.cursor_position = self._offers.start + len(taken) + 1

    def _offer(self) -> None:
        field = self.query_one(Input)
        self._offers = complete(field.value, field.cursor_position)
        offers = self._offers.offers
        if not offers:
            line = ""
        elif len(offers) == 1:
            line = f"tab: {offers[0].text}  {offers[0].help}"
        else:
            more = f"  and {len(offers) - _SHOWN} more" if len(offers) > _SHOWN else ""
            line = "tab: " + "  ".join(offer.text for offer in offers[:_SHOWN]) + more
        self.query_one(".offers", Static).update(line)
