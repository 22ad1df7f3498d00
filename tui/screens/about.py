"""What a run is a run of, from its header: the model, what it can do, what ran where, the drafter, the options."""

from engine.about import Fact, facts
from engine.records import Header
from tui.lines import Line, Span, left, wrap
from tui.marks import Marks, Role
from tui.screens.listing import ListingScreen
from tui.text import safe

_COLUMN = 11


class AboutScreen(ListingScreen):
    """A line for each fact, folded where it is long."""

    entering = ""

    def __init__(self, marks: Marks, header: Header) -> None:
        super().__init__(marks, "About this run")
        self._facts = [*facts(header.base, _map(header.run.get("model")), header.device), *_run(header)]
        self._folded: tuple[int, list[Line]] = (-1, [])

    def rows(self) -> int:
        return len(self._lines(self.size.width - 2))

    def row(self, index: int, width: int, /) -> Line:
        return self._lines(width)[index]

    def _lines(self, width: int) -> list[Line]:
        if self._folded[0] != width:
            self._folded = width, [line for fact in self._facts for line in self._line(fact, width)]
        return self._folded[1]

    def _line(self, fact: Fact, width: int) -> list[Line]:
        parts = wrap(safe(fact.says, self.marks), max(10, width - _COLUMN - 1))
        names = [fact.about, *[""] * (len(parts) - 1)]
        return [
            (Span(left(safe(name, self.marks), _COLUMN, self.marks), Role.DIM), *part)
            for name, part in zip(names, parts, strict=True)
        ]


def _run(header: Header) -> list[Fact]:
    """The run beside its base."""
    drafter, options = header.drafter, header.options
    names = [] if drafter is None else [name for name in (drafter.kind, drafter.name) if name]
    told = [
        Fact("drafter", "none: plain decode" if drafter is None else ", ".join(names)),
        Fact("options", ", ".join(f"{key} {value}" for key, value in options.items() if value not in ([], ()))),
        Fact("prompt", _prompt(header)),
        Fact("written", " ".join(str(part) for part in (*header.writer.values(), header.created) if part)),
    ]
    free = {key: value for key, value in header.run.items() if key not in ("model", "chat")}
    told += [Fact(str(key), str(value)) for key, value in free.items()]
    return [fact for fact in told if fact.says]


def _prompt(header: Header) -> str:
    if header.prompt is None:
        return ""
    chat = ", in the model's chat template" if header.run.get("chat") else ""
    return f"{len(header.prompt)} tokens{chat}"


def _map(value: object) -> dict[str, object]:
    return value if isinstance(value, dict) else {}
