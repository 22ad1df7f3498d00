"""What the loop needs of a base (target) model."""

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from engine.records import BaseInfo

Floats = NDArray[np.float32]


class Rows(NamedTuple):
    """What one pass over n tokens gives, a row for each.

    ``logits`` is ``[n, vocab]`` (of a prefill only its last row, ``[1, vocab]``), ``hidden`` ``[n, hidden]`` after the
    final norm, ``taps`` ``[n, taps * hidden]``; the last two are ``None`` where the model does not give them.
    ``width`` is how many rows really ran, padding included.
    """

    logits: Floats
    hidden: Floats | None = None
    taps: Floats | None = None
    width: int = 0

    def kept(self, count: int) -> "Rows":
        """The first ``count`` rows."""
        return Rows(
            self.logits[:count],
            None if self.hidden is None else self.hidden[:count],
            None if self.taps is None else self.taps[:count],
            self.width,
        )

    def copied(self) -> "Rows":
        """The same rows in memory of their own, which outlive the base's next call."""
        return Rows(
            self.logits.copy(),
            None if self.hidden is None else self.hidden.copy(),
            None if self.taps is None else self.taps.copy(),
            self.width,
        )

    def followed_by(self, rest: "Rows") -> "Rows":
        """These rows and then ``rest``, whose width it has."""
        return Rows(
            np.concatenate([self.logits, rest.logits]),
            None if self.hidden is None or rest.hidden is None else np.concatenate([self.hidden, rest.hidden]),
            None if self.taps is None or rest.taps is None else np.concatenate([self.taps, rest.taps]),
            rest.width,
        )


class Base(Protocol):
    """A model with a state that grows by a position a token and can be cut back.

    Rows that a call returns may be views of buffers that the next call overwrites.
    """

    @property
    def info(self) -> BaseInfo: ...
    @property
    def vocab_size(self) -> int: ...
    @property
    def context_length(self) -> int | None:
        """The most positions it can hold, ``None`` for no limit."""

    @property
    def widest(self) -> int | None:
        """The most rows that one pass of it can have, ``None`` for any number."""

    @property
    def consumed(self) -> int:
        """How many positions it holds."""

    @property
    def tokens(self) -> Sequence[int]:
        """The tokens it consumed, one a position."""

    def prefill(self, tokens: Sequence[int]) -> Rows:
        """Consume ``tokens`` in one batch. Hidden states and taps come for every row, logits for the last only."""

    def step(self, token: int) -> Rows:
        """Consume one token: one row."""

    def verify(self, tokens: Sequence[int]) -> Rows:
        """Consume ``tokens`` in one batch: a row for each."""

    def rollback(self, keep: int) -> None:
        """Forget all but the first ``keep`` positions."""

    def features(self, start: int, stop: int) -> Rows:
        """Hidden states and taps of positions it still holds, with empty ``logits``: for a drafter that joins late."""

    def lengths(self) -> dict[str, Any]:
        """The state's own view of how long it is (``kv_len``, ``recurrent``, ...), for ``Round.state``."""
