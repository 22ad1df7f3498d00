"""The candidates of both sides, on demand."""

from tui.features.feature import Feature
from tui.screens.candidates import CandidatesScreen


class Candidates(Feature):
    """One key, and another screen."""

    name = "candidates"

    def open(self) -> None:
        """The candidates of the round at the cursor."""
        session = self.host.session
        if session is None:
            return
        session.pause()
        if session.moment.index < 0:
            self.host.say("there is no round yet that could have candidates")
            return

        def walk(step: int) -> None:
            self.host.move(lambda session, _: session.jump(session.moment.index + step))

        self.host.push(CandidatesScreen(self.host.marks, session, walk))
