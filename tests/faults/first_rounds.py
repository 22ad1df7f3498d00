"""At which round each fault must be found: the first that has what the fault does, by a rule of its own."""

from collections.abc import Callable, Sequence
from itertools import pairwise

from engine.records import Round

Holds = Callable[[Round], bool]
Follows = Callable[[Round, Round], bool]


def _mismatch(round_: Round) -> int:
    """How many leading drafts are the base's choices."""
    pairs = zip(round_.drafts or (), round_.targets or (), strict=False)
    return next((j for j, (draft, target) in enumerate(pairs) if draft != target), round_.drafted)


def _partly(round_: Round) -> bool:
    return 0 < round_.take < round_.drafted


def _rejects(round_: Round) -> bool:
    return round_.take < round_.drafted


def breaks_a_coin(round_: Round) -> bool:
    """Whether a decision does not follow from its numbers, whatever the drafter's q is."""
    u, p, q = round_.u or (), round_.accept_p or (), round_.draft_p or ()
    return any((u[j] * q[j] < p[j]) != (j < round_.take) for j in range(len(u)))


def _same_again(round_: Round) -> bool:
    return _rejects(round_) and round_.next == (round_.drafts or ())[round_.take]


def _impossible(round_: Round) -> bool:
    return bool(round_.target_p) and (round_.target_p or ())[round_.take] == 0


FIRST: dict[str, Holds] = {
    "counts-everything": lambda r: r.take != _mismatch(r),
    "replay-counted": lambda r: r.verified is not None,
    "padded-drafts": lambda r: set(r.drafts or ()) == {0} and r.drafted > 1,
    "rows-shifted": lambda r: r.take != _mismatch(r),
    "kv-not-rolled-back": _rejects,
    "kv-off-by-one": _partly,
    "recurrent-not-restored": _rejects,
    "duplicate-at-boundary": lambda r: r.take > 0,
    "nan-row": lambda r: bool(r.nonfinite) and r.emitted is not None and (r.gap or ())[r.take] != (r.gap or ())[r.take],
    "residual-as-p": _same_again,
    "residual-softmax": _impossible,
    "silently-plain": lambda r: r.reason == "no-drafter",
    "fallback-early": lambda r: r.fallback is not None and r.fallback.off,
    "fallback-non-strict": lambda r: r.fallback is not None and r.fallback.off,
    "fallback-plain-in-window": lambda r: r.reason == "fallback",
    "fallback-fills-with-t1": lambda r: r.drafted > 0,
    "never-recorded": lambda r: r.reason == "zero-draft",
}


SECOND: dict[str, Follows] = {
    "anchor-lost": lambda before, after: after.t1 != before.next,
    # The first round's distance is taken for the drafter's habit.
    "draft-cache-drift": lambda before, after: _rejects(after),
    "recurrent-wrong-slot": lambda before, after: _partly(before) and after.take == 0,
    "fallback-tumbling": lambda before, after: _window(after) < _window(before),
}


def first_round(name: str, rounds: Sequence[Round], max_tokens: int) -> int | None:
    """The round that a fault must be found at; ``None`` where only the whole run shows it."""
    emitted = 0
    match name:
        case "stop-inside" | "cap-before-stop":
            return rounds[-1].index
        case "overshoot":
            return next(r.index for r in rounds if (emitted := emitted + r.count) > max_tokens)
        case _ if name in FIRST:
            return next(r.index for r in rounds if FIRST[name](r))
        case _ if name in SECOND:
            return next(after.index for before, after in pairwise(rounds) if SECOND[name](before, after))
    return None


def _window(round_: Round) -> int:
    return len(round_.fallback.window) if round_.fallback else 0
