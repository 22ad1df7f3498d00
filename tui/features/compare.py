"""Comparing the run that is shown with another: a trace, or another branch of it."""

from pathlib import Path

from engine.errors import SpecstepError
from engine.records import RoundSource
from tui.comparing import Comparing
from tui.features.feature import Feature
from tui.offers import Offer, name_of, offers
from tui.screens.compare import CompareScreen
from tui.screens.offers import OffersScreen


class Compare(Feature):
    """Offers what there is to compare with, opens it, and shows both."""

    name = "compare"

    def choose(self) -> None:
        """Ask what to compare with."""
        session = self.host.session
        if session is None:
            return
        session.pause()
        self.host.after()
        heading = f"compare {name_of(session.source)} with"
        self.host.push(OffersScreen(self.host.marks, heading, offers(session.source), self._taken))

    def _taken(self, offer: Offer | None) -> None:
        if offer is None:
            self.host.ask("file", "The trace to compare with; escape leaves it.", "", self._typed)
        elif offer.source is not None:
            self._show(offer.source)
        elif offer.path is not None:
            self._open(offer.path)

    def _typed(self, text: str) -> None:
        self._open(Path(text.strip()).expanduser())

    def _open(self, path: Path) -> None:
        from engine.trace.reader import open_trace  # noqa: PLC0415 (numpy: only to read a trace)

        def failed(error: SpecstepError) -> None:
            self.host.say(str(error).replace(str(path), path.name))

        self.host.say(f"opening {path.name}")
        self.host.thread(lambda: open_trace(path), self._show, failed)

    def _show(self, other: RoundSource) -> None:
        session = self.host.session
        if session is None:
            return
        session.note = ""
        names = (name_of(session.source), name_of(other))
        comparing = Comparing(session.source, other, names)
        self.host.push(CompareScreen(self.host.marks, comparing, self._go))
        self.host.after()

    def _go(self, index: int) -> None:
        self.host.move(lambda session, _: session.jump(index))
