"""Shows what the run is a run of."""

from tui.features.feature import Feature
from tui.screens.about import AboutScreen


class About(Feature):
    """A page over the screen, made of the header."""

    name = "about"

    def open(self) -> None:
        """Show it."""
        session = self.host.session
        if session is not None:
            self.host.push(AboutScreen(self.host.marks, session.source.header))
