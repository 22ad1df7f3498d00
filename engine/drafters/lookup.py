"""Prompt lookup: drafts what followed the last tokens the time before. It has no model and no probabilities.

How far it drafts is decided by what lookup would have been worth on the text so far. At every token of it, prompt and
answer, the longest match either foretold that token or did not; the share that did, for matches of that length, is
the chance of the next draft. A draft that is right makes the match one longer, so that the chance of a whole draft is
a product along growing lengths. It goes on as long as that is no less than ``adapt``, what a draft has to bring in for
the row that it costs, and is left out where it would not pay for the batch either. All of this is a function of the
text alone: neither of the clock, nor of how the text came about, so that a run that is made again, or taken up behind
any round, drafts the same.
"""

from collections.abc import Sequence

from engine.base.base import Rows
from engine.drafters.drafter import Draft, PickRow
from engine.drafters.seen import SeenText
from engine.drafters.worth import Worth
from engine.errors import Refused
from engine.records import DrafterInfo

MATCHES = ("latest", "earliest")
LONGEST = 64
ADAPT = 0.1
"""A row costs a sixteenth of a plain pass on a CPU, and time is dearer where a pass lands more than a token."""


class LookupDrafter:
    """Looks for the longest suffix of the text, ``longest`` down to ``shortest`` tokens, in the text before it.

    Args:
        match: which occurrence of that suffix to follow.
        adapt: the least chance that a draft must have; ``None`` drafts as far as it may, whatever came of it before.
        longest: 8 tokens by default, 3 without ``adapt``.
        shortest: 1 token by default, 2 without ``adapt``, where nothing tells when that is too little.

    Raises:
        Refused: not ``1 <= shortest <= longest <= 64``, an unknown ``match``, or an ``adapt`` that is no probability.
    """

    def __init__(
        self,
        *,
        longest: int | None = None,
        shortest: int | None = None,
        match: str = "latest",
        adapt: float | None = ADAPT,
    ) -> None:
        if longest is None:
            longest = 3 if adapt is None else 8
        if shortest is None:
            shortest = min(longest, 2) if adapt is None else 1
        if not 1 <= shortest <= longest <= LONGEST:
            raise Refused(f"lookup of {shortest} to {longest} tokens: give 1 <= shortest <= longest <= {LONGEST}")
        if match not in MATCHES:
            raise Refused(f"lookup match is {match!r}: use one of {', '.join(MATCHES)}")
        if adapt is not None and not 0 <= adapt <= 1:
            raise Refused(f"lookup adapt is {adapt:g}: use off, or a probability from 0 to 1")
        name = f"lookup-{shortest}-{longest}-{match}" + ("" if adapt is None else f"-adapt-{adapt:g}")
        self.info = DrafterInfo(kind="lookup", name=name)
        self.vocab_size: int | None = None
        self.needs: frozenset[str] = frozenset()
        self.needs_anchor_row = False
        self._adapt = adapt
        self._text = SeenText(shortest, longest, latest=match == "latest")
        self._worth = Worth(longest)
        # Whether the text ends with a t1 that was drafted for and is not committed yet.
        self._ahead = False

    @property
    def consumed(self) -> int:
        return len(self._text.tokens) - self._ahead

    def draft(self, t1: int, limit: int, pick: PickRow, tau: float, anchor: Rows | None = None) -> Draft:  # noqa: ARG002
        self.rollback(self.consumed)
        self._push(t1)
        self._ahead = True
        place, length = self._text.match
        if not length:
            return Draft()
        if self._adapt is None:
            return Draft(tuple(self._text.tokens[place : place + limit]))
        return Draft(tuple(self._text.following(self._worth.drafts(length, limit, self._adapt))))

    def commit(self, tokens: Sequence[int], rows: Rows) -> None:  # noqa: ARG002
        known = self._ahead and len(tokens) > 0 and tokens[0] == self._text.tokens[-1]
        if not known:
            self.rollback(self.consumed)
        self._ahead = False
        for token in tokens[known:]:
            self._push(token)

    def rollback(self, keep: int) -> None:
        self._ahead = False
        self._text.cut(keep)
        self._worth.cut(keep)

    def _push(self, token: int) -> None:
        """The text goes on with ``token``, as its end foretold or not."""
        place, length = self._text.match
        self._worth.add(length, right=length > 0 and self._text.tokens[place] == token)
        self._text.push(token)
