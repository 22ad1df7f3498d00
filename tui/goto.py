"""The language of "go to": a round, a token, a time, a share of the run, the flip, an end."""

import re
from collections.abc import Callable

from engine.errors import SpecstepError
from tui.series import Series

FORMS = "812, tok 5000, t 12.5, 50%, flip, start, end"


class NoSuchPlace(SpecstepError):
    """A place that is not in the run, or that cannot be read as one."""


def find(text: str, series: Series) -> int:
    """The round that ``text`` names.

    Raises:
        NoSuchPlace: there is no such round, and why.
    """
    words = " ".join(text.lower().split())
    if not len(series):
        raise NoSuchPlace("there is no round yet")
    for pattern, place in _PLACES:
        if match := re.fullmatch(pattern, words):
            return place(match[1], series)
    raise NoSuchPlace(f"{text.strip()!r} is no place: write one of {FORMS}")


def _round(text: str, series: Series) -> int:
    index = int(text)
    if index >= series.total:
        raise NoSuchPlace(f"round {index} is not there: the last round is {series.total - 1}")
    return index


def _token(text: str, series: Series) -> int:
    found = series.round_of_token(int(text))
    if found is None:
        raise NoSuchPlace(f"token {text} is not there: {series.tokens[-1]} were emitted, counted from 0")
    return found


def _time(text: str, series: Series) -> int:
    whole = series.clock[-1] / 1000
    if not whole:
        raise NoSuchPlace("the rounds have no times")
    if float(text) > whole:
        raise NoSuchPlace(f"{text} s is past the end: the rounds took {whole:.2f} s")
    return series.round_at(float(text))


def _share(text: str, series: Series) -> int:
    if float(text) > 100:
        raise NoSuchPlace(f"{text}% is more than the run")
    return round(float(text) / 100 * (series.total - 1))


def _flip(_: str, series: Series) -> int:
    if series.flip is None:
        raise NoSuchPlace("there is no flip: drafting was not given up in these rounds")
    return series.flip


_PLACES: tuple[tuple[str, Callable[[str, Series], int]], ...] = (
    (r"(\d+)", _round),
    (r"(?:tok|token) ?(\d+)", _token),
    (r"t ?(\d+(?:\.\d+)?) ?s?", _time),
    (r"(\d+(?:\.\d+)?) ?%", _share),
    (r"(flip)", _flip),
    (r"(start|first)", lambda _, __: 0),
    (r"(end|last)", lambda _, series: series.total - 1),
)
