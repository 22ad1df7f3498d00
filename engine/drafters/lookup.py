"""Prompt lookup: drafts what followed the last tokens the time before. It has no model and no probabilities."""

from array import array
from collections.abc import Sequence

from engine.base.base import Rows
from engine.drafters.drafter import Draft, PickRow
from engine.errors import Refused
from engine.records import DrafterInfo

MATCHES = ("latest", "earliest")


class LookupDrafter:
    """Looks for the longest suffix of the text, ``longest`` down to ``shortest`` tokens, in the text before it.

    Args:
        match: which occurrence of that suffix to follow.

    Raises:
        Refused: not ``1 <= shortest <= longest``, or an unknown ``match``.
    """

    def __init__(self, *, longest: int = 3, shortest: int = 2, match: str = "latest") -> None:
        if not 1 <= shortest <= longest:
            raise Refused(f"lookup of {shortest} to {longest} tokens: give 1 <= shortest <= longest")
        if match not in MATCHES:
            raise Refused(f"lookup match is {match!r}: use one of {', '.join(MATCHES)}")
        self.info = DrafterInfo(kind="lookup", name=f"lookup-{shortest}-{longest}-{match}")
        self.vocab_size: int | None = None
        self.needs: frozenset[str] = frozenset()
        self.needs_anchor_row = False
        self._lengths = range(longest, shortest - 1, -1)
        self._latest = match == "latest"
        self._tokens = array("I")

    @property
    def consumed(self) -> int:
        return len(self._tokens)

    def draft(self, t1: int, limit: int, pick: PickRow, tau: float, anchor: Rows | None = None) -> Draft:  # noqa: ARG002
        text = self._tokens + array("I", [t1])
        for length in self._lengths:
            if length < len(text) and (found := self._find(text, length)) is not None:
                return Draft(tuple(text[found + length : found + length + limit]))
        return Draft()

    def commit(self, tokens: Sequence[int], rows: Rows) -> None:  # noqa: ARG002
        self._tokens.extend(tokens)

    def rollback(self, keep: int) -> None:
        del self._tokens[keep:]

    def _find(self, text: "array[int]", length: int) -> int | None:
        """Where the last ``length`` tokens stood before with a token behind them."""
        size = text.itemsize
        before, suffix = text[:-1].tobytes(), text[-length:].tobytes()
        at = before.rfind(suffix) if self._latest else before.find(suffix)
        # A match of bytes need not lie on a token's edge.
        while at >= 0 and at % size:
            at = before.rfind(suffix, 0, at + len(suffix) - 1) if self._latest else before.find(suffix, at + 1)
        return None if at < 0 else at // size
