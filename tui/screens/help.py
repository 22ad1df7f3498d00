"""The help: what the screen shows, what the signs mean, and every key."""

from typing import ClassVar

from rich.style import Style
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.screen import ModalScreen
from textual.strip import Strip
from textual.widget import Widget

from tui.keys import KEYS, Key, ascii_of, groups
from tui.lines import Line, Span, left, wrap
from tui.marks import Marks, Role
from tui.panes.pane import on, strip

_ABOUT = (
    "A base model is slow and right, a drafter is fast and guesses. In each round the drafter proposes some tokens, "
    "the base checks them all in one pass, and the leading ones it agrees with are emitted at once. Whatever the "
    "drafter does, the text is the base's own: drafts change how tokens are made, never which.",
    "A round begins with a token that is already decided (carried). It ends by deciding the next: where a draft was "
    "rejected, that is what the base chose in its place.",
    "If the rolling mean of tokens a round sinks below the bar, drafting does not pay: it is given up (the flip), and "
    "the rest is plain decode, one token a pass.",
)


def lines(marks: Marks, width: int, keys: tuple[Key, ...] = KEYS) -> list[Line]:
    """The whole help for a width."""
    head = Span("What you are looking at", Role.STRONG)
    hints = ("   esc closes this, up and down scroll it", "   esc closes this", "")
    close = next(hint for hint in hints if len(head.text) + len(hint) <= width or not hint)
    result: list[Line] = [(head, Span(close, Role.DIM))]
    for paragraph in _ABOUT:
        result += [*wrap(paragraph, width), ()]
    result.append((Span("Signs", Role.STRONG),))
    for sign, role, text in _signs(marks):
        result.append((Span(f"  {sign}  ", role), Span(text)))
    for group, listed in groups(keys).items():
        result += [(), (Span(group, Role.STRONG),)]
        for key in listed:
            first, *rest = wrap(key.help, max(width - 12, 10))
            shown = ascii_of(key.shown) if marks.plain_text else key.shown
            result.append((Span(f"  {left(shown, 10, marks)}", Role.KEY), *first))
            result += [(Span(" " * 12), *line) for line in rest]
    if marks.plain_text:
        return [tuple(Span(ascii_of(text), role) for text, role in line) for line in result]
    return result


def _signs(marks: Marks) -> tuple[tuple[str, Role, str], ...]:
    return (
        (marks.accepted, Role.ACCEPTED, "accepted draft; underlined in the text before the cursor"),
        (marks.rejected, Role.REJECTED, "rejected: the first draft that the base did not choose"),
        (marks.unjudged, Role.UNJUDGED, "not judged: not yet, or because it comes after a rejection or a stop"),
        (marks.unverified, Role.UNJUDGED, "drafted, but not in the base's batch"),
        (marks.carried, Role.CARRIED, "carried: decided by the round before, or for the next one"),
        (marks.plain, Role.PLAIN, "plain: a round without drafts"),
        (marks.flip, Role.FLIP, "the flip: drafting is given up after this round"),
        (marks.tie, Role.TIE, "a near-tie: the base's two best choices were almost equal"),
        (marks.finding, Role.WARNING, "a finding of the audit, or a message of the engine"),
        (marks.stop, Role.KEY, "a round at which a breakpoint stops"),
        (marks.bookmark, Role.KEY, "a round that you marked"),
    )


class HelpText(Widget):
    """Draws the help at the height it needs."""

    DEFAULT_CSS = "HelpText { height: auto; }"

    def __init__(self, marks: Marks, styles: dict[Role, Style], keys: tuple[Key, ...]) -> None:
        super().__init__()
        self._marks, self._styles, self._keys = marks, styles, keys

    def get_content_height(self, _container: object, _viewport: object, width: int) -> int:
        """As many rows as the help has lines at this width."""
        return len(lines(self._marks, width, self._keys))

    def render_line(self, y: int) -> Strip:
        text, base = lines(self._marks, self.size.width, self._keys), self.rich_style
        return strip(text[y] if y < len(text) else (), self.size.width, on(base, self._styles), base)


class HelpScreen(ModalScreen[None]):
    """The help over the screen; any of the usual keys closes it."""

    DEFAULT_CSS = """
    HelpScreen { align: center middle; }
    HelpScreen VerticalScroll {
        width: 84; max-width: 100%; height: 90%; background: $surface; padding: 1 3; border-left: thick $key;
    }
    HelpScreen.-ascii VerticalScroll { border-left: ascii $key; scrollbar-size-vertical: 0; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,question_mark,f1,enter,space", "dismiss", "close", show=False)
    ]

    def __init__(self, marks: Marks, styles: dict[Role, Style], keys: tuple[Key, ...] = KEYS) -> None:
        super().__init__(classes="-ascii" if marks.plain_text else "")
        self._marks, self._styles, self._keys = marks, styles, keys

    def compose(self) -> ComposeResult:
        with VerticalScroll():
            yield HelpText(self._marks, self._styles, self._keys)
