"""A2 and A3: a round's counts fit each other, and it emits what it accepted."""

from engine.records import Round
from engine.trace.audit.finding import Findings, Rules
from engine.trace.audit.setup import Setup

_REPLAYS = 8
"""Rounds that verify exactly what they accept, of drafts that are longer, before it is no chance."""


class Counts(Rules):
    """A2 ``0 <= take <= verified <= n <= limit <= k``, with a base row for each; A3 ``emitted`` from the drafts."""

    def __init__(self, setup: Setup) -> None:
        self._k = setup.k
        self._stops = setup.stops
        self._max_tokens = setup.max_tokens
        self._emitted = 0
        self._replayed: list[int] = []
        self._widths: set[int] = set()
        self._rejects = False

    def round(self, round_: Round, found: Findings) -> None:
        drafts, take, emitted = round_.drafts, round_.take, round_.emitted
        n = len(drafts) if drafts is not None else round_.n_drafts
        if n is not None:
            verified = n if round_.verified is None else round_.verified
            limit, k, targets = round_.limit, self._k, round_.targets
            if (
                not 0 <= take <= verified <= n
                or (limit is not None and (n > limit or limit < 0 or (k is not None and limit > k)))
                or (k is not None and n > k)
                or (targets is not None and len(targets) != verified + 1)
                or (n and round_.form == "plain")
            ):
                self._explain(round_, n, verified, found)
            if take < verified:
                self._rejects = True
            elif verified < n:
                self._replayed.append(round_.index)
                self._widths.add(verified)
        elif take < 0:
            found.add("A2", round_.index, "take", take, 0, f"round {round_.index} takes {take} drafts, less than none")
        if emitted is not None:
            self._emitted += len(emitted)
            if drafts is not None and round_.t1 is not None and emitted != (round_.t1, *drafts[:take]):
                self._emits(round_, drafts, emitted, round_.t1, found)
        elif round_.n_emitted is not None:
            self._emitted += round_.n_emitted
            if round_.n_emitted != take + 1 and round_.cut is None:
                found.add(
                    "A3",
                    round_.index,
                    "n_emitted",
                    round_.n_emitted,
                    take + 1,
                    f"round {round_.index} says it emitted {round_.n_emitted} tokens, but t1 and {take} accepted "
                    f"drafts are {take + 1}: the correction token belongs to the next round",
                )

    def finish(self, found: Findings) -> None:
        """A narrow verify pass cuts every draft to one width; a replay cuts each to what was accepted before."""
        if self._rejects or len(self._replayed) < _REPLAYS or len(self._widths) < 2:
            return
        found.add(
            "A2",
            self._replayed[0],
            "verified",
            sorted(self._widths),
            None,
            f"{len(self._replayed)} rounds, the first of them round {self._replayed[0]}, verify fewer drafts than were "
            "made, each a different number and each exactly as many as it accepts: after a rejection the shortened "
            "draft is verified again and only that pass is counted, which makes any drafter look perfect",
        )

    def kept(self, round_: Round, found: Findings) -> None:  # noqa: ARG002
        self._emitted += round_.count

    def _explain(self, round_: Round, n: int, verified: int, found: Findings) -> None:
        index, take, limit, k = round_.index, round_.take, round_.limit, self._k
        if take < 0:
            found.add("A2", index, "take", take, 0, f"round {index} takes {take} drafts, less than none")
        if take > verified:
            found.add(
                "A2",
                index,
                "take",
                take,
                verified,
                f"round {index} accepts {take} drafts but verified only {verified}: a token was counted that the base "
                "never judged; look at how the accepted length is computed",
            )
        if verified > n or verified < 0:
            found.add(
                "A2",
                index,
                "verified",
                verified,
                n,
                f"round {index} verified {verified} of {n} drafts: padding or t1 is counted as a draft",
            )
        if n and round_.form == "plain":
            found.add("A2", index, "drafts", n, 0, f"round {index} is plain but lists {n} drafts: name its form")
        if limit is not None and n > limit:
            found.add(
                "A2",
                index,
                "drafts",
                n,
                limit,
                f"round {index} drafts {n} tokens where {limit} were allowed: the drafter ignores its limit",
            )
        elif k is not None and n > k:
            found.add("A2", index, "drafts", n, k, f"round {index} drafts {n} tokens with k = {k}")
        if limit is not None and (limit < 0 or (k is not None and limit > k)):
            found.add(
                "A2",
                index,
                "limit",
                limit,
                k,
                f"round {index} has a limit of {limit} drafts with k = {k}: it is min(k, tokens left - 1)",
            )
        if round_.targets is not None and len(round_.targets) != verified + 1:
            found.add(
                "A2",
                index,
                "targets",
                len(round_.targets),
                verified + 1,
                f"round {index} lists the base's choice on {len(round_.targets)} rows, but {verified} verified drafts "
                f"and t1 give {verified + 1}: a row is missing or one too many was read",
            )

    def _emits(
        self, round_: Round, drafts: tuple[int, ...], emitted: tuple[int, ...], t1: int, found: Findings
    ) -> None:
        expected = (t1, *drafts[: round_.take])
        if emitted and len(emitted) < len(expected) and expected[: len(emitted)] == emitted:
            if round_.cut == "stop" and (self._stops is None or emitted[-1] in self._stops):
                return
            if round_.cut == "budget" and self._max_tokens in (None, self._emitted):
                return
        if expected[: len(emitted)] == emitted or emitted[: len(expected)] == expected:
            how = f"{len(emitted)} tokens where t1 and {round_.take} accepted drafts are {len(expected)}"
        else:
            j = next(j for j, (is_, should) in enumerate(zip(emitted, expected, strict=False)) if is_ != should)
            how = f"token {emitted[j]} at place {j} where {'t1' if j == 0 else f'draft {j}'} is {expected[j]}"
        found.add(
            "A3",
            round_.index,
            "emitted",
            list(emitted),
            list(expected),
            f"round {round_.index} emits {how}: the text and the accepted count do not belong together",
        )
