"""A15: rejection sampling decides as its numbers say, with fresh numbers."""

import math
from itertools import pairwise

from engine.records import Round
from engine.trace.audit.finding import Finding, Findings, Rules
from engine.trace.audit.setup import Setup

_RELATIVE, _ABSOLUTE = 1e-5, 1e-9
"""Within this of the edge a decision may fall either way: the numbers may have been rounded to float32."""
_NO_CHANCE = math.log(1e-9)


class Coins(Rules):
    """Draft j is accepted iff ``u_j < accept_p_j / q_j`` (Leviathan et al., 2023, algorithm 1).

    q is ``draft_p`` for a drafter that draws, and 1 for one that picks deterministically, whatever probability it
    reports. A trace does not say which, so a run is fine as long as one of the two explains every decision; once
    neither does, the one that lasted longer is held on to.

    A drafter whose numbers say that it draws, but whose drafts are always its most likely candidate, picks and is
    judged as if it drew: a finding once the chance of that, the product of their ``draft_p``, falls under 1e-9.

    Two numbers in a row that are equal are chance once in 2**24 (float32), so that one pair is let pass and a second
    one, or three equal numbers in one round, is a finding.
    """

    def __init__(self, setup: Setup) -> None:
        self._stops = setup.stops or frozenset()
        self._draws = self._picks = True
        self._looks_up = setup.looks_up
        self._always_best = True
        self._log_chance = 0.0
        self._best = 0
        self._before: tuple[float, ...] = ()
        self._pairs = 0

    def round(self, round_: Round, found: Findings) -> None:
        u, drafts = round_.u, round_.drafts
        if not u:
            return
        self._check_numbers(round_, u, found)
        self._before = u
        if not drafts:
            return
        rejects = (
            round_.take < round_.in_batch
            and round_.cut is None
            and self._stops.isdisjoint(round_.emitted or drafts[: round_.take])
        )
        if rejects and round_.next == drafts[round_.take]:
            found.add(
                "A15",
                round_.index,
                "next",
                round_.next,
                None,
                f"round {round_.index} rejects token {round_.next} and then draws the same token: it is drawn from p "
                "or from a softmax, not from max(p - q, 0), where a rejected token has no share",
            )
        if rejects and round_.target_p and round_.target_p[round_.take : round_.take + 1] == (0,):
            found.add(
                "A15",
                round_.index,
                "target_p",
                0.0,
                None,
                f"round {round_.index} draws token {round_.next} after a rejection, which has no share in p: what "
                "is left of p was normalised with a softmax, or p was taken before top-k and top-p",
            )
        if round_.accept_p is not None:
            self._check_decisions(round_, u, round_.accept_p, rejects, found)
            if self._always_best and self._draws:
                self._check_draws(round_, drafts, found)

    def kept(self, round_: Round, found: Findings) -> None:
        pass

    def _check_decisions(
        self, round_: Round, u: tuple[float, ...], p: tuple[float, ...], rejects: bool, found: Findings
    ) -> None:
        q = round_.draft_p
        if q is None:
            by_pick = _broken_decision(round_, u, p, None, rejects)
            # Where q is unknown a draft may be accepted above p, but never rejected below it.
            if by_pick is not None and (self._looks_up or by_pick.recorded < by_pick.recomputed):
                found.put(by_pick)
            return
        by_draw = _broken_decision(round_, u, p, q, rejects) if self._draws else None
        by_pick = _broken_decision(round_, u, p, None, rejects) if self._picks else None
        finding = by_draw or by_pick
        if finding is None:
            return
        draws, picks = self._draws and by_draw is None, self._picks and by_pick is None
        if draws or picks:
            self._draws, self._picks = draws, picks
        else:
            self._picks = self._picks and not self._draws
            self._always_best = False
            found.put(finding)

    def _check_draws(self, round_: Round, drafts: tuple[int, ...], found: Findings) -> None:
        if round_.draft_top is None or round_.draft_p is None:
            return
        for token, candidates, q in zip(drafts, round_.draft_top, round_.draft_p, strict=False):
            if not candidates or candidates[0][0] != token or not q > 0:
                self._always_best = False
                return
            self._best += 1
            self._log_chance += math.log(q)
        if self._picks or self._log_chance > _NO_CHANCE:
            return
        self._always_best = False
        found.add(
            "A15",
            round_.index,
            "draft_p",
            self._best,
            None,
            f"all {self._best} drafts up to round {round_.index} are the drafter's most likely token, for which the "
            f"chance is {math.exp(self._log_chance):.1g} if it draws them: it picks them, so that q is 1 and not "
            "draft_p, by which they are judged",
        )

    def _check_numbers(self, round_: Round, u: tuple[float, ...], found: Findings) -> None:
        for j, coin in enumerate(u):
            if not 0 <= coin <= 1:
                found.add(
                    "A15",
                    round_.index,
                    "u",
                    coin,
                    None,
                    f"round {round_.index}: u[{j}] is {coin:g}, but a uniform number is in [0, 1)",
                )
                break
        again = bool(self._before) and (u[0] in (self._before[0], self._before[-1]))
        pairs = sum(a == b for a, b in pairwise(u)) + again
        if not pairs:
            return
        self._pairs += pairs
        if self._pairs > 1:
            found.add(
                "A15",
                round_.index,
                "u",
                list(u),
                None,
                f"round {round_.index} uses a uniform number twice ({[f'{coin:.4g}' for coin in u]}): each draft needs "
                "a fresh one, or accepted and rejected tokens are no longer independent",
            )


def _broken_decision(
    round_: Round, u: tuple[float, ...], p: tuple[float, ...], q: tuple[float, ...] | None, rejects: bool
) -> Finding | None:
    """The first decision of a round that its numbers do not give; ``q`` ``None`` is one-hot."""
    judged = round_.take + rejects
    for j in range(min(judged, len(u), len(p), judged if q is None else len(q))):
        share = 1.0 if q is None else q[j]
        scaled, accepted = u[j] * share, j < round_.take
        if math.isnan(scaled) or math.isnan(p[j]) or (scaled < p[j]) == accepted:
            continue
        if abs(scaled - p[j]) <= _RELATIVE * max(scaled, p[j]) + _ABSOLUTE:
            continue
        said, should = ("accepts", "rejected") if accepted else ("rejects", "accepted")
        return Finding(
            "A15",
            round_.index,
            "u",
            u[j],
            p[j] / share if share else None,
            f"round {round_.index} {said} draft {j + 1}, but u = {u[j]:.4g} against p/q = {p[j]:.4g}/{share:.4g} means "
            f"{should}: p and q must both be taken after temperature, top-k and top-p, and q is 1 for a token that "
            "was picked and not drawn",
        )
    return None
