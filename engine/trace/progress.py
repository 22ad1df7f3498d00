"""The state of a run as its rounds tell it, for ``check`` records and for the ``end`` of a recovered trace."""

from engine.records import Round


class Progress:
    """Counts over the rounds so far. ``fell_back_at`` counts the rounds that the fallback rule recorded."""

    def __init__(self) -> None:
        self.rounds = 0
        self.emitted = 0
        self.pos: int | None = None
        self.window: tuple[int, ...] | None = None
        self.off: bool | None = None
        self.fell_back_at: int | None = None
        self._recorded = 0

    def note(self, round_: Round) -> None:
        """Take in the next round."""
        self.rounds += 1
        self.emitted += round_.count
        self.pos = round_.consumed
        self._recorded += round_.form != "plain" or round_.reason == "zero-draft"
        if round_.fallback is not None:
            self.window, self.off = round_.fallback.window, round_.fallback.off
            if self.off and self.fell_back_at is None:
                self.fell_back_at = self._recorded
