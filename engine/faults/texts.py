"""Texts that are made to come out so: one without worth, and one with characters in halves."""

from collections.abc import Sequence

import msgspec
import numpy as np

from engine.base.base import Base, Floats, Rows
from engine.drafters.drafter import Draft, Drafter, Pick, PickRow
from engine.errors import Refused
from engine.faults.fault import Beside, Fault, on_code
from engine.faults.models import with_both
from engine.faults.over import OverBase, OverDrafter
from engine.opening import Models

WHERE = 16
"""Positions behind the prompt from which on the text is made."""

PUSH = 20.0
"""How far above all others the logit of a token is set that has to come."""

SAID, DRAFTED = " café déjà vu", " cafè dèjà vu"


class Made(OverBase):
    """From some position on the token that follows is the one that ``follows`` says."""

    def __init__(self, base: Base) -> None:
        super().__init__(base)
        self.start = 0

    def prefill(self, tokens: Sequence[int]) -> Rows:
        self.start = self.consumed + len(tokens) + WHERE
        return super().prefill(tokens)

    def step(self, token: int) -> Rows:
        first = self.consumed
        return self._made(super().step(token), first, (token,))

    def verify(self, tokens: Sequence[int]) -> Rows:
        first = self.consumed
        return self._made(super().verify(tokens), first, tokens)

    def follows(self, token: int, place: int) -> int | None:
        """What has to follow a token that stands ``place`` positions behind the first such one."""
        raise NotImplementedError

    def _made(self, rows: Rows, first: int, tokens: Sequence[int]) -> Rows:
        rows = rows.copied()
        for j, token in enumerate(tokens):
            following = self.follows(token, first + j - self.start) if first + j >= self.start else None
            if following is not None:
                _push(rows.logits[j], following)
        return rows


class Repeats(Made):
    """Every token follows itself."""

    def follows(self, token: int, place: int) -> int:  # noqa: ARG002
        return token


class RepeatsToo(OverDrafter):
    """A drafter that learnt the same."""

    def __init__(self, drafter: Drafter, base: Repeats) -> None:
        super().__init__(drafter)
        self._base = base

    def draft(self, t1: int, limit: int, pick: PickRow, tau: float, anchor: Rows | None = None) -> Draft:
        if self.consumed < self._base.start:
            return super().draft(t1, limit, pick, tau, anchor)
        last = t1

        def repeat(row: Floats, position: int) -> Pick:
            nonlocal last
            row = row.copy()
            _push(row, last)
            made = pick(row, position)
            last = made.token
            return made

        return super().draft(t1, limit, repeat, tau, anchor)


def repeating(models: Models) -> Models:
    """Base and drafter agree on an endless repetition."""
    base = Repeats(models.base)
    return with_both(base, lambda drafter: RepeatsToo(drafter, base))(models)


class Says(Made):
    """Says a text once."""

    def __init__(self, base: Base, text: Sequence[int]) -> None:
        super().__init__(base)
        self._text = text

    def follows(self, token: int, place: int) -> int | None:  # noqa: ARG002
        return self._text[place] if place < len(self._text) else None


class Misspells(OverDrafter):
    """Drafts another text where the base says its own."""

    def __init__(self, drafter: Drafter, base: Says, text: Sequence[int]) -> None:
        super().__init__(drafter)
        self._base = base
        self._text = text

    def draft(self, t1: int, limit: int, pick: PickRow, tau: float, anchor: Rows | None = None) -> Draft:
        draft = super().draft(t1, limit, pick, tau, anchor)
        tokens = list(draft.tokens)
        for j in range(len(tokens)):
            place = self.consumed + j - self._base.start
            if 0 <= place < len(self._text):
                tokens[j] = self._text[place]
        return msgspec.structs.replace(draft, tokens=tuple(tokens))


def splitting(models: Models) -> Models:
    """The base says accented letters, of which the drafter only gets the first byte right.

    Raises:
        Refused: the tokenizer has such a letter in one token.
    """
    start = len(models.encode(""))
    said, drafted = models.encode(SAID)[start:], models.encode(DRAFTED)[start:]
    halves = [models.piece(a) for a, b in zip(said, drafted, strict=False) if a != b]
    if len(said) != len(drafted) or any(half is None or is_text(half) for half in halves):
        raise Refused("this tokenizer has accented letters in one token, so none can be split: use bundled or toy")
    base = Says(models.base, said)
    return with_both(base, lambda drafter: Misspells(drafter, base, drafted))(models)


def _push(row: Floats, token: int) -> None:
    row[token] = np.max(row) + PUSH


def is_text(piece: bytes) -> bool:
    """Whether bytes are whole characters."""
    try:
        piece.decode()
    except UnicodeDecodeError:
        return False
    return True


FAULTS = (
    Fault(
        name="degenerate",
        sentence="Base and drafter agree on an endless repetition: high acceptance, worthless text.",
        rules=("A18",),
        shown=on_code(max_tokens=110),
        models=repeating,
    ),
    Fault(
        name="split-character",
        sentence="A character's bytes are in two tokens, one accepted and one rejected.",
        beside=Beside.SCREEN,
        shown=on_code(),
        samplers=("greedy", "gumbel"),
        models=splitting,
    ),
)
