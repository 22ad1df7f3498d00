"""A6 and A7: each round starts from what the one before left, in token and in position."""

from engine.records import Prefill, Round
from engine.trace.audit.finding import Findings, Rules
from engine.trace.audit.setup import Setup


class Chain(Rules):
    """A6 ``t1`` is the ``next`` before it; A7 positions add up. After a break it goes on from what is recorded."""

    def __init__(self, setup: Setup) -> None:
        self._prompt = setup.prompt
        self._before: int | None = None
        self._next: int | None = None
        self._held: int | None = setup.prompt

    def prefill(self, prefill: Prefill, found: Findings) -> None:
        if self._prompt is not None and prefill.positions != self._prompt:
            found.add(
                "A7",
                None,
                "positions",
                prefill.positions,
                self._prompt,
                f"the prefill fed {prefill.positions} positions, but the prompt has {self._prompt} tokens: "
                "a token was dropped, doubled, or padding was fed",
            )
        self._held = prefill.positions
        self._next = prefill.next

    def round(self, round_: Round, found: Findings) -> None:
        t1, pos, consumed = round_.t1, round_.pos, round_.consumed
        if t1 != self._next and t1 is not None and self._next is not None:
            found.add(
                "A6",
                round_.index,
                "t1",
                t1,
                self._next,
                f"round {round_.index} begins with token {t1}, but {self._source()} decided {self._next}: "
                "the anchor was lost; look at what the host carries over between rounds",
            )
        if pos != self._held and pos is not None and self._held is not None:
            found.add("A7", round_.index, "pos", pos, self._held, self._starts_wrong(round_.index, pos, self._held))
        count = round_.count if round_.emitted is None else len(round_.emitted)
        if consumed is None:
            self._held = None if pos is None else pos + count
        else:
            if pos is not None and consumed != pos + count:
                found.add("A7", round_.index, "consumed", consumed, pos + count, _ends_wrong(round_, pos + count))
            self._held = consumed
        self._next = round_.next
        self._before = round_.index

    def _source(self) -> str:
        return "the prefill" if self._before is None else f"round {self._before}"

    def _starts_wrong(self, index: int, pos: int, held: int) -> str:
        if pos > held:
            why = "a rejected row was probably kept in the cache; look at the rollback"
        else:
            why = "a kept row was cut off; look at the rollback"
        return f"round {index} starts at position {pos} but {self._source()} ended at {held}: {why}"


def _ends_wrong(round_: Round, expected: int) -> str:
    if round_.consumed is not None and round_.consumed > expected:
        why = "rejected rows stay in the cache; look at the rollback"
    else:
        why = "an emitted token was never fed, or the rollback cut too deep"
    return (
        f"round {round_.index} emits {round_.count} tokens from position {round_.pos} on and should hold {expected}, "
        f"but holds {round_.consumed}: {why}"
    )
