"""The list of marked rounds."""

from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding, BindingType

from tui.keys import Hint
from tui.lines import Line, Span, left, right
from tui.marks import Marks, Role
from tui.screens.listing import ListingScreen
from tui.session import Session
from tui.text import safe

if TYPE_CHECKING:
    from tui.features.bookmarks import Marking


class BookmarksScreen(ListingScreen):
    """A row a mark, in the order of the rounds; enter goes there."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("d,delete", "delete", "delete", show=False)]
    hints = (Hint("d", "delete"),)
    entering = "go there"

    def __init__(self, marks: Marks, feature: "Marking", session: Session) -> None:
        super().__init__(marks, "marks")
        self._feature, self._session = feature, session
        rounds = session.bookmarks.rounds
        self.cursor = sum(index < session.moment.index for index in rounds) if rounds else 0

    def rows(self) -> int:
        return len(self._session.bookmarks)

    def heads(self, _width: int, /) -> list[Line]:
        return [(Span(f"      {right('round', 9, self.marks)}  name", Role.DIM),)] if self.rows() else []

    def row(self, index: int, _width: int, /) -> Line:
        round_ = self._session.bookmarks.rounds[index]
        name = self._session.bookmarks.names[round_]
        return (
            Span(f" {self.marks.bookmark} ", Role.KEY),
            Span(left(str(index + 1), 3, self.marks), Role.DIM),
            Span(right(str(round_), 9, self.marks), Role.STRONG),
            Span(f"  {safe(name, self.marks)}"),
        )

    def empty(self) -> str:
        return f"No round is marked yet: {self._session.key('mark')} marks the one at the cursor."

    def enter(self, index: int) -> None:
        self._feature.to(self._session, self._session.bookmarks.rounds[index])
        self.dismiss()

    def action_delete(self) -> None:
        if self.rows():
            self._feature.remove(self._session, self._session.bookmarks.rounds[self.cursor])
            self.update()
