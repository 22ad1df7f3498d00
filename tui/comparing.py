"""Two runs that are being compared: read bit by bit, with a list of their differences to walk over. Pure."""

from enum import StrEnum
from typing import NamedTuple

from engine.compare import Alignment, Choice, Report, choice, divergence, report
from engine.compare.words import verdict
from engine.errors import TraceError
from engine.records import Round, RoundSource


class What(StrEnum):
    """What differs."""

    TEXT = "text"
    DRAFTS = "drafts"
    LENGTH = "length"


class Difference(NamedTuple):
    """A difference at a token of the text (from 0), and the round of each side to look at, if there is one.

    For a text that parts these are the rounds that decided the token.
    """

    what: What
    token: int
    left: int | None
    right: int | None


class Comparing:
    """The runs ``left`` (A) and ``right`` (B). ``go_on`` reads; differences are there as soon as they are met.

    They are in the order of the text: drafts that differ behind equal text, then the stretches where the texts part,
    then the end of the shorter one. ``broken`` says why a side cannot be read any further.
    """

    def __init__(self, left: RoundSource, right: RoundSource, names: tuple[str, str]) -> None:
        self.alignment = Alignment(left, right)
        self.names = names
        self.broken = ""
        self._report: Report | None = None

    def __len__(self) -> int:
        alignment = self.alignment
        return len(alignment.drafts) + len(alignment.parted) + self._ends

    @property
    def done(self) -> bool:
        """Whether there is nothing more to read."""
        return bool(self.broken) or self.alignment.done

    @property
    def share(self) -> float:
        """How much of both has been read, up to 1."""
        left, right = self.alignment.left, self.alignment.right
        whole = len(left.source) + len(right.source)
        return (len(left.starts) + len(right.starts)) / whole if whole else 1.0

    @property
    def first(self) -> int:
        """The difference to look at first: where the texts part, else the first there is."""
        return len(self.alignment.drafts) if self.alignment.parted else 0

    @property
    def report(self) -> Report | None:
        """Everything, once it is read."""
        if self._report is None and self.done and not self.broken:
            try:
                self._report = report(self.alignment)
            except TraceError as error:
                self.broken = str(error)
        return self._report

    def go_on(self, limit: int) -> None:
        """Read up to ``limit`` more rounds."""
        try:
            self.alignment.take_in(limit)
        except TraceError as error:
            self.broken = str(error)

    def verdict(self) -> str:
        """Equal or different, as far as is known."""
        if self.broken:
            return f"not readable to the end: {self.broken}"
        found = self.report
        if found is not None:
            return verdict(found, self.names)
        parted = divergence(self.alignment)
        so_far = "equal so far" if parted is None else f"different from token {parted.token} on"
        return f"reading, {self.share:.0%}: {so_far}"

    def difference(self, index: int) -> Difference:
        """The difference number ``index``, from 0."""
        alignment = self.alignment
        if index < len(alignment.drafts):
            met = alignment.drafts[index]
            return Difference(What.DRAFTS, met.token, met.left, met.right)
        index -= len(alignment.drafts)
        if index < len(alignment.parted):
            token, what = alignment.parted[index], What.TEXT
        else:
            token, what = alignment.common, What.LENGTH
        left, right = (self._looked_at(choice(side, token)) for side in (alignment.left, alignment.right))
        return Difference(what, token, left, right)

    def choices(self, token: int) -> tuple[Choice, Choice]:
        """How each side came to a token of the text."""
        return choice(self.alignment.left, token), choice(self.alignment.right, token)

    def rounds(self, difference: Difference) -> tuple[Round | None, Round | None]:
        """The rounds to look at."""
        sides = ((self.alignment.left, difference.left), (self.alignment.right, difference.right))
        left, right = (None if index is None else side.source.round(index) for side, index in sides)
        return left, right

    @property
    def _ends(self) -> bool:
        left, right = self.alignment.left, self.alignment.right
        return self.alignment.done and self.alignment.known and left.tokens != right.tokens

    def _looked_at(self, chosen: Choice) -> int | None:
        return chosen.emitted_in if chosen.decided_in is None else chosen.decided_in
