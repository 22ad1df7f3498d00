"""Drafters as they are named on a command line: ``NAME`` or ``NAME:key=value,key=value``."""

from collections.abc import Sequence
from typing import NamedTuple

from engine.drafters.lookup import ADAPT, LookupDrafter
from engine.drafters.synthetic import SyntheticDrafter
from engine.errors import Refused

WHOLE = {"draft-model": "model"}
"""Drafters with one argument, which stands without its key, and may hold commas and equals signs."""


class Named(NamedTuple):
    """A drafter's name and the arguments behind it."""

    name: str
    arguments: dict[str, str]

    def only(self, *known: str) -> None:
        """Refuse arguments other than ``known``."""
        for key in self.arguments:
            if key not in known:
                offer = f"it takes {', '.join(known)}" if known else "it takes none"
                raise Refused(f"drafter {self.name} has no argument {key!r}: {offer}")

    def number(self, key: str) -> int | None:
        """An argument that is a whole number, ``None`` if it was not given."""
        text = self.arguments.get(key)
        try:
            return None if text is None else int(text)
        except ValueError as error:
            raise Refused(f"drafter {self.name}: {key} is {text!r}, not a whole number") from error


def parse(spec: str) -> Named:
    """Read ``lookup:n=3,match=latest``, or ``draft-model:FOLDER``.

    Raises:
        Refused: there is no name, or an argument is not ``key=value``.
    """
    name, _, rest = spec.partition(":")
    if not name:
        raise Refused(f"drafter {spec!r}: give a name, as in mtp or lookup:n=3,match=latest")
    if name in WHOLE:
        return Named(name, {WHOLE[name]: rest} if rest else {})
    arguments: dict[str, str] = {}
    for part in rest.split(",") if rest else ():
        key, equals, value = part.partition("=")
        if not key or not equals or not value:
            raise Refused(f"drafter {spec!r}: {part!r} is not key=value, as in lookup:n=3,match=latest")
        arguments[key] = value
    return Named(name, arguments)


def lookup(named: Named) -> LookupDrafter:
    """A lookup of up to ``n`` tokens, at least ``min``; ``match`` is which occurrence it follows, ``adapt`` how far."""
    named.only("n", "min", "match", "adapt")
    text = named.arguments.get("adapt", f"{ADAPT:g}")
    try:
        adapt = None if text == "off" else float(text)
    except ValueError as error:
        raise Refused(f"drafter lookup: adapt is {text!r}, expected off or a number as in adapt={ADAPT:g}") from error
    return LookupDrafter(
        longest=named.number("n"),
        shortest=named.number("min"),
        match=named.arguments.get("match", "latest"),
        adapt=adapt,
    )


def synthetic(named: Named, text: Sequence[int], vocab_size: int) -> SyntheticDrafter:
    """A drafter that knows ``text``, with ``rates`` of acceptance by place, as in rates=0.9-0.8-0.5, and a ``seed``."""
    named.only("rates", "seed")
    given = named.arguments.get("rates", "0.9-0.8-0.7")
    try:
        rates = [float(rate) for rate in given.split("-")]
    except ValueError as error:
        raise Refused(f"drafter synthetic: rates is {given!r}, expected numbers as in rates=0.9-0.8-0.5") from error
    return SyntheticDrafter(text, rates, vocab_size, seed=named.number("seed") or 0)
