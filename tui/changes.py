"""Options as they are typed to fork a run: ``k=5 drafter=lookup bar=2``. Pure."""

from typing import Any, NamedTuple

from engine.errors import Refused
from engine.options import Options

SHORT = {"bar": "fallback_below", "window": "fallback_window"}
NAMES = (
    "k",
    "form",
    "drafter",
    "bar",
    "window",
    "tau",
    "temperature",
    "top_k",
    "top_p",
    "sampler",
    "seed",
    "max_tokens",
)
_WORDS, _WHOLE = ("form", "sampler"), ("k", "window", "top_k", "seed", "max_tokens")


class Changes(NamedTuple):
    """What a fork changes: all options as they then are, and another drafter by name; ``None`` is no change."""

    options: Options | None
    drafter: str | None


def read(text: str, options: dict[str, Any]) -> Changes:
    """The changes that ``text`` makes to the options of a header.

    A temperature that is given alone brings the sampler that goes with it.

    Raises:
        Refused: it is not ``name=value`` words, or a value is out of its range.
    """
    drafter, changed = None, dict[str, Any]()
    for word in text.split():
        name, equals, value = word.partition("=")
        if name not in NAMES or not equals or not value:
            raise Refused(f"{word!r}: give name=value, with a name of {', '.join(NAMES)}")
        if name == "drafter":
            drafter = value
        else:
            changed[SHORT.get(name, name)] = _value(name, value)
    if "temperature" in changed and "sampler" not in changed:
        had = options.get("sampler")
        changed["sampler"] = "greedy" if changed["temperature"] == 0 else "rejection" if had == "greedy" else had
    return Changes(Options.from_map({**options, **changed}) if changed else None, drafter)


def _value(name: str, text: str) -> int | float | str:
    if name in _WORDS:
        return text
    try:
        return int(text)
    except ValueError:
        pass
    try:
        number = float(text)
    except ValueError:
        raise Refused(f"{name} is {text!r}: give a number") from None
    if name in _WHOLE:
        raise Refused(f"{name} is {text!r}: give a whole number")
    return number
