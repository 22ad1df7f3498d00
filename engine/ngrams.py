"""How much of a text was said in it before: the share of repeated n-grams, exact, in little memory for a long text."""

from array import array
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Ids = npt.NDArray[np.int64]
    Places = npt.NDArray[np.int64]
    Hashes = npt.NDArray[np.uint64]

_FEW = 4096
"""Up to so many n-grams are put into a set, which takes more than two hundred bytes for each."""
_AT_ONCE = 2**17
MULTIPLIER = 0x9E3779B97F4A7C15
"""The n-gram of a, b, c has the hash ``a * m + b * m**2 + c * m**3`` modulo 2**64."""


class Text:
    """The tokens of a run as its rounds tell them.

    ``tokens`` is ``None`` once a round does not say what it emitted, or says an id of 2**63 or more.
    """

    def __init__(self) -> None:
        self.tokens: array[int] | None = array("q")

    def add(self, emitted: Sequence[int] | None) -> None:
        """Take in what the next round emitted."""
        if self.tokens is None:
            return
        try:
            self.tokens.extend(emitted or ())
        except OverflowError:
            emitted = None
        if emitted is None:
            self.tokens = None


def repeated_ngrams(tokens: Sequence[int], size: int = 8) -> float | None:
    """The share of n-grams that occurred earlier in the text; an ``array("q")`` is not copied.

    ``None`` for a text shorter than one, and for a long one with an id of 2**63 or more, which no vocabulary has.
    """
    grams = len(tokens) - size + 1
    if grams < 1:
        return None
    if grams <= _FEW:
        return 1 - len({tuple(tokens[i : i + size]) for i in range(grams)}) / grams
    import numpy as np  # noqa: PLC0415 (only for a long text)

    try:
        ids = np.frombuffer(tokens, np.int64) if isinstance(tokens, array) else np.array(tokens, np.int64)
    except OverflowError:
        return None
    return 1 - _different(ids, size) / grams


def _different(ids: "Ids", size: int) -> int:
    """How many different n-grams there are.

    They are taken by the first bits of their hashes, so that only some of them are looked at together, and all that
    are the same.
    """
    import numpy as np  # noqa: PLC0415

    hashes = _hashes(ids, size)
    bits = min(8, (len(hashes) // _AT_ONCE).bit_length())
    part_of = np.zeros(len(hashes), np.uint8)
    if bits:
        np.right_shift(hashes, np.uint64(64 - bits), out=part_of, casting="unsafe")
    found = 0
    for part in range(1 << bits):
        places = np.flatnonzero(part_of == part)
        different = places[:0]
        # More than a fair share is in one part where the text goes round in circles: what is left of it is little.
        for start in range(0, len(places), _AT_ONCE):
            together = np.concatenate((different, places[start : start + _AT_ONCE]))
            different = _one_of_each(ids, size, together, hashes[together])
        found += len(different)
    return found


def _hashes(ids: "Ids", size: int) -> "Hashes":
    import numpy as np  # noqa: PLC0415

    hashes = np.zeros(len(ids) - size + 1, np.uint64)
    values = ids.view(np.uint64)
    for start in range(0, len(hashes), _AT_ONCE):
        part = hashes[start : start + _AT_ONCE]
        for k in range(size):
            part += values[start + k : start + k + len(part)] * np.uint64(pow(MULTIPLIER, k + 1, 2**64))
    return hashes


def _one_of_each(ids: "Ids", size: int, places: "Places", hashes: "Hashes") -> "Places":
    """Where one of each of the different n-grams begins that begin at ``places``."""
    import numpy as np  # noqa: PLC0415

    order = np.argsort(hashes)
    places, hashes = places[order], hashes[order]
    new = np.append(True, hashes[1:] != hashes[:-1])
    again = np.flatnonzero(~new)
    left, right = places[again - 1], places[again]
    if any((ids[left + k] != ids[right + k]).any() for k in range(size)):
        # Other n-grams of the same hash.
        found = {ids[place : place + size].tobytes(): place for place in places}
        return np.fromiter(found.values(), np.int64)
    different: Places = places[new]
    return different
