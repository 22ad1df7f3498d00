"""Four ways to decode: plainly, by a hand-written speculative loop, and by the engine's ``run`` and ``run_from``.

``by_hand`` is a second implementation of the round, written for this purpose alone: it shares nothing with
``engine.loop`` but the base, the drafter and how a token is chosen from one row.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from engine.base.base import Base, Rows
from engine.drafters.drafter import Draft, Drafter
from engine.errors import EngineFault, Refused
from engine.figures import top_gaps
from engine.loop import Result, prefill, run, run_from
from engine.options import Options
from engine.records import Round
from engine.sampling import AnySampler, Rejection, picker, sampler_of

Clock = Callable[[], float]


class Decode(NamedTuple):
    """A finished decode. ``ttft_ms`` is the time of the prompt, the drafter's part of it too, ``ms`` of all the rest.

    ``rounds`` are those of a speculative decode, plain ones included.
    """

    tokens: tuple[int, ...]
    ttft_ms: float
    ms: float
    rounds: tuple[Round, ...] = ()
    fell_back_at: int | None = None


class Reference(NamedTuple):
    """Plain decode's text, and the top-1/top-2 gap of the row that each token was chosen from."""

    tokens: tuple[int, ...]
    gaps: tuple[float, ...]


Speculative = Callable[[Base, Drafter, Sequence[int], Options, Clock], Decode]


def comparable(options: Options) -> AnySampler:
    """The sampler of a decode that has to equal plain decode.

    Raises:
        Refused: it draws a text of its own.
    """
    sampler = sampler_of(options)
    if isinstance(sampler, Rejection):
        raise Refused(
            "the rejection sampler keeps plain decode's distribution and not its tokens, so that there is nothing to "
            "compare: use gumbel, whose text is plain decode's at every temperature, or greedy"
        )
    return sampler


def reference(base: Base, prompt: Sequence[int], options: Options) -> Reference:
    """Plain decode, untimed.

    Raises:
        Refused: the prompt or options cannot make a run.
        EngineFault: the base broke.
    """
    gaps: list[float] = []
    made = _plain(base, prompt, options, lambda: 0.0, gaps)
    return Reference(made.tokens, tuple(gaps))


def plain(base: Base, prompt: Sequence[int], options: Options, clock: Clock) -> Decode:
    """Plain decode."""
    return _plain(base, prompt, options, clock, None)


def by_hand(base: Base, drafter: Drafter, prompt: Sequence[int], options: Options, clock: Clock) -> Decode:
    """Speculative decoding as one would write it down, with no records, no faults and no fallback."""
    empty(base, drafter)
    sampler = comparable(options)
    pick = picker(sampler, options.tau)
    began = clock()
    anchor = sampler.choose(prefill(base, prompt), len(prompt))
    drafter.commit(prompt, base.features(0, len(prompt)))
    ttft = clock()
    out: list[int] = []
    takes: list[tuple[int, Draft, int, bool]] = []
    while len(out) < options.max_tokens and not set(options.stop_tokens).intersection(out):
        limit = min(options.k, options.max_tokens - len(out) - 1)
        row: Rows | None = None
        draft = Draft()
        if drafter.needs_anchor_row:
            row = base.step(anchor).copied()
        if limit and anchor not in options.stop_tokens:
            draft = drafter.draft(anchor, limit, pick, options.tau, row)
            doubted = (j for j, p in enumerate(draft.confidence or ()) if p < options.tau)
            draft = draft.cut(next(doubted, limit))
        if options.form == "one-pass" and draft.tokens:
            rows = base.verify((anchor, *draft.tokens))
        else:
            rows = row or base.step(anchor)
            rows = rows.copied().followed_by(base.verify(draft.tokens)) if draft.tokens else rows
        behind = len(prompt) + len(out) + 1
        choices = [sampler.choose(row, behind + j) for j, row in enumerate(rows.logits)]
        kept = [anchor]
        for token, choice in zip(draft.tokens, choices, strict=False):
            if token != choice or kept[-1] in options.stop_tokens:
                break
            kept.append(token)
        base.rollback(len(prompt) + len(out) + len(kept))
        drafter.commit(kept, rows.kept(len(kept)))
        out += kept
        takes.append((limit, draft, len(kept) - 1, kept[-1] in options.stop_tokens))
        anchor = choices[len(kept) - 1]
    done = clock()
    rounds = tuple(_round(i, options, *took) for i, took in enumerate(takes))
    return Decode(tuple(out), (ttft - began) * 1000, (done - ttft) * 1000, rounds)


def run_whole(base: Base, drafter: Drafter, prompt: Sequence[int], options: Options, clock: Clock) -> Decode:
    """The engine's ``run``, which prefills token by token here."""
    empty(base, drafter)
    began = clock()
    return _decode_of(run(base, drafter, prompt, options, batched=False), began, clock)


def run_rest(base: Base, drafter: Drafter, prompt: Sequence[int], options: Options, clock: Clock) -> Decode:
    """A prefill in one batch and the engine's ``run_from``."""
    empty(base, drafter)
    began = clock()
    return _decode_of(run_from(base, drafter, len(prompt), prefill(base, prompt), options), began, clock)


WAYS: dict[str, Speculative] = {"by-hand": by_hand, "run": run_whole, "run_from": run_rest}


def empty(base: Base, drafter: Drafter | None = None) -> None:
    """Forget every position."""
    base.rollback(0)
    if drafter is not None:
        drafter.rollback(0)


def _plain(base: Base, prompt: Sequence[int], options: Options, clock: Clock, gaps: list[float] | None) -> Decode:
    empty(base)
    sampler = comparable(options)
    began = clock()
    row = prefill(base, prompt)
    ttft = clock()
    out: list[int] = []
    while len(out) < options.max_tokens and not set(options.stop_tokens).intersection(out[-1:]):
        out.append(sampler.choose(row, len(prompt) + len(out)))
        if gaps is not None:
            gaps.append(float(top_gaps(np.asarray(row)[None])[0]))
        row = base.step(out[-1]).logits[-1]
    done = clock()
    return Decode(tuple(out), (ttft - began) * 1000, (done - ttft) * 1000)


def _round(index: int, options: Options, limit: int, draft: Draft, take: int, stopped: bool) -> Round:
    """What is counted of a round made by hand."""
    reason = None if draft.tokens else "zero-draft"
    cut = "stop" if stopped and take else "budget" if reason is None and limit < options.k else None
    form = options.form if reason is None else "plain"
    return Round(index=index, form=form, reason=reason, limit=limit, drafts=draft.tokens, take=take, cut=cut)


def _decode_of(result: Result, began: float, clock: Clock) -> Decode:
    """The rounds' own times are the decode's, what is left of the whole is the prompt's."""
    wall_ms = (clock() - began) * 1000
    if result.reason == "fault":
        raise EngineFault(result.events[-1].message)
    ms = sum(sum((round_.ms or {}).values()) for round_ in result.rounds)
    return Decode(result.tokens, wall_ms - ms, ms, result.rounds, result.fell_back_at)
