"""What an importer finds: requests with rounds of counts, or with totals only."""

from typing import Any, NamedTuple

from engine.errors import TraceError
from engine.records import MOST, DrafterInfo, Event, Round
from engine.trace.importers.source import Problem

LARGEST = 2**48
"""No count of a run is larger."""


class Totals(NamedTuple):
    """Counts over a whole request, where no round is known. ``histogram[j]`` is the number of rounds that took j."""

    rounds: int | None = None
    drafted: int | None = None
    judged: int | None = None
    accepted: int | None = None
    emitted: int | None = None
    plain_rounds: int | None = None
    histogram: tuple[int, ...] | None = None


class Request(NamedTuple):
    """One request of a foreign file.

    ``rounds`` come in order, their ``index`` is set when they are written. ``reported`` holds the engine's own figures
    as they stand in the file; ``reason`` is why it ended, "unknown" where the file does not say.
    """

    name: str
    rounds: tuple[Round, ...] = ()
    totals: Totals | None = None
    reported: dict[str, Any] | None = None
    base: str | None = None
    drafter: DrafterInfo | None = None
    k: int | None = None
    prompt_tokens: int | None = None
    ttft_ms: float | None = None
    reason: str = "unknown"
    notes: tuple[Event, ...] = ()


class Found(NamedTuple):
    """All requests of a file, and the lines that were skipped."""

    requests: list[Request]
    problems: list[Problem]


def drafted(n_drafts: int | None, take: int, ms: dict[str, float] | None = None, **more: Any) -> Round:
    """A drafted round; it emits ``take + 1`` tokens, its correction belongs to the next round.

    Raises:
        TraceError: no round has so many drafts.
    """
    if max(n_drafts or 0, take) >= MOST:
        raise TraceError(f"a round of {max(n_drafts or 0, take)} drafts")
    return Round(index=0, form="one-pass", n_drafts=n_drafts, take=take, n_emitted=take + 1, ms=ms or None, **more)


def plain(ms: dict[str, float] | None = None, **more: Any) -> Round:
    """A step without drafts."""
    return Round(index=0, form="plain", n_drafts=0, take=0, n_emitted=1, ms=ms or None, **more)


def note(code: str, message: str, level: str = "info") -> Event:
    """An event of the import itself."""
    return Event(level=level, code=code, message=message)


def count(values: dict[str, Any], *keys: str) -> int | None:
    """The first of ``keys`` that is there, as a count. Raises ``TraceError`` if it is none from 0 to ``LARGEST``."""
    for key in keys:
        value = values.get(key)
        if value is None:
            continue
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        if not _is_count(value):
            raise TraceError(f"{key} is {_shown(value)}, not a count")
        return value
    return None


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= LARGEST


def _shown(value: Any) -> str:
    text = repr(value) if not isinstance(value, int) or abs(value) <= LARGEST else "a number beyond all counts"
    return text if len(text) <= 40 else f"{text[:39]}…"


def counts(values: dict[str, Any], key: str) -> list[int] | None:
    """A list of counts, ``None`` where it is absent. Raises ``TraceError``."""
    value = values.get(key)
    if value is None:
        return None
    if not isinstance(value, list):
        raise TraceError(f"{key} is not a list")
    for item in value:
        if not _is_count(item):
            raise TraceError(f"{key} holds {_shown(item)}, not a count")
    return value


def number(values: dict[str, Any], key: str) -> float | None:
    """A number from 0 to ``LARGEST``, else ``None``."""
    value = values.get(key)
    if not isinstance(value, int | float) or isinstance(value, bool) or not 0 <= value <= LARGEST:
        return None
    return float(value)


def items(value: Any) -> list[Any]:
    """A JSON array, or an empty one for anything else."""
    return value if isinstance(value, list) else []


def mapping(value: Any) -> dict[str, Any]:
    """A JSON object, or an empty one for anything else."""
    return value if isinstance(value, dict) else {}


def histogram(values: dict[str, Any], *keys: str) -> tuple[int, ...] | None:
    """Rounds by accepted drafts, dense; written as a list, or as a map from the number. Raises ``TraceError``."""
    for key in keys:
        value = values.get(key)
        if not isinstance(value, dict):
            row = counts(values, key)
            if row is not None:
                return tuple(row)
            continue
        if not all(isinstance(j, str) and j.isdigit() and len(j) < 5 for j in value):
            raise TraceError(f"{key} has a key that is no number of drafts")
        return tuple(count(value, str(j)) or 0 for j in range(max(map(int, value), default=-1) + 1))
    return None
