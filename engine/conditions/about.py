"""What a condition may ask beside the round itself: the run's options, its sums so far, what was said and found."""

from collections import deque
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from engine.records import Event, Header, Prefill, Round

if TYPE_CHECKING:
    from engine.trace.audit.auditor import Audit


class RollingMean:
    """The mean of tokens a round over the last ``size`` rounds that enter the fallback's window."""

    def __init__(self, size: int) -> None:
        self._counts: deque[int] = deque(maxlen=max(1, size))

    def add(self, round_: Round) -> float | None:
        """Take in the next round; the mean after it, as recorded or else computed. A plain round has none."""
        if not round_.drafted and round_.reason != "zero-draft":
            return None
        self._counts.append(round_.count)
        recorded = round_.fallback.mean if round_.fallback else None
        return sum(self._counts) / len(self._counts) if recorded is None else recorded


class About:
    """One run, up to the round that is asked about. ``take`` is given every round from the first on, in order.

    ``tokens`` and ``ms`` are sums up to and with that round, ``mean`` is the rolling mean after it (``None`` for a
    plain round), ``found`` whether the audit finds something at it; the audit runs only with ``audited``.
    """

    def __init__(
        self,
        header: Header,
        prefill: Prefill | None = None,
        piece: Callable[[int], bytes | None] = lambda _: None,
        *,
        audited: bool = False,
    ) -> None:
        self.piece = piece
        self.k, self.bar, self.window = (_number(header, key) for key in ("k", "fallback_below", "fallback_window"))
        self.tokens = 0
        self.ms = 0.0
        self.mean: float | None = None
        self.found = False
        self.warned: set[int] = set()
        self.failed: set[int] = set()
        self._mean = RollingMean(window_of(header))
        self._audit = _audit(header, prefill) if audited else None

    def take(self, round_: Round) -> None:
        """Take in the next round, which is the one asked about from here on."""
        self.tokens += round_.count
        self.ms += sum((round_.ms or {}).values())
        self.mean = self._mean.add(round_)
        if self._audit is not None:
            self.found = bool(self._audit.feed(round_))

    def hear(self, events: Iterable[Event]) -> None:
        """Take in what was said of rounds."""
        for event in events:
            if event.round is not None and event.level in ("warning", "fault"):
                (self.warned if event.level == "warning" else self.failed).add(event.round)


def window_of(header: Header) -> int:
    """How many rounds the rolling mean is over."""
    size = header.options.get("fallback_window", 3)
    return size if isinstance(size, int) and size > 0 else 3


def _number(header: Header, key: str) -> float | None:
    value = header.options.get(key)
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


def _audit(header: Header, prefill: Prefill | None) -> "Audit":
    from engine.trace.audit.auditor import Audit  # noqa: PLC0415 (numpy: only where it is asked for)

    audit = Audit(header)
    if prefill is not None:
        audit.feed(prefill)
    return audit
