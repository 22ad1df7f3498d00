"""A11 and A12: every value is one that can be, and no decision was made on a broken row."""

import math
from collections.abc import Sequence

from engine.records import End, Prefill, Round
from engine.trace.audit.finding import Findings, Rules
from engine.trace.audit.setup import Setup

ROUNDING = 1e-5
"""How far float32 arithmetic may push a probability out of [0, 1]."""

UNBOUNDED = 1 << 62
"""No id is as large."""


class Sound(Round, frozen=True, kw_only=True, tag="round"):
    """A round whose ids, probabilities and times were found to be right while it was decoded."""


class Values(Rules):
    """A11 ids inside the vocabulary, probabilities in [0, 1], times finite and not negative; A12 non-finite rows."""

    def __init__(self, setup: Setup) -> None:
        self._vocab = setup.vocab or UNBOUNDED

    def prefill(self, prefill: Prefill, found: Findings) -> None:
        if prefill.next is not None:
            self._ids(None, "prefill.next", (prefill.next,), found)
        _times(None, {"prefill.ms": prefill.ms, "prefill.plain_ms": prefill.plain_ms}, found)

    def round(self, round_: Round, found: Findings) -> None:
        # Any other class is ``Sound``; isinstance takes longer than to look at most of the values.
        if type(round_) is Round:
            self._values(round_, found)
        if round_.nonfinite:
            _nonfinite(round_, found)

    def _values(self, round_: Round, found: Findings) -> None:
        drafts, targets, t1, following = round_.drafts, round_.targets, round_.t1, round_.next
        if drafts is not None and targets is not None and t1 is not None and following is not None:
            ids = (t1, following, *drafts, *targets)
            if min(ids) < 0 or max(ids) >= self._vocab:
                self._each_id(round_, found)
        else:
            self._each_id(round_, found)
        if round_.top is not None or round_.draft_top is not None:
            self._candidates(round_, found)
        draft_p, target_p, accept_p = round_.draft_p or (), round_.target_p or (), round_.accept_p or ()
        probabilities = draft_p + target_p + accept_p
        if probabilities and not (
            min(probabilities) >= -ROUNDING and max(probabilities) <= 1 + ROUNDING and math.isfinite(sum(probabilities))
        ):
            _probabilities(round_, found)
        ms = round_.ms
        if ms:
            times = ms.values()
            # A sum of finite times is finite; NaN and infinity survive it.
            if not (min(times) >= 0 and sum(times) < math.inf):
                _times(round_.index, {f"ms.{phase}": value for phase, value in ms.items()}, found)

    def end(self, end: End, found: Findings) -> None:
        _times(None, {"end.plain_ms": end.plain_ms}, found)

    def _each_id(self, round_: Round, found: Findings) -> None:
        for field in ("t1", "next"):
            token = getattr(round_, field)
            if token is not None:
                self._ids(round_.index, field, (token,), found)
        for field in ("drafts", "targets", "emitted"):
            self._ids(round_.index, field, getattr(round_, field) or (), found)

    def _candidates(self, round_: Round, found: Findings) -> None:
        for field in ("top", "draft_top"):
            for row in getattr(round_, field) or ():
                for token, _ in row:
                    if not 0 <= token < self._vocab:
                        self._ids(round_.index, field, (token,), found)
                        break

    def _ids(self, index: int | None, field: str, ids: Sequence[int], found: Findings) -> None:
        for token in ids:
            if not 0 <= token < self._vocab:
                found.add(
                    "A11",
                    index,
                    field,
                    token,
                    None,
                    f"{_where(index)}{field} holds token {token}, outside the vocabulary"
                    + (f" of {self._vocab}" if self._vocab != UNBOUNDED else "")
                    + ": a padding id, or an id of another tokenizer",
                )
                return


def _probabilities(round_: Round, found: Findings) -> None:
    for field in ("draft_p", "target_p", "accept_p"):
        for j, p in enumerate(getattr(round_, field) or ()):
            behind = field != "draft_p" and j > round_.take
            if -ROUNDING <= p <= 1 + ROUNDING or (math.isnan(p) and behind and round_.nonfinite):
                continue
            # A broken row that decides is rule A12's.
            if math.isnan(p) and round_.nonfinite:
                break
            found.add(
                "A11",
                round_.index,
                field,
                p,
                None,
                f"round {round_.index}: {field}[{j}] is {p:g}, which is no probability: it may be a logit or a "
                "logarithm, or its softmax ran over a broken row",
            )
            break


def _times(index: int | None, times: dict[str, float | None], found: Findings) -> None:
    for field, ms in times.items():
        if ms is not None and not (math.isfinite(ms) and ms >= 0):
            found.add(
                "A11",
                index,
                field,
                ms,
                None,
                f"{_where(index)}{field} is {ms:g} ms: a time is finite and not negative; look at the clock and at "
                "what it is read for",
            )


def _nonfinite(round_: Round, found: Findings) -> None:
    """Which row was broken is in the gaps or probabilities, where recorded (NaN): it matters up to row ``take`` only.

    An infinite gap is no broken row: all but one token are masked.
    """
    index, used = round_.index, round_.take + 1
    facts = round_.target_p or round_.gap or ()
    row = next((j for j, value in enumerate(facts[:used]) if math.isnan(value)), None)
    if row is None and len(facts) > used:
        return
    which = f"row {row}" if row is not None else "a row"
    found.add(
        "A12",
        index,
        "nonfinite",
        round_.nonfinite,
        0,
        f"round {index} met {round_.nonfinite} non-finite logits and {which} that decided a token may hold them: NaN "
        "became a valid id; look at the kernel, the mask or the cache behind that row",
    )


def _where(index: int | None) -> str:
    return "" if index is None else f"round {index}: "
