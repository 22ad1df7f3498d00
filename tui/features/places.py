"""Going to a place that is typed, or to the round of the pending count."""

from tui import goto
from tui.features.feature import Feature


class Places(Feature):
    """One key: with a count at once, else it asks."""

    name = "places"

    def go(self) -> None:
        """To the round of the count; without one, ask where to."""
        session = self.host.session
        if session is None:
            return
        session.pause()
        count = self.host.count()
        if count is None:
            self.host.ask("go to", goto.FORMS, "", self._to)
            return
        try:
            self._to(str(count))
        except goto.NoSuchPlace as error:
            self.host.say(str(error))

    def _to(self, text: str) -> None:
        if self.host.session is not None:
            self.host.session.go(text)
            self.host.after()
