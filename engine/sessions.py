"""The sessions of a run's models: all by one provider, and an account of what became of each."""

from pathlib import Path
from typing import Any

from engine import pages
from engine.provider import Provider
from engine.records import Event
from engine.session import DEFAULT, Session
from engine.stages import stage

FALLBACK = "provider-fallback"
"""The code of the event that says that the CPU runs what another provider was asked for."""


class Sessions:
    """Makes sessions by ``provider``. It is called as ``Session`` is."""

    def __init__(self, provider: Provider = DEFAULT) -> None:
        self._provider = provider
        self._placements: dict[str, dict[str, int]] = {}
        self._events: list[Event] = []
        self._huge = 0

    def __call__(self, path: Path, *, threads: int = 1) -> Session:
        stage(f"loading {path.name}")
        before = pages.resident() if pages.possible() else None
        made = Session(path, threads=threads, provider=self._provider)
        if before is not None and pages.resident() - before >= pages.WORTH:
            self._huge = _on_huge_pages(path.name)
        again = str(path) in self._placements
        self._placements[str(path)] = made.placement()
        if not again and (left := made.left_to_cpu()) is not None:
            self._events.append(Event(level="warning", code=FALLBACK, message=left))
        return made

    @property
    def events(self) -> tuple[Event, ...]:
        """What was to be said of the graphs so far, one for each that fell back to the CPU."""
        return tuple(self._events)

    def account(self) -> dict[str, Any]:
        """For a trace's header: nodes of each graph by provider and file name; bytes of the process on huge pages."""
        graphs = {Path(path).name: placement for path, placement in self._placements.items() if placement}
        return {"graphs": graphs} | ({"huge_pages": self._huge} if self._huge else {})


def _on_huge_pages(name: str) -> int:
    """Put what was just loaded there; how many bytes of the process are there then."""
    wanting = [area for area in pages.areas() if area.wanting]
    told = stage(f"moving {name} to huge pages", pages.size_of(wanting))
    pages.moved(wanting, pages.collapse, told)
    return sum(area.huge for area in pages.areas())
