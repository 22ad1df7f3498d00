"""What another bar and window would have done: the values, and the same in words."""

from enum import StrEnum

import msgspec


class Kind(StrEnum):
    """How much a recording can say of another bar."""

    FLIPS = "flips"
    """It would have switched drafting off, after a round that is known."""
    SAME = "same"
    """It would have switched off after the very round that the recording did."""
    NEVER = "never"
    """It would not have switched off in these rounds, and no round of the recording was made plain by its own bar."""
    UNKNOWN = "unknown"
    """The recording switched off first: what would have been drafted behind that is not recorded."""


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """What becomes of a run by another ``bar`` and ``window``, over the text that was recorded.

    ``flip`` is the index of the round after which drafting would be off, ``fell_back_at`` the number of recorded rounds
    then, ``mean`` their rolling mean. ``rounds`` is how many rounds the text would take, between ``fewest`` and
    ``most`` where that is not known (``rounds`` is then ``None``), ``recorded_rounds`` how many it took. ``saved_ms``
    is the estimated time saved (negative: lost), ``None`` where it cannot be known; ``ms`` and ``tokens_per_second``
    are the estimates for the whole, prefill not included.
    """

    bar: float
    window: int
    kind: Kind
    flip: int | None = None
    fell_back_at: int | None = None
    mean: float | None = None
    rounds: int | None = None
    fewest: int
    most: int
    recorded_flip: int | None = None
    recorded_rounds: int
    saved_ms: float | None = None
    ms: float | None = None
    tokens_per_second: float | None = None
    recorded_ms: float | None = None
    recorded_tokens_per_second: float | None = None


def flip_words(answer: Answer) -> str:
    """Where drafting would be off, or that nobody knows."""
    match answer.kind:
        case Kind.FLIPS:
            return f"flips after round {answer.flip} (mean {answer.mean:.2f} over {answer.window})"
        case Kind.SAME:
            return f"flips after round {answer.flip}, where the recording did"
        case Kind.NEVER:
            return "never flips in these rounds"
        case Kind.UNKNOWN:
            return "flips later than the recording did, or never: unknown, nothing was drafted behind its flip"


def rounds_words(answer: Answer) -> str:
    """The rounds more or fewer."""
    if answer.rounds is None:
        return f"{answer.fewest} to {answer.most} rounds instead of {answer.recorded_rounds}"
    more = answer.rounds - answer.recorded_rounds
    if more == 0:
        return f"{answer.rounds} round{'' if answer.rounds == 1 else 's'}, as recorded"
    return f"{answer.rounds} rounds instead of {answer.recorded_rounds} ({more:+d})"


def time_words(answer: Answer) -> str:
    """The time saved or lost."""
    if answer.kind is Kind.NEVER or (answer.kind is Kind.SAME and answer.rounds == answer.recorded_rounds):
        return "the same time"
    saved, whole = answer.saved_ms, answer.recorded_ms
    if saved is None:
        return "time unknown"
    if saved == 0:
        return "the same time"
    share = f" ({abs(saved) / whole:.1%})" if whole else ""
    return f"{'saves' if saved > 0 else 'loses'} about {_ms(abs(saved))}{share}"


def _ms(value: float) -> str:
    return f"{value / 1000:.2f} s" if value >= 1000 else f"{value:.3g} ms"
