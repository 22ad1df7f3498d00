"""A base and a drafter of one's own in Python, which the engine here runs, records and lets one step.

    python own_models.py run.msgpack                          # plain and speculative, compared; the latter recorded
    specstep --engine "python own_models.py" --k 5            # step it, fork it, ask what another bar had done

Both are counts over this file: the base of what follows four bytes, the drafter of what follows three.
``engine.base.base`` and ``engine.drafters.drafter`` say what is asked of yours; a drafter may also read the base's
hidden states or taps.
"""

import sys
from collections import Counter, defaultdict
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from engine.base.base import Floats, Rows
from engine.drafters.drafter import Draft, Pick, PickRow
from engine.live import LiveRun
from engine.loop import run
from engine.options import Options
from engine.process.service import serve_own
from engine.recorder import Recorder
from engine.records import BaseInfo, DrafterInfo
from engine.request import LiveRequest

VOCAB = 256
TEXT = Path(__file__).read_bytes()
PROMPT = b"class "
OPTIONS = Options(k=4, max_tokens=120)


class Counts:
    """Logits from how often each byte followed the last ``order`` ones, or as many of them as are known."""

    def __init__(self, order: int) -> None:
        self._order = order
        self._behind: defaultdict[bytes, Counter[int]] = defaultdict(Counter)
        for i, byte in enumerate(TEXT):
            for length in range(min(order, i) + 1):
                self._behind[TEXT[i - length : i]][byte] += 1

    def row(self, tokens: Sequence[int]) -> Floats:
        """The logits after ``tokens``, ``[vocab]``."""
        counted, last = np.full(VOCAB, 0.01, np.float32), bytes(tokens[-self._order :])
        while last not in self._behind:
            last = last[1:]
        for token, times in self._behind[last].items():
            counted[token] += times
        return np.log(counted)


class OwnBase:
    """A ``Base``: its state is the list of its tokens."""

    info = BaseInfo(name="four bytes", vocab_size=VOCAB, state="attention")
    vocab_size = VOCAB
    context_length: int | None = None
    widest: int | None = None

    def __init__(self) -> None:
        self.tokens: list[int] = []
        self._counts = Counts(4)

    @property
    def consumed(self) -> int:
        return len(self.tokens)

    def prefill(self, tokens: Sequence[int]) -> Rows:
        return Rows(self.verify(tokens).logits[-1:], width=len(tokens))

    def step(self, token: int) -> Rows:
        return self.verify((token,))

    def verify(self, tokens: Sequence[int]) -> Rows:
        rows = []
        for token in tokens:
            self.tokens.append(token)
            rows.append(self._counts.row(self.tokens))
        return Rows(np.stack(rows), width=len(rows))

    def rollback(self, keep: int) -> None:
        del self.tokens[keep:]

    def features(self, start: int, stop: int) -> Rows:
        return Rows(np.empty((stop - start, 0), np.float32))

    def lengths(self) -> dict[str, int]:
        return {"kv_len": self.consumed}


class OwnDrafter:
    """A ``Drafter``: it follows its own drafts, one byte at a time."""

    info = DrafterInfo(kind="counts", name="three bytes")
    vocab_size: int | None = VOCAB
    needs: frozenset[str] = frozenset()
    needs_anchor_row = False

    def __init__(self) -> None:
        self._tokens: list[int] = []
        self._counts = Counts(3)

    @property
    def consumed(self) -> int:
        return len(self._tokens)

    def draft(self, t1: int, limit: int, pick: PickRow, tau: float, anchor: Rows | None = None) -> Draft:  # noqa: ARG002
        picks: list[Pick] = []
        rows, text = [], [*self._tokens, t1]
        while len(picks) < limit:
            rows.append(self._counts.row(text))
            picks.append(pick(rows[-1], len(text)))
            if picks[-1].under(tau):
                break
            text.append(picks[-1].token)
        return Draft.of(picks, np.stack(rows))

    def commit(self, tokens: Sequence[int], rows: Rows) -> None:  # noqa: ARG002
        self._tokens += tokens

    def rollback(self, keep: int) -> None:
        del self._tokens[keep:]


def begin(request: LiveRequest) -> LiveRun:
    """The run that a debugger asks for."""
    prompt = request.prompt.encode() or PROMPT
    return LiveRun(
        OwnBase(), OwnDrafter(), list(prompt), request.options, piece=lambda token: bytes([token]), candidates=5
    )


def main() -> int:
    if len(sys.argv) == 1:
        return 0 if serve_own(begin, OPTIONS) else 2
    same = (
        run(OwnBase(), OwnDrafter(), list(PROMPT), OPTIONS).tokens == run(OwnBase(), None, list(PROMPT), OPTIONS).tokens
    )
    recorded = Recorder(begin(LiveRequest(prompt="", options=OPTIONS)), Path(sys.argv[1]))
    while recorded.step() is not None:
        pass
    end = recorded.end()
    sys.stdout.write(
        f"{end.emitted} tokens in {end.rounds} rounds; the text is {'' if same else 'not '}plain decode's\n"
    )
    return 0 if same else 1


if __name__ == "__main__":
    sys.exit(main())
