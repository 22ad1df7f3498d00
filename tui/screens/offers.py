"""A list of runs to choose from."""

from collections.abc import Callable, Sequence

from tui.keys import Hint
from tui.lines import Line, Span, left
from tui.marks import Marks, Role
from tui.offers import Offer
from tui.screens.listing import ListingScreen
from tui.text import safe

TYPED = "another file"


class OffersScreen(ListingScreen):
    """Offers, and last a file whose name is to be typed; ``take`` gets what is chosen, ``None`` for the last."""

    hints: tuple[Hint, ...] = ()
    entering = "compare"

    def __init__(
        self, marks: Marks, heading: str, offers: Sequence[Offer], take: Callable[[Offer | None], None]
    ) -> None:
        super().__init__(marks, heading)
        self._offers, self._take = offers, take

    def rows(self) -> int:
        return len(self._offers) + 1

    def row(self, index: int, width: int) -> Line:
        if index == len(self._offers):
            return (Span(TYPED, Role.STRONG), Span("  its name is asked for", Role.DIM))
        offer = self._offers[index]
        title = left(safe(offer.title, self.marks), max(20, min(width // 2, 32)), self.marks)
        return (Span(title), Span(f"  {safe(offer.about, self.marks)}", Role.DIM))

    def enter(self, index: int) -> None:
        self.dismiss()
        self._take(self._offers[index] if index < len(self._offers) else None)
