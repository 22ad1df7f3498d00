"""Walking from event to event."""

from tui.features.feature import Feature
from tui.session import Session


class Events(Feature):
    """Keys to the next and the previous event."""

    name = "events"

    def step(self, direction: int) -> None:
        """On (1) or back (-1) by as many events as the count says."""

        def walk(session: Session, count: int) -> None:
            for _ in range(count):
                if not session.event(direction):
                    return

        self.host.move(walk)
