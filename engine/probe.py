"""Does speculation give the tokens of plain decode here, and at what speed? Four ways to decode, in one session.

``by_hand`` is a second implementation of the greedy round, written for this purpose alone: it shares nothing with
``engine.loop`` but the base and the drafter.
"""

import time
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import msgspec
import numpy as np

from engine.accept import top_gaps
from engine.base.base import Base, Floats, Rows
from engine.drafters.drafter import Drafter, Pick
from engine.errors import EngineFault
from engine.loop import Result, prefill, run, run_from
from engine.options import FORMS, Options

Clock = Callable[[], float]
WARM_UP = 8
"""Tokens that each way decodes, untimed, before it is timed: the first pass of each width is slow."""


class Decode(NamedTuple):
    """A finished decode. ``ttft_ms`` is the prompt's time, ``ms`` that of all the rest.

    ``rounds`` are those that drafted, ``drafted_tokens`` what came out of them.
    """

    tokens: tuple[int, ...]
    ttft_ms: float
    ms: float
    rounds: int = 0
    drafted_tokens: int = 0
    batches: int = 0
    fell_back_at: int | None = None


class Plain(msgspec.Struct, frozen=True):
    """Plain decode, the reference."""

    tokens: tuple[int, ...]
    tokens_per_second: float
    ttft_ms: float


class Difference(msgspec.Struct, frozen=True):
    """The first token that is not plain decode's: where (0 is the first emitted), both, and plain's top-1/top-2 gap.

    ``expected`` or ``got`` is ``None`` where one text is shorter.
    """

    position: int
    expected: int | None
    got: int | None
    gap: float | None


class Way(msgspec.Struct, frozen=True, kw_only=True):
    """One way to decode with one drafter; ``how`` is "by-hand", "run" or "run_from"."""

    drafter: str
    k: int
    form: str
    how: str
    tokens: int
    tokens_per_second: float
    ttft_ms: float
    tokens_per_round: float | None
    batches: int
    fell_back_at: int | None
    difference: Difference | None


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """The verdict: ``exact`` if every way gave plain decode's tokens."""

    exact: bool
    base: str
    prompt_tokens: int
    max_tokens: int
    plain: Plain
    ways: tuple[Way, ...]


def probe(
    base: Base,
    drafters: Iterable[tuple[str, Drafter]],
    prompt: Sequence[int],
    options: Options,
    ks: Sequence[int],
    clock: Clock = time.perf_counter,
) -> Report:
    """Decode greedily in every way with every drafter and k, each after the other, and compare with plain decode.

    "run" prefills token by token, the others in one batch. ``options.form`` and ``options.k`` are set by each way.

    Raises:
        Refused: the prompt or options cannot make a run.
        EngineFault: the base broke.
    """
    short = msgspec.structs.replace(options, max_tokens=min(WARM_UP, options.max_tokens))
    _plain(base, prompt, short, clock)
    reference, gaps = _plain(base, prompt, options, clock)
    ways = []
    for name, drafter in drafters:
        forms = FORMS[1:] if drafter.needs_anchor_row else FORMS
        for k in ks:
            for form in forms:
                chosen = msgspec.structs.replace(options, k=k, form=form)
                warm = msgspec.structs.replace(short, k=k, form=form)
                for how, decode in (("by-hand", by_hand), ("run", _run), ("run_from", _run_from)):
                    decode(base, drafter, prompt, warm, clock)
                    made = decode(base, drafter, prompt, chosen, clock)
                    ways.append(_way(name, k, form, how, made, first_difference(reference.tokens, made.tokens, gaps)))
    _empty(base, None)
    return Report(
        exact=all(way.difference is None for way in ways),
        base=base.info.name,
        prompt_tokens=len(prompt),
        max_tokens=options.max_tokens,
        plain=Plain(reference.tokens, _per_second(reference), reference.ttft_ms),
        ways=tuple(ways),
    )


def by_hand(base: Base, drafter: Drafter, prompt: Sequence[int], options: Options, clock: Clock) -> Decode:
    """Greedy speculative decoding as one would write it down, with no records, no faults and no fallback."""
    _empty(base, drafter)
    began = clock()
    anchor = int(prefill(base, prompt).argmax())
    ttft = clock()
    drafter.commit(prompt, base.features(0, len(prompt)))
    out: list[int] = []
    rounds = drafted_tokens = 0
    while len(out) < options.max_tokens and not set(options.stop_tokens).intersection(out):
        limit = min(options.k, options.max_tokens - len(out) - 1)
        row: Rows | None = None
        draft: tuple[int, ...] = ()
        if drafter.needs_anchor_row:
            row = base.step(anchor).copied()
        if limit and anchor not in options.stop_tokens:
            draft = drafter.draft(anchor, limit, _most_likely, 0.0, row).tokens
        if options.form == "one-pass" and draft:
            rows = base.verify((anchor, *draft))
        else:
            rows = row or base.step(anchor)
            rows = rows.copied().followed_by(base.verify(draft)) if draft else rows
        choices = rows.logits.argmax(axis=1).tolist()
        kept = [anchor]
        for token, choice in zip(draft, choices, strict=False):
            if token != choice or kept[-1] in options.stop_tokens:
                break
            kept.append(token)
        base.rollback(len(prompt) + len(out) + len(kept))
        drafter.commit(kept, rows.kept(len(kept)))
        out += kept
        anchor = choices[len(kept) - 1]
        rounds += bool(draft)
        drafted_tokens += len(kept) if draft else 0
    done = clock()
    return Decode(tuple(out), (ttft - began) * 1000, (done - ttft) * 1000, rounds, drafted_tokens, rounds)


def first_difference(expected: Sequence[int], got: Sequence[int], gaps: Sequence[float] = ()) -> Difference | None:
    """The first position where two texts part, ``None`` if they are the same."""
    for i in range(max(len(expected), len(got))):
        left = expected[i] if i < len(expected) else None
        right = got[i] if i < len(got) else None
        if left != right:
            return Difference(i, left, right, gaps[i] if i < len(gaps) else None)
    return None


def _plain(base: Base, prompt: Sequence[int], options: Options, clock: Clock) -> tuple[Decode, list[float]]:
    """Plain decode, and the top-1/top-2 gap of the row that chose each token."""
    _empty(base, None)
    began = clock()
    row = prefill(base, prompt)
    ttft = clock()
    out: list[int] = []
    rows: list[Floats] = []
    while len(out) < options.max_tokens and not set(options.stop_tokens).intersection(out[-1:]):
        rows.append(row)
        out.append(int(row.argmax()))
        row = base.step(out[-1]).logits[-1].copy()
    done = clock()
    gaps: list[float] = top_gaps(np.stack(rows)).tolist()
    return Decode(tuple(out), (ttft - began) * 1000, (done - ttft) * 1000), gaps


def _run(base: Base, drafter: Drafter, prompt: Sequence[int], options: Options, clock: Clock) -> Decode:
    _empty(base, drafter)
    began = clock()
    result = run(base, drafter, prompt, options, batched=False)
    return _decode_of(result, (clock() - began) * 1000)


def _run_from(base: Base, drafter: Drafter, prompt: Sequence[int], options: Options, clock: Clock) -> Decode:
    _empty(base, drafter)
    began = clock()
    result = run_from(base, drafter, len(prompt), prefill(base, prompt), options)
    return _decode_of(result, (clock() - began) * 1000)


def _decode_of(result: Result, wall_ms: float) -> Decode:
    if result.reason == "fault":
        raise EngineFault(result.events[-1].message)
    ms = sum(sum((round_.ms or {}).values()) for round_ in result.rounds)
    drafted = [round_ for round_ in result.rounds if round_.drafted]
    return Decode(
        result.tokens,
        ttft_ms=wall_ms - ms,
        ms=ms,
        rounds=len(drafted),
        drafted_tokens=sum(round_.count for round_ in drafted),
        batches=result.batches,
        fell_back_at=result.fell_back_at,
    )


def _way(name: str, k: int, form: str, how: str, made: Decode, difference: Difference | None) -> Way:
    return Way(
        drafter=name,
        k=k,
        form=form,
        how=how,
        tokens=len(made.tokens),
        tokens_per_second=_per_second(made),
        ttft_ms=made.ttft_ms,
        tokens_per_round=made.drafted_tokens / made.rounds if made.rounds else None,
        batches=made.batches,
        fell_back_at=made.fell_back_at,
        difference=difference,
    )


def _per_second(made: Decode) -> float:
    return len(made.tokens) / made.ms * 1000 if made.ms else 0.0


def _empty(base: Base, drafter: Drafter | None) -> None:
    base.rollback(0)
    if drafter is not None:
        drafter.rollback(0)


def _most_likely(row: Floats, position: int) -> Pick:  # noqa: ARG001
    return Pick(int(row.argmax()), 1.0, 1.0)
