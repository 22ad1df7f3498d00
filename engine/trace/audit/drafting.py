"""A13: what is counted as a draft was drafted."""

from engine.records import Round
from engine.trace.audit.finding import Findings, Rules
from engine.trace.audit.setup import Setup

_PADDING_ROUNDS = 4
_CONSTANT_ROUNDS = 8
_CONSTANT_TOKENS = 24
_ANCHORS = 3


class Drafting(Rules):
    """A drafted round whose ``draft`` took 0 ms, and one draft repeated round after round.

    A clock that measured nothing in the whole round says nothing, and a lookup may honestly round to 0. Text that
    loops repeats its drafts honestly, but then they are accepted, or the anchors repeat with them: repetition is a
    finding where none of it is accepted while at least ``_ANCHORS`` different anchors came by, over 8 rounds and 24
    tokens, or over 4 rounds of nothing but a padding token (id 0, or the drafter's mask token).
    """

    def __init__(self, setup: Setup) -> None:
        self._looks_up = setup.looks_up or setup.drafter is None
        self._pads = setup.pads
        self._drafts: tuple[int, ...] = ()
        self._first = 0
        self._length = 0
        self._anchors: set[int | None] = set()
        self._said = False

    def round(self, round_: Round, found: Findings) -> None:
        drafts, ms = round_.drafts, round_.ms
        if ms is not None and ms.get("draft") == 0 and not self._looks_up and round_.drafted and any(ms.values()):
            found.add(
                "A13",
                round_.index,
                "ms.draft",
                0,
                None,
                f"round {round_.index} counts {round_.drafted} drafts, but drafting took 0 ms: the drafter was skipped "
                "and its padding is verified and counted",
            )
        if not drafts:
            return
        if round_.take or drafts != self._drafts:
            self._drafts = drafts
            self._first = round_.index
            self._length = 0 if round_.take else 1
            self._anchors = {round_.t1}
            self._said = False
            return
        self._length += 1
        self._anchors.add(round_.t1)
        if not self._said and self._repeats(drafts):
            self._said = True
            found.add(
                "A13",
                self._first,
                "drafts",
                list(drafts),
                None,
                f"from round {self._first} on {self._length} rounds draft the same tokens {list(drafts)} whatever came "
                "before, and none is accepted: padding is counted as drafts, or the drafter reads no input",
            )

    def _repeats(self, drafts: tuple[int, ...]) -> bool:
        if len(self._anchors) < _ANCHORS:
            return False
        if self._length >= _CONSTANT_ROUNDS and self._length * len(drafts) >= _CONSTANT_TOKENS:
            return True
        return self._length >= _PADDING_ROUNDS and len(drafts) > 1 and len({*drafts}) == 1 and drafts[0] in self._pads
