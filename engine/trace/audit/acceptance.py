"""A17: acceptance that breaks down where a fault would break it and text would not.

Four tests, each with a floor on the size of the effect besides its p-value, because a run has enough rounds to make
any small difference significant. Together they raise a false alarm in fewer than one run in a million where their null
hypotheses hold; the level of each is ``LEVEL`` divided by the comparisons it makes (Bonferroni).

- *after a partly accepted round* (a recurrent state restored to the wrong slot): the first draft is accepted far less
  often after a round that took some of its drafts than after one that took none (Fisher's exact test). Hard text does
  the opposite.
- *after any rejection* (a stale hidden row, a cache that drifts): far less often than after a fully accepted round,
  within stretches of 16 rounds (Mantel-Haenszel, z >= 6). The strata keep easy and hard text apart.
- *at one position*: nearly never accepted where the position before it mostly is (binomial test against a fifth of that
  rate), while the earlier positions show ordinary rejections.
- *with context length*: accepted before some round and nearly never after it, while the positions before it go on as
  they were (Fisher's exact test over every split). At the first position, where there is nothing to compare with, only
  on much evidence.

Text that loops repeats its outcomes, so every (t1, drafts) counts once; a run whose outcomes are periodic, as those of
a script, says nothing. A drafter that looks text up, and one that follows a script, may honestly be right for a while
and then wrong: the tests that would take that for a fault leave them out.
"""

from array import array
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.records import Round
from engine.trace.audit.finding import Findings, Rules
from engine.trace.audit.setup import Setup
from engine.trace.audit.significance import Share, Stratum, at_most, fisher, mantel_haenszel

LEVEL = 1e-6 / 4
Z_LEVEL = 6.0

_ENOUGH = 40
_ZERO, _SOME, _FULL, _UNKNOWN = 0, 1, 2, 3
_STRETCH = 16
_LONGEST_PERIOD = 32
_PERIODIC = 0.8


class Trials(NamedTuple):
    """The judged rounds of a run, an entry each: the round, drafts judged at most, accepted, whether one was rejected,
    the outcome of the drafted round right before, and a fingerprint of what was drafted."""

    number: NDArray[np.int64]
    offered: NDArray[np.int64]
    take: NDArray[np.int64]
    rejected: NDArray[np.bool_]
    before: NDArray[np.int64]
    seen: NDArray[np.int64]

    def only(self, mask: NDArray[np.bool_]) -> "Trials":
        """Those entries."""
        return Trials(
            self.number[mask],
            self.offered[mask],
            self.take[mask],
            self.rejected[mask],
            self.before[mask],
            self.seen[mask],
        )

    def at(self, position: int) -> NDArray[np.bool_]:
        """Which rounds judged the draft at a position (from 1)."""
        return np.asarray((self.take >= position) | (self.rejected & (self.take == position - 1)))


class Acceptance(Rules):
    """Keeps five numbers a drafted round and looks at them when the run is over."""

    def __init__(self, setup: Setup) -> None:
        self._looks_up = setup.looks_up
        self._has_context = not setup.looks_up and setup.drafter not in ("scripted", "synthetic")
        self._stops = setup.stops or frozenset()
        self._index, self._seen = array("q"), array("q")
        self._offered, self._take, self._flags = array("i"), array("i"), array("b")
        self._outcome = _UNKNOWN

    def round(self, round_: Round, found: Findings) -> None:  # noqa: ARG002
        drafts = round_.drafts
        if not drafts:
            self._outcome = _UNKNOWN
            return
        # More than was drafted A2 tells of.
        take, verified = min(round_.take, len(drafts)), round_.verified
        offered = len(drafts) if verified is None else min(verified, len(drafts))
        rejected = take < offered and round_.cut != "stop"
        if rejected and self._stops and round_.emitted and round_.emitted[-1] in self._stops:
            rejected = False
        try:
            self._index.append(round_.index)
            self._offered.append(offered)
            self._take.append(take)
        except OverflowError:
            # Numbers as large as that are not counts: A1 and A2 tell of them.
            self._leave_out()
        else:
            self._seen.append(hash((round_.t1, drafts)))
            self._flags.append(self._outcome * 2 + rejected)
        self._outcome = _FULL if take >= offered else _SOME if take else _ZERO

    def _leave_out(self) -> None:
        for numbers in (self._index, self._offered, self._take):
            del numbers[len(self._seen) :]

    def finish(self, found: Findings) -> None:
        if len(self._index) < _ENOUGH:
            return
        flags = np.array(self._flags, np.int64)
        trials = Trials(
            np.array(self._index, np.int64),
            np.array(self._offered, np.int64),
            np.array(self._take, np.int64),
            flags % 2 == 1,
            flags // 2,
            np.array(self._seen, np.int64),
        )
        if _is_periodic(trials):
            return
        first = np.zeros(len(trials.number), np.bool_)
        first[np.unique(trials.seen, return_index=True)[1]] = True
        trials = trials.only(first)
        _after_some(trials, found)
        if not self._looks_up:
            _after_rejection(trials, found)
        for position in range(1, int(trials.take.max(initial=0)) + 2):
            if position > 1:
                _at_position(trials, position, found)
            if position > 1 or self._has_context:
                _with_context(trials, position, found)


def _is_periodic(trials: Trials) -> bool:
    """Whether outcomes repeat with a fixed period: agreement beyond chance (Cohen's kappa) at some lag."""
    outcomes = trials.take * 64 + trials.offered
    shares = np.unique(outcomes, return_counts=True)[1] / len(outcomes)
    by_chance = float((shares**2).sum())
    if by_chance > 0.999:
        return True
    for lag in range(1, min(_LONGEST_PERIOD, len(outcomes) // 3) + 1):
        agreement = float((outcomes[lag:] == outcomes[:-lag]).mean())
        if (agreement - by_chance) / (1 - by_chance) >= _PERIODIC:
            return True
    return False


def _first_draft(trials: Trials, outcome: int) -> Share:
    after = trials.take[trials.before == outcome]
    return Share(int((after >= 1).sum()), len(after))


def _after_some(trials: Trials, found: Findings) -> None:
    none, some, full = (_first_draft(trials, outcome) for outcome in (_ZERO, _SOME, _FULL))
    if some.tries < 15 or none.tries < 10 or some.rate > 0.15 or none.rate < 0.4:
        return
    if (full.tries >= 10 and full.rate < 0.4) or fisher(none, some) > LEVEL:
        return
    where = trials.number[(trials.before == _SOME) & (trials.take == 0)]
    found.add(
        "A17",
        int(where[0]),
        "take",
        some.rate,
        none.rate,
        f"after a partly accepted round the first draft is accepted {some.successes} times in {some.tries}, after a "
        f"round that accepted nothing {none.successes} times in {none.tries}: the state is restored to the wrong slot "
        "when some drafts are kept; look at the rollback of recurrent state and taps",
    )


def _after_rejection(trials: Trials, found: Findings) -> None:
    rejecting = (trials.before == _ZERO) | (trials.before == _SOME)
    fully = trials.before == _FULL
    stretch = trials.number // _STRETCH
    mixed = np.intersect1d(stretch[fully], stretch[rejecting])
    inside = np.isin(stretch, mixed)
    accepted = trials.take >= 1
    high, low = _share(accepted, fully & inside), _share(accepted, rejecting & inside)
    if len(mixed) < 4 or high.tries < 10 or low.tries < 20 or high.rate < 0.6 or low.rate > 0.1:
        return
    strata = []
    for number in mixed:
        here = stretch == number
        strata.append(Stratum(_share(accepted, fully & here), _share(accepted, rejecting & here)))
    if high.rate < 8 * low.rate or mantel_haenszel(strata) < Z_LEVEL:
        return
    found.add(
        "A17",
        int(trials.number[rejecting & inside & ~accepted][0]),
        "take",
        low.rate,
        high.rate,
        f"after a round with a rejection the first draft is accepted {low.successes} times in {low.tries}, after a "
        f"fully accepted one {high.successes} times in {high.tries}, in the same stretches of text: the drafter goes "
        "on from the last row of the batch and not from the last kept one; look at the hidden row and at its cache",
    )


def _at_position(trials: Trials, position: int, found: Findings) -> None:
    here, before = _at(trials, position), _at(trials, position - 1)
    ordinary = int((trials.rejected & (trials.take < position - 1)).sum())
    if before.rate < 0.5 or here.rate > 0.02 or ordinary < max(20, 0.1 * len(trials.number)):
        return
    if at_most(here, min(before.rate, 0.999) / 5) > LEVEL / position:
        return
    where = trials.number[trials.rejected & (trials.take == position - 1)]
    found.add(
        "A17",
        int(where[0]),
        "take",
        here.rate,
        before.rate,
        f"draft {position} is accepted {here.successes} times in {here.tries} tries, draft {position - 1} "
        f"{before.successes} times in {before.tries}: this position alone is wrong; look at its mask, its rotary "
        "position and the head or block slot it comes from",
    )


def _with_context(trials: Trials, position: int, found: Findings) -> None:
    tried = trials.only(trials.at(position))
    accepted = tried.take >= position
    hits = np.flatnonzero(accepted)
    total = len(accepted)
    for stragglers in range(min(4, len(hits))):
        split = int(hits[len(hits) - 1 - stragglers]) + 1
        early, late = Share(len(hits) - stragglers, split), Share(stragglers, total - split)
        if not _collapses(early, late, first=position == 1):
            continue
        index = int(tried.number[split])
        if fisher(early, late) > LEVEL / (total * position) or not _others_go_on(trials, position, index):
            continue
        found.add(
            "A17",
            index,
            "take",
            late.rate,
            early.rate,
            f"draft {position} is accepted {early.successes} times in {early.tries} before round {index} and "
            f"{late.successes} times in {late.tries} from there on"
            + (f", while drafts 1 to {position - 1} go on as before" if position > 1 else "")
            + ": the context outgrew something; look at the drafter's window, its cache size and its rotary range",
        )
        return


def _collapses(early: Share, late: Share, *, first: bool) -> bool:
    if first:
        return early.tries >= 40 and early.rate >= 0.5 and late.tries >= 100 and late.rate <= 0.01
    return early.tries >= 15 and early.rate >= 0.3 and late.tries >= 20 and late.rate <= 0.02


def _others_go_on(trials: Trials, position: int, index: int) -> bool:
    for earlier in range(1, position):
        tried = trials.only(trials.at(earlier))
        accepted, late = tried.take >= earlier, tried.number >= index
        if _share(accepted, late).rate < 0.6 * _share(accepted, ~late).rate:
            return False
    return True


def _at(trials: Trials, position: int) -> Share:
    return _share(trials.take >= position, trials.at(position))


def _share(accepted: NDArray[np.bool_], among: NDArray[np.bool_]) -> Share:
    return Share(int((accepted & among).sum()), int(among.sum()))
