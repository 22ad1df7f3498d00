"""Reads the rounds between two noted offsets, and holds what the notes promise against what is there."""

from typing import NamedTuple

from engine.trace.contents import WIDE, Contents
from engine.trace.decoding import glances
from engine.trace.framing import Framer
from engine.trace.pread import ReadAt

_CHUNK = 64 * 1024


class Row(NamedTuple):
    """One record's offset and bytes."""

    byte: int
    data: bytes


class Block(NamedTuple):
    """The rounds from one noted offset to the next, and the records of other types among them."""

    rounds: tuple[Row, ...]
    others: tuple[Row, ...]


def load(file: ReadAt, contents: Contents, which: int, stop: int, *, numbered: bool = False) -> Block | None:
    """Block ``which``; the last one ends at byte ``stop``. ``None`` where ``contents`` does not fit the file.

    With ``numbered`` the rounds' own ``index`` must fit too.
    """
    if not 0 <= which < len(contents.offsets):
        return None
    first = which * contents.every
    promised = contents.counts[first : first + contents.every]
    last = which + 1 == len(contents.offsets)
    rounds: list[Row] = []
    others: list[Row] = []
    framer = Framer(contents.offsets[which])
    for cut in file.cuts(framer, stop if last else contents.offsets[which + 1], _CHUNK):
        for glance, (byte, data) in zip(glances(cut), cut.spans(), strict=True):
            if glance.type != "round":
                others.append(Row(byte, data))
                continue
            place = len(rounds)
            if place >= len(promised) or promised[place] != min(max(glance.count, 0), WIDE):
                return None
            if numbered and glance.index != first + place:
                return None
            rounds.append(Row(byte, data))
    if framer.torn() is not None or len(rounds) != len(promised) or rounds[0].byte != contents.offsets[which]:
        return None
    return Block(tuple(rounds), tuple(others))
