"""A feature of the screen: one thing that it can do, with its own keys and state, and what the screen offers to it."""

from collections.abc import Callable
from typing import ClassVar, Protocol, TypeVar

from textual.screen import ModalScreen
from textual.timer import Timer

from engine.errors import SpecstepError
from engine.records import RoundSource
from tui.changes import Changes
from tui.lines import Line
from tui.marks import Marks
from tui.session import Session

T = TypeVar("T")


class Host(Protocol):
    """The screen, as a feature sees it."""

    marks: Marks

    @property
    def session(self) -> Session | None:
        """The state shown, ``None`` until the source is open."""

    @property
    def active(self) -> int:
        """The number of the focused pane."""

    def look_at(self, number: int) -> None:
        """Bring a pane to the front."""

    def fork(self, at: int, wanted: Changes) -> None:
        """Go on by other options behind the first ``at`` rounds, or say why that cannot be done."""

    def move(self, change: Callable[[Session, int], object]) -> None:
        """Change the session, by the pending count or 1; what cannot be read is said, and the cursor stays."""

    def count(self) -> int | None:
        """The pending count, which is used up by this."""

    def after(self) -> None:
        """What follows every change that ``move`` did not make: the engine gets its order, all is painted again."""

    def grew(self, session: Session) -> None:
        """Tell all features that there are more rounds."""

    def say(self, note: str) -> None:
        """Say it in the status line, until the next move."""

    def ask(self, label: str, hint: str, value: str, answer: Callable[[str], None], *, over: bool = False) -> None:
        """Ask for a line of text; a ``SpecstepError`` that ``answer`` raises is shown, and the question stays.

        ``value`` stands there to be changed, or with ``over`` to be typed over.
        """

    def picture(self) -> str:
        """The screen as it is, as SVG."""

    def copy(self, text: str) -> None:
        """Put a text into the clipboard, where the terminal lets programs do that."""

    def push(self, screen: ModalScreen[None]) -> None:
        """Show another screen over this one."""

    def show(self, source: RoundSource) -> None:
        """Show another source in place of this one, which goes on to exist."""

    def repaint(self) -> None:
        """Paint the state as it is."""

    def later(self, call: Callable[[], object]) -> None:
        """Call it once what there is now has been painted."""

    def every(self, seconds: float, call: Callable[[], object]) -> Timer:
        """Call again and again, until the timer's ``stop``."""

    def thread(
        self, job: Callable[[], T], done: Callable[[T], object], failed: Callable[[SpecstepError], object]
    ) -> None:
        """Run ``job`` in a thread, and then one of the others, with what came of it, where state may be changed."""


class Feature:
    """Its public methods are actions: a key's action is ``do('name.method', argument)``.

    What it must know of the run it is told by the hooks below, which do nothing by themselves. One that overrides a
    hook is there from the start, any other is loaded at its first key: see ``tui.features.all``.
    """

    name: ClassVar[str]

    def __init__(self, host: Host) -> None:
        self.host = host

    def opened(self, session: Session) -> None:
        """There is a source: the first, a fork, or another one. It may have no round yet."""

    def grew(self, session: Session) -> None:
        """Rounds were made, read or received."""

    def changed(self, session: Session) -> None:
        """The cursor or anything else may have changed; it will be painted after this."""

    def walks(self, _count: int, /) -> bool:
        """``n`` (positive) or ``p`` (negative) was pressed; whether it was meant for this feature."""
        return False

    def scrolled(self, _step: int, /) -> bool:
        """Up (negative) or down was pressed; whether it was meant for this feature."""
        return False

    def wheeled(self, _pane: int, _step: int, /) -> bool:
        """The wheel was turned over a pane; whether it was meant for this feature."""
        return False

    def clicked(self, _pane: int, _row: int, _width: int, _height: int, /) -> bool:
        """A row of a pane's content, of this size, was clicked; whether it was meant for this feature."""
        return False

    def entered(self) -> bool:
        """``enter`` was pressed; whether it was meant for this feature."""
        return False

    def escaped(self) -> bool:
        """``esc`` was pressed; whether there was something to leave."""
        return False

    def caption(self, _width: int, /) -> list[Line]:
        """Lines that stand above the status line as long as there are any."""
        return []
