"""Drafters as they are named on a command line: ``NAME`` or ``NAME:key=value,key=value``."""

from typing import NamedTuple

from engine.drafters.lookup import LookupDrafter
from engine.errors import Refused


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

    def number(self, key: str, default: int) -> int:
        """An argument that is a whole number."""
        text = self.arguments.get(key)
        if text is None:
            return default
        try:
            return int(text)
        except ValueError as error:
            raise Refused(f"drafter {self.name}: {key} is {text!r}, not a whole number") from error


def parse(spec: str) -> Named:
    """Read ``lookup:n=3,match=latest``.

    Raises:
        Refused: there is no name, or an argument is not ``key=value``.
    """
    name, _, rest = spec.partition(":")
    if not name:
        raise Refused(f"drafter {spec!r}: give a name, as in mtp or lookup:n=3,match=latest")
    arguments: dict[str, str] = {}
    for part in rest.split(",") if rest else ():
        key, equals, value = part.partition("=")
        if not key or not equals or not value:
            raise Refused(f"drafter {spec!r}: {part!r} is not key=value, as in lookup:n=3,match=latest")
        arguments[key] = value
    return Named(name, arguments)


def lookup(named: Named) -> LookupDrafter:
    """A lookup of up to ``n`` tokens, at least ``min``; ``match`` is which occurrence it follows."""
    named.only("n", "min", "match")
    longest = named.number("n", 3)
    return LookupDrafter(
        longest=longest,
        shortest=named.number("min", min(2, longest)),
        match=named.arguments.get("match", "latest"),
    )
