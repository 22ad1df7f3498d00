"""Fallback rules that look right until the window fills, a round is plain, or a drafter gives nothing."""

from engine.fallback import SpecFallback
from engine.faults.fault import Fault, on_code, on_prose, on_toy
from engine.loop import Rules


class Early(SpecFallback):
    """Judges as many rounds as there are."""

    def fires(self) -> bool:
        return sum(self._last) < self.below * len(self._last)


class Tumbling(SpecFallback):
    """Begins a new window when the old one is full."""

    def record(self, emitted: int) -> bool:
        if len(self._last) == self.size:
            self._last.clear()
        return super().record(emitted)


class NonStrict(SpecFallback):
    """Fires at the bar too."""

    def fires(self) -> bool:
        return len(self._last) == self.size and sum(self._last) <= self.below * self.size


class TakesPlain(SpecFallback):
    """Lets every round into the window, after it went off too."""

    def counts(self, reason: str | None) -> bool:  # noqa: ARG002
        return True

    def record(self, emitted: int) -> bool:
        if self.off:
            self._last.append(emitted)
        return super().record(emitted)


class FillsWithAccepted(SpecFallback):
    """Records the accepted drafts and leaves out t1."""

    def record(self, emitted: int) -> bool:
        return super().record(emitted - 1)


class PassesOverEmpty(SpecFallback):
    """Does not record a drafter that gave nothing."""

    def counts(self, reason: str | None) -> bool:
        return reason is None


FAULTS = (
    Fault(
        name="fallback-early",
        sentence="The fallback gives its verdict before its window is full.",
        rules=("A9",),
        shown=on_prose(k=3, fallback_below=3.0, fallback_window=8),
        decides=Rules(fallback=Early),
    ),
    Fault(
        name="fallback-tumbling",
        sentence="The fallback's window tumbles: it is emptied when it is full, and does not roll.",
        rules=("A9",),
        shown=on_code(fallback_below=1.2, fallback_window=4),
        decides=Rules(fallback=Tumbling),
    ),
    Fault(
        name="fallback-non-strict",
        sentence="The fallback fires at exactly the bar, where it should keep drafting.",
        rules=("A9",),
        shown=on_toy("1", fallback_below=2.0, fallback_window=3, max_tokens=30),
        decides=Rules(fallback=NonStrict),
    ),
    Fault(
        name="fallback-plain-in-window",
        sentence="Plain rounds go into the fallback's window, so that no policy can ever take drafting up again.",
        rules=("A9",),
        shown=on_code(fallback_below=4.5, fallback_window=4),
        decides=Rules(fallback=TakesPlain),
    ),
    Fault(
        name="fallback-fills-with-t1",
        sentence="The fallback records the accepted drafts where it should record them and t1.",
        rules=("A9",),
        shown=on_code(fallback_below=1.2, fallback_window=4),
        decides=Rules(fallback=FillsWithAccepted),
    ),
    Fault(
        name="never-recorded",
        sentence="A drafter that returns nothing is never recorded, so that it never falls back.",
        rules=("A9",),
        shown=on_prose("lookup", fallback_below=2.0, fallback_window=4),
        decides=Rules(fallback=PassesOverEmpty),
    ),
)
