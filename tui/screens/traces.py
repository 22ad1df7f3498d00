"""The list of traces to open."""

from collections.abc import Callable

from tui.lines import Line, Span, left, right
from tui.marks import Marks, Role
from tui.screens.listing import ListingScreen
from tui.text import safe
from tui.traces import About, Entry

_KIND, _MODEL, _FIGURE = 9, 22, 9
_NAME = 16
"""Cells of a name at least; where there is no room for that, the model is left out, and the kind."""


class TracesScreen(ListingScreen):
    """Calls ``choose`` with the entry chosen; what each is comes by and by with ``learn``. ``live`` heads the list."""

    entering = "open"

    def __init__(self, marks: Marks, entries: list[Entry], live: str, choose: Callable[[Entry | None], None]) -> None:
        super().__init__(marks, "Open")
        self._entries: list[Entry | None] = [*([None] if live else []), *entries]
        self._live = live
        self._choose = choose
        self._known: dict[Entry, About] = {}

    def learn(self, entry: Entry, about: About) -> None:
        """What an entry is."""
        self._known[entry] = about
        self._tell()
        self.update()

    def rows(self) -> int:
        return len(self._entries)

    def heads(self, width: int, /) -> list[Line]:
        figures = "".join(right(name, _FIGURE, self.marks) for name in ("rounds", "flip", "findings"))
        kind, model = " " * self._kind(width), left("model", self._model(width), self.marks)
        return [(Span(f"{kind}{left('trace', self._named(width), self.marks)}{model}{figures}", Role.DIM),)]

    def row(self, index: int, width: int, /) -> Line:
        entry, room = self._entries[index], self._named(width)
        if entry is None:
            return (Span(left("live", max(self._kind(width), 6), self.marks), Role.KEY), Span(self._live, Role.STRONG))
        kind = Span(left(entry.kind, self._kind(width), self.marks), Role.DIM)
        name = Span(left(safe(entry.name, self.marks), room - 1, self.marks) + " ", Role.STRONG)
        about = self._known.get(entry)
        if about is None:
            return (kind, name, Span("looking into it", Role.DIM))
        if about.broken:
            return (kind, name, Span(f"{self.marks.finding} cannot be read", Role.WARNING))
        flip = self.marks.dash if about.flip is None else f"{self.marks.flip} {about.flip}"
        many = "?" if about.findings is None else f"{self.marks.finding} {about.findings}" if about.findings else "0"
        return (
            kind,
            name,
            Span(left(safe(about.model, self.marks), self._model(width), self.marks)),
            Span(right(str(about.rounds), _FIGURE, self.marks)),
            Span(right(flip, _FIGURE, self.marks), Role.DIM if about.flip is None else Role.FLIP),
            Span(right(many, _FIGURE, self.marks), Role.WARNING if about.findings else Role.DIM),
        )

    def moved(self) -> None:
        self._tell()

    def enter(self, index: int) -> None:
        entry = self._entries[index]
        self.dismiss()
        self._choose(entry)

    def _tell(self) -> None:
        entry = self._entries[self.cursor] if self._entries else None
        about = None if entry is None else self._known.get(entry)
        self.note = "" if about is None else about.says

    def _named(self, width: int) -> int:
        return max(8, width - self._kind(width) - self._model(width) - 3 * _FIGURE)

    def _kind(self, width: int) -> int:
        return _KIND if width >= _NAME + _KIND + 3 * _FIGURE else 0

    def _model(self, width: int) -> int:
        return _MODEL if width >= _NAME + _KIND + _MODEL + 3 * _FIGURE else 0
