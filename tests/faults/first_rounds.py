"""At which round each fault must be found: the first that has what the fault does, by a rule of its own."""

from collections.abc import Callable, Sequence
from itertools import pairwise

from engine.faults.features import REACH, WINDOW
from engine.faults.numerics import WHERE as BROKEN_ROW
from engine.faults.texts import WHERE as MADE_FROM
from engine.faults.texts import is_text
from engine.faults.unnoticed import ROUNDS
from engine.records import Header, Round

SEEN_AS_INJECTED = {"hidden-stale", "tap-off-by-one", "reused-u", "argmax-with-soft-q"}
"""Those whose records do not tell where they begin: ``tests.faults.spies`` watch them while they run."""

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
    "basis-mismatch": breaks_a_coin,
    "sliding-window": lambda r: (r.pos or 0) > WINDOW and r.drafted > REACH,
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


def first_round(name: str, header: Header, rounds: Sequence[Round], piece: Callable[[int], bytes | None]) -> int:  # noqa: PLR0911
    """The round that a fault must be found at."""
    emitted, behind = 0, len(header.prompt or ())
    match name:
        case "stop-inside" | "cap-before-stop":
            return rounds[-1].index
        case "overshoot":
            limit = header.options["max_tokens"]
            return next(r.index for r in rounds if (emitted := emitted + r.count) > limit)
        case "near-tie":
            # The row that is made a tie decides the token behind it.
            return next(r.index for r in rounds if _ends(r) > behind + BROKEN_ROW + 1)
        case "degenerate":
            return next(r.index for r in rounds if _ends(r) > behind + MADE_FROM)
        case "split-character":
            tokens = [token for r in rounds for token in r.emitted or ()]
            halves = {behind + i for i, t in enumerate(tokens) if i > MADE_FROM and not is_text(piece(t) or b"")}
            return next(r.index for r in rounds if _rejects(r) and _ends(r) - 1 in halves)
        case "torn-trace":
            return ROUNDS
        case _ if name in FIRST:
            return next(r.index for r in rounds if FIRST[name](r))
        case _:
            return next(after.index for before, after in pairwise(rounds) if SECOND[name](before, after))


def _ends(round_: Round) -> int:
    """The position behind the last token that a round emits."""
    return (round_.pos or 0) + round_.count


def _window(round_: Round) -> int:
    return len(round_.fallback.window) if round_.fallback else 0
