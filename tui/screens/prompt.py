"""A one-line question at the bottom of the screen that stays open until the answer is one, or escape."""

from collections.abc import Callable
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.screen import ModalScreen
from textual.widgets import Input, Static

from engine.errors import SpecstepError


class PromptScreen(ModalScreen[None]):
    """Hands the answer to ``answer``, which raises a ``SpecstepError`` that is shown when it will not do.

    ``value`` stands there to be changed, or with ``over`` to be typed over.
    """

    DEFAULT_CSS = """
    PromptScreen { align: left bottom; background: transparent; }
    PromptScreen Vertical { height: auto; background: $panel; }
    PromptScreen Horizontal { height: 1; }
    PromptScreen .label { width: auto; padding: 0 1; text-style: bold; color: $key; }
    PromptScreen Input { width: 1fr; height: 1; border: none; padding: 0; background: $panel; }
    PromptScreen Input:focus { border: none; }
    PromptScreen Input:ansi > .input--selection {
        background: ansi_default; color: ansi_default; text-style: reverse;
    }
    PromptScreen .says { height: auto; padding: 0 1; color: $quiet; }
    PromptScreen .says:ansi { text-style: dim; }
    PromptScreen .says.-wrong { color: $alarm; text-style: bold; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "dismiss", "close", show=False)]

    def __init__(self, label: str, hint: str, value: str, answer: Callable[[str], None], *, over: bool = False) -> None:
        super().__init__()
        self._label, self._hint, self._value, self._answer, self._over = label, hint, value, answer, over

    def compose(self) -> ComposeResult:
        with Vertical():
            yield Static(self._hint, classes="says", markup=False)
            with Horizontal():
                yield Static(self._label, classes="label", markup=False)
                yield Input(self._value, select_on_focus=self._over)

    def on_mount(self) -> None:
        """Take the keys, with a cursor that does not blink: it would repaint the screen for ever."""
        field = self.query_one(Input)
        field.cursor_blink = False
        self.set_focus(field)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Close, or say what is wrong."""
        try:
            self.take(event.value)
        except SpecstepError as error:
            self.complain(error)
        else:
            self.dismiss()

    def take(self, text: str) -> None:
        """Hand the answer over, if there is one."""
        if text.strip():
            self._answer(text)

    def complain(self, error: SpecstepError) -> None:
        """Say what is wrong."""
        says = self.query_one(".says", Static)
        says.update(f"! {error}")
        says.add_class("-wrong")
