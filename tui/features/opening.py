"""Opening another trace in place: those that come with specstep, and those that were opened last."""

from pathlib import Path
from typing import TYPE_CHECKING

from engine import paths
from tui import recent
from tui.features.feature import Feature, Host
from tui.live import LiveSource
from tui.session import Session

if TYPE_CHECKING:
    from tui.screens.traces import TracesScreen
    from tui.traces import About, Entry


class Opening(Feature):
    """A live run stays as it is while a trace is looked at, and heads the list."""

    name = "opening"

    def __init__(self, host: Host) -> None:
        super().__init__(host)
        self._live: LiveSource | None = None

    def opened(self, session: Session) -> None:
        path = getattr(session.source, "path", None)
        if isinstance(session.source, LiveSource):
            self._live = session.source
        elif isinstance(path, Path):
            self.host.later(lambda: self.host.thread(lambda: _remember(path), lambda _: None, lambda _: None))

    def open(self) -> None:
        """Show the list."""
        from tui.screens.traces import TracesScreen  # noqa: PLC0415 (numpy: after the first paint)
        from tui.traces import entries  # noqa: PLC0415

        session = self.host.session
        if session is None:
            return
        session.pause()
        live = "" if self._live is None else f"the run that is made here, {len(self._live)} rounds"
        listed = entries(recent.remembered(paths.recent_file()))
        screen = TracesScreen(self.host.marks, listed, live, self._chosen)
        self.host.push(screen)
        self._look_into(screen, listed)

    def _look_into(self, screen: "TracesScreen", listed: "list[Entry]") -> None:
        """One after the other, as long as the list is there."""
        from tui.traces import about  # noqa: PLC0415

        if not listed:
            return
        first, rest = listed[0], listed[1:]

        def told(of: "About") -> None:
            if screen.is_attached:
                screen.learn(first, of)
                self._look_into(screen, rest)

        self.host.thread(lambda: about(first.path), told, lambda _: None)

    def _chosen(self, entry: "Entry | None") -> None:
        from engine.trace.reader import open_trace  # noqa: PLC0415

        if entry is None:
            if self._live is not None:
                self.host.show(self._live.branches[-1])
            return
        path = entry.path
        self.host.thread(lambda: open_trace(path), self.host.show, lambda error: self.host.say(str(error)))


def _remember(path: Path) -> None:
    from tui.traces import is_bundled  # noqa: PLC0415

    if not is_bundled(path):
        recent.remember(paths.recent_file(), path)
