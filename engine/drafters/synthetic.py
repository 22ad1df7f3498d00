"""A drafter that knows the text and errs at given rates: for demonstrations and cost models, never a measurement."""

from collections.abc import Sequence

from engine.base.base import Rows
from engine.drafters.drafter import Draft, PickRow
from engine.errors import Refused
from engine.records import DrafterInfo
from engine.sampling import Purpose, uniform


class SyntheticDrafter:
    """Drafts the tokens of ``text``, each right with the rate of its place in the draft if those before it are right.

    Which ones are wrong is a function of the seed and the position. Where the run leaves the text, or the text ends,
    it drafts nothing. Under the rejection rule a right token is still only accepted with the base's probability of it.

    Args:
        text: prompt and continuation, one token a position: what plain decode gives with the same options.
        rates: conditional acceptance rates of draft 1, 2, ..., the last one repeating. They are also its claimed
            probabilities.

    Raises:
        Refused: no rates, a rate that is no probability, or a vocabulary that has no wrong token.
    """

    def __init__(self, text: Sequence[int], rates: Sequence[float], vocab_size: int, *, seed: int = 0) -> None:
        if not rates:
            raise Refused("a synthetic drafter needs at least one acceptance rate")
        for j, rate in enumerate(rates):
            if not 0 <= rate <= 1:
                raise Refused(f"the acceptance rate of draft {j + 1} is {rate}: use a number from 0 to 1")
        if vocab_size < 2:
            raise Refused(f"a synthetic drafter cannot err in a vocabulary of {vocab_size}: it needs at least 2 tokens")
        self.info = DrafterInfo(kind="synthetic", name="synthetic-" + "-".join(f"{rate:g}" for rate in rates))
        self.vocab_size: int | None = vocab_size
        self.needs: frozenset[str] = frozenset()
        self.needs_anchor_row = False
        self._text = tuple(text)
        self._rates = tuple(rates)
        self._seed = seed
        self._tokens: list[int] = []

    @property
    def consumed(self) -> int:
        return len(self._tokens)

    def draft(self, t1: int, limit: int, pick: PickRow, tau: float, anchor: Rows | None = None) -> Draft:  # noqa: ARG002
        assert self.vocab_size is not None
        start = len(self._tokens)
        if (*self._tokens, t1) != self._text[: start + 1]:
            return Draft()
        known = self._text[start + 1 : start + 1 + limit]
        p = tuple(self._rates[min(j, len(self._rates) - 1)] for j in range(len(known)))
        tokens = []
        for j, token in enumerate(known):
            errs = uniform(self._seed, start + 1 + j, Purpose.PROPOSE) >= p[j]
            tokens.append((token + errs) % self.vocab_size)
        return Draft(tuple(tokens), p, p)

    def commit(self, tokens: Sequence[int], rows: Rows) -> None:  # noqa: ARG002
        self._tokens += tokens

    def rollback(self, keep: int) -> None:
        del self._tokens[keep:]
