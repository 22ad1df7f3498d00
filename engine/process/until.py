"""What a run of rounds can stop at, by name."""

from collections.abc import Callable

from engine.errors import Refused
from engine.records import Round

Condition = Callable[[Round], bool]


def flip(round_: Round) -> bool:
    """The round with which the fallback rule switched drafting off."""
    off = round_.fallback is not None and round_.fallback.off
    return off and (round_.form != "plain" or round_.reason == "zero-draft")


def zero(round_: Round) -> bool:
    """The base confirmed none of the drafts."""
    return round_.drafted > 0 and round_.take == 0


def end(round_: Round) -> bool:  # noqa: ARG001
    """No round: the run goes on until it is over."""
    return False


CONDITIONS: dict[str, Condition] = {"end": end, "flip": flip, "zero": zero}


def condition(name: str) -> Condition:
    """The condition of that name.

    Raises:
        Refused: there is none.
    """
    try:
        return CONDITIONS[name]
    except KeyError:
        raise Refused(f"until {name!r}: use one of {', '.join(CONDITIONS)}") from None
