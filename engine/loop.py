"""The loop of speculative decoding, one round at a time."""

import time
from collections.abc import Callable, Iterator, Sequence, Set
from typing import NamedTuple

import numpy as np

from engine.accept import Decision, decide
from engine.base.base import Base, Floats, Rows
from engine.drafters.drafter import Draft, Drafter
from engine.errors import EngineFault, Refused
from engine.fallback import SpecFallback
from engine.figures import Figures
from engine.options import Options
from engine.phases import Phases
from engine.records import Event, Round
from engine.sampling import AnySampler, picker, sampler_of
from engine.start import check_pair, check_prompt, check_start

_NOTHING = Draft()


class Result(NamedTuple):
    """A finished run: the emitted tokens, its rounds and events, why it ended, how many batches and steps it took."""

    tokens: tuple[int, ...]
    rounds: tuple[Round, ...]
    reason: str
    fell_back_at: int | None
    batches: int
    steps: int
    events: tuple[Event, ...] = ()


class Rules(NamedTuple):
    """What a run decides by; the defaults are the rules of speculative decoding."""

    sampler: Callable[[Options], AnySampler] = sampler_of
    decide: Callable[[Draft, Floats, int, AnySampler, Set[int]], Decision] = decide
    fallback: Callable[[float, int], SpecFallback] = SpecFallback


class Run:
    """A run in progress over a base that holds its prompt. ``step`` makes one round.

    Between rounds the base and the drafter hold exactly ``pos`` positions, and ``t1``, decided by the base's last row,
    is neither emitted nor consumed.

    Args:
        pos: positions that the base holds.
        logits: the base's row after the last of them, ``[vocab]``.
        clock: seconds, for the phase times.
        candidates: how many (id, logit) pairs of each row to record, on both sides.
        rules: in place of those of speculative decoding.

    Raises:
        Refused: what it was given cannot make a run; nothing ran.
    """

    def __init__(
        self,
        base: Base,
        drafter: Drafter | None,
        pos: int,
        logits: Floats,
        options: Options,
        *,
        clock: Callable[[], float] = time.perf_counter,
        candidates: int = 0,
        rules: Rules = Rules(),  # noqa: B008 (a frozen value)
    ) -> None:
        check_start(base, drafter, pos, logits, options)
        self.base, self.drafter = base, drafter
        self._rules = rules
        self._follow(options)
        self.fallback = rules.fallback(options.fallback_below, options.fallback_window)
        self.events: list[Event] = []
        self.emitted: list[int] = []
        self.reason: str | None = None
        self.rounds = self.batches = self.steps = 0
        self.start = self.pos = pos
        self.t1 = self.first = self.sampler.choose(logits, pos)
        self._clock = clock
        self._figures = Figures(candidates)
        self._catch_up()
        block = None if drafter is None else drafter.info.block_size
        if block is not None and options.k > block - 1:
            message = f"k is {options.k}, but a block of {block} drafts at most {block - 1}"
            self.events.append(Event(level="warning", code="short-block", message=message))

    @property
    def done(self) -> bool:
        """Whether the run has ended; ``reason`` says why."""
        return self.reason is not None

    def step(self) -> Round | None:
        """Make the next round; ``None`` when the run is over, also when this round broke (``reason`` "fault").

        A round that breaks emits nothing: the base is cut back to where the round began, and an event says what broke.
        """
        if self.done:
            return None
        try:
            round_ = self._round()
        except EngineFault as fault:
            self._say("fault", "fault", f"round {self.rounds}: {fault}")
            self.reason = "fault"
            self._cut_back()
            return None
        self.rounds += 1
        self.reason = self._ended(round_.emitted or ())
        return round_

    def rewind(self, kept: Sequence[Round], options: Options | None = None) -> None:
        """Go back to the state after ``kept``, the first rounds of this run, and go on from there.

        With ``options`` the run goes on by those, as if the rounds kept had been made by them.

        Raises:
            Refused: the options do not fit, or ``kept`` is more than was run.
        """
        emitted = [token for round_ in kept for token in round_.emitted or ()]
        pos = self.start + len(emitted)
        if pos > self.base.consumed:
            raise Refused(f"cannot rewind to position {pos}: the base holds {self.base.consumed}")
        if options is not None:
            check_pair(self.base, self.drafter, self.start, options)
            self._follow(options)
        self.base.rollback(pos)
        self.pos = pos
        if self.drafter is not None:
            self.drafter.rollback(min(pos, self.drafter.consumed))
            self._catch_up()
        self.emitted = emitted
        self.events = [event for event in self.events if event.round is None or event.round < len(kept)]
        self.rounds = len(kept)
        self.batches = sum(round_.form != "plain" for round_ in kept)
        self.steps = sum(round_.form != "one-pass" for round_ in kept)
        following = kept[-1].next if kept else self.first
        assert following is not None
        self.t1 = following
        self.fallback = self._rules.fallback(self.options.fallback_below, self.options.fallback_window)
        for round_ in kept:
            if self.fallback.counts(round_.reason):
                self.fallback.record(round_.count)
        self.reason = self._ended(emitted)

    def _follow(self, options: Options) -> None:
        self.options = options
        self.sampler = self._rules.sampler(options)
        self._pick = picker(self.sampler, options.tau)
        self._stop = frozenset(options.stop_tokens)

    def _ended(self, latest: Sequence[int]) -> str | None:
        """Why the run is over after ``latest``; a stop comes before the limit."""
        if self._stop.intersection(latest):
            return "stop"
        return "max_tokens" if len(self.emitted) >= self.options.max_tokens else None

    def _round(self) -> Round:
        phases = Phases(self._clock)
        limit = min(self.options.k, self.options.max_tokens - len(self.emitted) - 1)
        draft, anchor, reason = _NOTHING, None, self._plain_reason(limit)
        if reason is None:
            assert self.drafter is not None
            if self.drafter.needs_anchor_row:
                anchor = self._step(phases).copied()
            draft = self._draft(limit, anchor)
            phases.end("draft")
            reason = None if draft.tokens else "zero-draft"
        rows = self._verify(draft, anchor, phases) if reason is None else anchor or self._step(phases)
        decision = self._rules.decide(draft, rows.logits, self.pos + 1, self.sampler, self._stop)
        phases.end("accept")
        facts = self._figures.of(draft, rows.logits, decision.targets, self.sampler)
        emitted = (self.t1, *draft.tokens[: decision.take])
        pos = self.pos
        phases.end("other")
        self._commit(emitted, rows)
        phases.end("rollback")
        self._record(reason, len(emitted))
        lengths = self._lengths()
        phases.end("other")
        round_ = Round(
            index=self.rounds,
            form=self.options.form if reason is None else "plain",
            reason=reason,
            pos=pos,
            t1=self.t1,
            limit=limit,
            drafts=draft.tokens,
            targets=decision.targets,
            take=decision.take,
            emitted=emitted,
            cut=self._cut(reason, limit, decision),
            next=decision.next,
            consumed=self.base.consumed,
            draft_p=facts.draft_p,
            target_p=facts.target_p,
            accept_p=facts.accept_p if draft.tokens else None,
            gap=facts.gap,
            u=decision.u,
            nonfinite=facts.nonfinite or None,
            width=rows.width,
            top=facts.top,
            draft_top=facts.draft_top,
            fallback=self.fallback.window() if self.options.fallback_below > 0 and self.drafter else None,
            ms=phases.ms,
            state=lengths,
        )
        self.t1 = decision.next
        return round_

    def _plain_reason(self, limit: int) -> str | None:
        if self.t1 in self._stop:
            return "stop"
        if self.fallback.off:
            return "fallback"
        if self.drafter is None:
            return "no-drafter"
        return "budget" if limit == 0 else None

    def _draft(self, limit: int, anchor: Rows | None) -> Draft:
        assert self.drafter is not None
        draft = self.drafter.draft(self.t1, limit, self._pick, self.options.tau, anchor)
        draft.check(limit, self.base.vocab_size)
        if self.options.tau > 0 and draft.confidence is not None:
            for j, confidence in enumerate(draft.confidence):
                if confidence < self.options.tau:
                    return draft.cut(j)
        return draft

    def _step(self, phases: Phases) -> Rows:
        rows = self._checked(self.base.step(self.t1), 1)
        self.steps += 1
        phases.end("step")
        return rows

    def _verify(self, draft: Draft, anchor: Rows | None, phases: Phases) -> Rows:
        count = len(draft.tokens)
        self.batches += 1
        if self.options.form == "one-pass":
            rows = self._checked(self.base.verify((self.t1, *draft.tokens)), count + 1)
        else:
            first = anchor or self._step(phases).copied()
            rows = first.followed_by(self._checked(self.base.verify(draft.tokens), count))
        phases.end("verify")
        return rows

    def _checked(self, rows: Rows, count: int) -> Rows:
        if rows.logits.shape != (count, self.base.vocab_size):
            raise EngineFault(
                f"the base gave logits of shape {rows.logits.shape} for a pass over {count} tokens, "
                f"expected {(count, self.base.vocab_size)}"
            )
        return rows

    def _commit(self, emitted: tuple[int, ...], rows: Rows) -> None:
        after = self.pos + len(emitted)
        self.base.rollback(after)
        if self.drafter is not None:
            self.drafter.commit(emitted, rows.kept(len(emitted)))
        self.pos = after
        self.emitted += emitted

    def _record(self, reason: str | None, count: int) -> None:
        if not self.fallback.counts(reason) or not self.fallback.record(count):
            return
        window = self.fallback.window()
        self._say(
            "info",
            "fell-back",
            f"mean {window.mean:.2f} tokens a round over the last {self.fallback.size} is below "
            f"{self.fallback.below:g}: plain decode from here",
        )

    def _cut(self, reason: str | None, limit: int, decision: Decision) -> str | None:
        if decision.stopped:
            return "stop"
        return "budget" if reason is None and limit < self.options.k else None

    def _lengths(self) -> dict[str, object]:
        lengths = self.base.lengths()
        return lengths if self.drafter is None else {**lengths, "draft_len": self.drafter.consumed}

    def _catch_up(self) -> None:
        if self.drafter is not None and self.drafter.consumed < self.pos:
            held = self.drafter.consumed
            self.drafter.commit(self.base.tokens[held : self.pos], self.base.features(held, self.pos))

    def _cut_back(self) -> None:
        try:
            self.base.rollback(self.pos)
            if self.drafter is not None:
                self.drafter.rollback(min(self.pos, self.drafter.consumed))
        except EngineFault as fault:
            self._say("warning", "rollback-failed", f"the state could not be cut back after the fault: {fault}")

    def _say(self, level: str, code: str, message: str) -> None:
        self.events.append(Event(round=self.rounds, level=level, code=code, message=message))


def rounds(run_: Run) -> Iterator[Round]:
    """The rounds of a run until it ends, made as they are asked for."""
    while (round_ := run_.step()) is not None:
        yield round_


def run_from(base: Base, drafter: Drafter | None, pos: int, logits: Floats, options: Options) -> Result:
    """Run to the end from a base that already ran its prompt. Raises ``Refused`` before anything runs."""
    run_ = Run(base, drafter, pos, logits, options)
    made = tuple(rounds(run_))
    assert run_.reason is not None
    fell_back_at, events = run_.fallback.fell_back_at, tuple(run_.events)
    return Result(tuple(run_.emitted), made, run_.reason, fell_back_at, run_.batches, run_.steps, events)


def run(
    base: Base, drafter: Drafter | None, prompt: Sequence[int], options: Options, *, batched: bool = True
) -> Result:
    """Prefill ``prompt`` (in one batch or token by token) into an empty base, then ``run_from``."""
    check_prompt(base, drafter, prompt)
    check_pair(base, drafter, len(prompt), options)
    logits = prefill(base, prompt, batched=batched)
    return run_from(base, drafter, len(prompt), logits, options)


def prefill(base: Base, prompt: Sequence[int], *, batched: bool = True) -> Floats:
    """Make an empty base consume ``prompt``; the row after its last token, ``[vocab]``, the caller's own.

    Raises:
        Refused: the prompt is empty, too long, or holds ids outside the vocabulary; or the base is not empty.
    """
    check_prompt(base, None, prompt)
    if batched:
        return np.array(base.prefill(prompt).logits[-1])
    for token in prompt:
        row = base.step(token).logits[-1]
    return np.array(row)
