"""What a person sees until the source is there: what it is at, for how long, and how to give it up. No Textual."""

import time
from collections.abc import Callable, Sequence

from tui.lines import Line, Span, left, wrap
from tui.marks import Marks, Role
from tui.numbers import seconds
from tui.text import safe


class Waiting:
    """``stages`` tells what the opening was at so far, the last of them still; ``stop`` gives it up at once."""

    def __init__(
        self,
        title: str,
        stages: Callable[[], Sequence[str]] = tuple,
        stop: Callable[[], object] = lambda: None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.title = title
        self.given_up = False
        self._stop = stop
        self._stages = stages
        self._clock = clock
        self._began = clock()
        self._seen: list[tuple[str, float]] = []

    def give_up(self) -> None:
        """It is wanted no more."""
        self.given_up = True
        self._stop()

    def line(self, marks: Marks) -> Line:
        """In one line: what it is at, and since when."""
        self._look()
        now = safe(self._seen[-1][0], marks) if self._seen else self.title
        return (
            Span(f" {now}", Role.STRONG),
            Span(f"  {seconds(self._clock() - self._began)}, esc gives it up", Role.DIM),
        )

    def lines(self, marks: Marks, width: int) -> list[Line]:
        """Stage by stage, each with the time that it took."""
        self._look()
        lines: list[Line] = [*wrap(self.title, width, Role.STRONG), ()]
        ends = [begun for _, begun in self._seen[1:]]
        for i, (stage, begun) in enumerate(self._seen):
            done = i < len(ends)
            sign = Span(f"{marks.accepted if done else marks.plain} ", Role.ACCEPTED if done else Role.PLAIN)
            took = seconds((ends[i] if done else self._clock()) - begun)
            lines.append(
                (sign, Span(left(safe(stage, marks), max(width - 12, 8), marks)), Span(f"{took:>10}", Role.DIM))
            )
        return lines

    def _look(self) -> None:
        stages = self._stages()
        now = self._clock()
        self._seen += [(stage, now if self._seen else self._began) for stage in stages[len(self._seen) :]]
