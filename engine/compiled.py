"""The widths that a device was compiled for, and how a pass over any number of tokens is made of them."""

import itertools
from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from engine.errors import EngineFault, Refused


class Part(NamedTuple):
    """One pass: it runs ``width`` rows, of which the first ``wanted`` count."""

    wanted: int
    width: int

    @property
    def padding(self) -> int:
        """Rows that do not count."""
        return self.width - self.wanted


class Widths(msgspec.Struct, frozen=True):
    """The rows that a pass can have, ascending; none at all: any number.

    Raises:
        Refused: they are not ascending numbers from 1 up.
    """

    sizes: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        if any(size < 1 for size in self.sizes) or any(a >= b for a, b in itertools.pairwise(self.sizes)):
            told = ",".join(map(str, self.sizes))
            raise Refused(f"widths are {told}: give numbers from 1 up in ascending order, as in 1,8,128")

    @property
    def widest(self) -> int | None:
        """The most rows of one pass, ``None`` for any number."""
        return self.sizes[-1] if self.sizes else None

    @property
    def narrowest(self) -> int:
        """The fewest rows of one pass."""
        return self.sizes[0] if self.sizes else 1

    def parts(self, count: int, room: int, least: int = 1) -> list[Part]:
        """The passes that run ``count`` rows where ``room`` rows fit: as few as can be, padded where none fits exactly.

        ``least`` is how many rows each of them has to have, padding included.

        Raises:
            EngineFault: not even the narrowest pass fits.
        """
        if not self.sizes:
            return [Part(count, max(count, least))]
        parts = []
        while count > 0:
            width = self._width(count, room, least)
            taken = min(count, width)
            parts.append(Part(taken, width))
            count -= taken
            room -= taken
        return parts

    def ending_at(self, first: int, last: int) -> list[tuple[int, int]] | None:
        """The passes over rows ``first`` to ``last`` where none can stand behind the last, as spans of rows.

        What a span is short of is run again from before ``first``. ``None`` where there are too few rows for that.
        """
        if not self.sizes:
            return [(first, last)]
        spans = []
        while first < last:
            missing = last - first
            width = next((size for size in self.sizes if missing <= size <= last), None)
            width = width or next((size for size in reversed(self.sizes) if size <= missing), None)
            if width is None:
                return None
            stop = min(last, first + width)
            spans.append((stop - width, stop))
            first = stop
        return spans

    def _width(self, count: int, room: int, least: int) -> int:
        fitting = [size for size in self.sizes if least <= size <= room]
        if not fitting:
            raise EngineFault(f"no pass of a width from {least} up fits {room} positions: widths are {self.sizes}")
        return next((size for size in fitting if size >= count), fitting[-1])


ANY = Widths()


def parse(text: str) -> tuple[int, ...]:
    """Numbers between commas, as in 1,8,128.

    Raises:
        Refused: it is something else, or they are not ascending.
    """
    try:
        return Widths(tuple(int(part) for part in text.split(","))).sizes
    except ValueError as error:
        raise Refused(f"--widths is {text!r}: give numbers between commas, as in 1,8,128") from error


def of_graph(wanted: Sequence[int], fixed: int | None, name: str) -> Widths:
    """The widths that were asked for, or the one that a graph with a fixed number of rows has.

    Raises:
        Refused: the graph has another one than those that were asked for.
    """
    if fixed is None:
        return Widths(tuple(wanted))
    if wanted and tuple(wanted) != (fixed,):
        told = ",".join(map(str, wanted))
        raise Refused(f"{name}: its shapes are fixed at a width of {fixed}, so that widths {told} cannot run")
    return Widths((fixed,))
