"""The rule that gives up drafting: a rolling mean of tokens a round against a bar."""

from collections import deque

from engine.records import Window


class SpecFallback:
    """Switches drafting off when the mean of the last ``window`` recorded rounds is strictly below ``below``.

    There is no verdict before ``window`` rounds are recorded; ``below = 0`` never fires; ``off`` latches.
    """

    def __init__(self, below: float, window: int) -> None:
        self.below = below
        self.size = window
        self.off = False
        self.recorded = 0
        self.fell_back_at: int | None = None
        self._last: deque[int] = deque(maxlen=window)

    def counts(self, reason: str | None) -> bool:
        """Whether a round is recorded: a drafted one, which has no reason, and one whose drafter gave nothing."""
        return reason is None or reason == "zero-draft"

    def fires(self) -> bool:
        """The verdict on the rounds recorded so far."""
        return len(self._last) == self.size and sum(self._last) < self.below * self.size

    def record(self, emitted: int) -> bool:
        """Take in a round that emitted so many tokens; true on the call that switches drafting off."""
        if self.off:
            return False
        self.recorded += 1
        self._last.append(emitted)
        if not self.fires():
            return False
        self.off = True
        self.fell_back_at = self.recorded
        return True

    def window(self) -> Window:
        """The rule's state, for the record."""
        counts = tuple(self._last)
        return Window(window=counts, mean=sum(counts) / len(counts) if counts else None, off=self.off)
