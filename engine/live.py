"""A live run: base, drafter, prompt and options put together, handing out trace records as it goes."""

import datetime
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

import msgspec
import numpy as np

from engine import version
from engine.base.base import Base, Floats
from engine.drafters.drafter import Drafter
from engine.errors import Refused
from engine.figures import candidates_of, top_gaps
from engine.loop import Rules, Run, prefill
from engine.opening import Models, OpenDrafter, open_models
from engine.options import Options
from engine.provider import CPU
from engine.records import MINOR, VERSION, End, Event, Header, Prefill, Round
from engine.replay import hold
from engine.request import AUTO, LiveRequest
from engine.stages import stage
from engine.start import check_pair, check_prompt
from engine.stats import MINIMUM_SAMPLES, Stats
from engine.widths import batch_warning, plain_width_warning, quantised_warning

PLAIN_SAMPLES = 9
COUNTED_AT_ONCE = 64
"""Rounds that wait to be counted: many in a row cost less than one between two passes, which leave nothing cached."""

PILOT_ROUNDS, PILOT_TOKENS = 12, 256
"""Drafted rounds, and tokens at most, that are made and taken back to measure a break-even that is to be the bar."""

Clock = Callable[[], float]


class Stepper(Protocol):
    """A run that is made round by round, as trace records."""

    @property
    def header(self) -> Header: ...
    @property
    def prefill(self) -> Prefill: ...
    @property
    def events(self) -> tuple[Event, ...]:
        """What was to be said so far, oldest first."""

    def piece(self, token: int) -> bytes | None:
        """The bytes that a token stands for."""

    def step(self) -> Round | None:
        """Make the next round; ``None`` when the run is over."""

    @property
    def done(self) -> bool:
        """Whether the run is over."""

    def end(self) -> End:
        """The end as it stands now: reason "aborted" for a run that is not over."""

    def rewind(
        self,
        kept: Sequence[Round],
        options: Options | None = None,
        *,
        drafter: str | None = None,
        run: Mapping[str, Any] | None = None,
    ) -> None:
        """Go to the state after ``kept``, rounds from this prompt on, and go on: a fork, in the header "forked_at".

        Options and drafter (by name) stay what they are if not given; ``run`` is added to the header's. Rounds that are
        not this run's own are fed to the base again.

        Raises:
            Refused: it cannot be done, and nothing changed.
            ModelError: the drafter cannot be opened, and nothing changed.
            EngineFault: the base broke on the way.
        """


class LiveRun:
    """A ``Stepper`` over any base and drafter, both empty. The prompt is consumed when it is made.

    Right after the prefill it measures plain steps and takes them back, so that ``prefill.plain_ms`` and the break-even
    are known from the first round on. Where plain steps are padded, their rows are checked to be those of a batch.

    Args:
        piece: the bytes of a token.
        device: gives for the header what really runs the base, and drafters that were opened.
        opened: gives what was to be said of what was opened so far.
        run: for the header: free.
        open_drafter: gives another drafter by its name, for a fork.
        rules: in place of those of speculative decoding.
        auto_bar: measure the break-even and make it the fallback's bar, in place of ``options.fallback_below``.
        candidates: how many (id, logit) pairs of each row to record.
        plain_samples: how many plain steps to measure, 0 for none.

    Raises:
        Refused: what it was given cannot make a run.
        EngineFault: the base broke in the prefill.
    """

    def __init__(
        self,
        base: Base,
        drafter: Drafter | None,
        prompt: Sequence[int],
        options: Options,
        *,
        piece: Callable[[int], bytes | None] = lambda _: None,
        device: Callable[[], dict[str, Any]] = dict,
        opened: Callable[[], tuple[Event, ...]] = tuple,
        run: dict[str, Any] | None = None,
        open_drafter: OpenDrafter | None = None,
        rules: Rules = Rules(),  # noqa: B008 (a frozen value)
        auto_bar: bool = False,
        candidates: int = 0,
        plain_samples: int = PLAIN_SAMPLES,
        clock: Clock = time.perf_counter,
    ) -> None:
        check_prompt(base, drafter, prompt)
        check_pair(base, drafter, len(prompt), options)
        stage(f"reading the prompt, {len(prompt)} tokens")
        began = clock()
        logits = prefill(base, prompt)
        ms = (clock() - began) * 1000
        if plain_samples:
            stage("measuring plain steps")
        plain_ms = _plain_ms(base, int(prompt[-1]), plain_samples, clock)
        self._device, self._opened = device, opened
        quantised = bool(((run or {}).get("model") or {}).get("quantised"))
        self._before = (*opened(), *_width_events(base, prompt, options, device(), quantised=quantised))
        self._run = Run(base, drafter, len(prompt), logits, options, clock=clock, candidates=candidates, rules=rules)
        self.prefill = _prefill_record(logits, len(prompt), self._run.first, ms, plain_ms, candidates)
        self.piece = piece
        self._open_drafter = open_drafter
        self._stats = Stats()
        self._uncounted: list[Round] = []
        free = dict(run or {})
        if auto_bar:
            options = self._pilot(options)
            free["bar"] = f"the break-even, measured over {PILOT_ROUNDS} rounds that were taken back"
        self.header = Header(
            version=VERSION,
            minor=MINOR,
            created=datetime.datetime.now().astimezone().isoformat(timespec="seconds"),
            writer={"name": "specstep", "version": version.VERSION},
            run=free,
            device=device(),
            base=base.info,
            drafter=None if drafter is None else drafter.info,
            options=options.as_map(),
            prompt=tuple(prompt),
        )

    @property
    def events(self) -> tuple[Event, ...]:
        return (*self._before, *self._run.events)

    @property
    def done(self) -> bool:
        """Whether the run is over."""
        return self._run.done

    def step(self) -> Round | None:
        round_ = self._run.step()
        if round_ is not None:
            self._uncounted.append(round_)
            if len(self._uncounted) == COUNTED_AT_ONCE:
                self._count()
        return round_

    def rewind(
        self,
        kept: Sequence[Round],
        options: Options | None = None,
        *,
        drafter: str | None = None,
        run: Mapping[str, Any] | None = None,
    ) -> None:
        then = options or self._run.options
        known = len(self._opened())
        chosen = self._run.drafter if drafter is None else self._other(drafter, kept, then)
        check_pair(self._run.base, chosen, self._run.start, then)
        if kept and kept[0].t1 != self._run.first:
            raise Refused(
                f"these rounds are not of this run: they begin with token {kept[0].t1}, after the prompt comes "
                f"{self._run.first}"
            )
        hold(self._run.base, chosen, self.header.prompt or (), kept)
        self._run.drafter = chosen
        self._run.rewind(kept, options)
        self._run.events += [msgspec.structs.replace(said, round=len(kept)) for said in self._opened()[known:]]
        self._stats, self._uncounted = Stats.of(kept), []
        self.header = msgspec.structs.replace(
            self.header,
            device=self._device(),
            drafter=None if chosen is None else chosen.info,
            options=self._run.options.as_map(),
            run={**self.header.run, "forked_at": len(kept), **(run or {})},
        )

    def end(self) -> End:
        self._count()
        run = self._run
        end = End(
            reason=run.reason or "aborted",
            rounds=run.rounds,
            emitted=len(run.emitted),
            fell_back_at=run.fallback.fell_back_at,
            plain_ms=self._stats.plain_ms(self.prefill.plain_ms),
        )
        return msgspec.structs.replace(end, stats=self._stats.as_map(self.prefill, end, tokens=run.emitted))

    def _count(self) -> None:
        for round_ in self._uncounted:
            self._stats.add(round_)
        self._uncounted.clear()

    def _other(self, name: str, kept: Sequence[Round], options: Options) -> Drafter | None:
        if self._open_drafter is None:
            raise Refused(f"drafter {name}: this run has the drafter it was made with and opens no other")
        emitted = (token for round_ in kept for token in round_.emitted or ())
        return self._open_drafter(name, (*(self.header.prompt or ()), *emitted), options)

    def _pilot(self, options: Options) -> Options:
        run, pilot = self._run, Stats()
        room = run.base.context_length
        tokens = PILOT_TOKENS if room is None else min(PILOT_TOKENS, room - run.start)
        run.rewind((), msgspec.structs.replace(options, max_tokens=tokens, stop_tokens=()))
        while pilot.rounds < PILOT_ROUNDS and (round_ := run.step()) is not None:
            pilot.add(round_)
        bar = pilot.break_even(self.prefill.plain_ms)
        if bar is None:
            raise Refused(
                f"the break-even cannot be measured here ({pilot.rounds} drafted rounds, at least {MINIMUM_SAMPLES} "
                "are needed): give the bar as a number"
            )
        options = msgspec.structs.replace(options, fallback_below=bar)
        run.rewind((), options)
        return options


def open_live(request: LiveRequest) -> LiveRun:
    """Load the models that a request names and consume its prompt.

    Raises:
        ModelError: a model cannot be loaded.
        Refused: the request cannot make a run.
    """
    return begin(open_models(request.model, request.setup), request)


def begin(models: Models, request: LiveRequest, rules: Rules = Rules()) -> LiveRun:  # noqa: B008 (a frozen value)
    """Consume the prompt of a request with models that are open, and empty.

    Raises:
        ModelError: the drafter cannot be opened.
        Refused: the request cannot make a run.
    """
    stops = {*request.options.stop_tokens, *map(models.stop_token, request.stop)}
    if not request.ignore_model_stops:
        stops.update(models.stop_tokens)
    prompt = models.tokens_of(request.prompt, chat=request.chat, system=request.system)
    drafter = models.drafters[0] if request.drafter == AUTO else request.drafter
    told = {"model": models.about} if models.about else {}
    options = msgspec.structs.replace(request.options, stop_tokens=tuple(sorted(stops)))
    return LiveRun(
        models.base,
        models.drafter(drafter, prompt, options),
        prompt,
        options,
        piece=models.piece,
        device=models.device,
        opened=models.events,
        run={**request.run, **told, **({"chat": True} if request.chat else {})},
        open_drafter=models.drafter,
        rules=rules,
        auto_bar=request.auto_bar,
        candidates=request.candidates,
    )


def _plain_ms(base: Base, token: int, samples: int, clock: Clock) -> float | None:
    """The median of ``samples`` plain steps after one to warm up, all taken back; ``None`` where they do not fit."""
    held, room = base.consumed, base.context_length
    if not samples or (room is not None and held + samples + 1 > room):
        return None
    times = []
    for _ in range(samples + 1):
        began = clock()
        base.step(token)
        times.append((clock() - began) * 1000)
    base.rollback(held)
    return statistics.median(times[1:])


def _width_events(
    base: Base, prompt: Sequence[int], options: Options, device: Mapping[str, Any], *, quantised: bool
) -> tuple[Event, ...]:
    """A warning where a plain step is padded to be the exact twin of a verify row, and is not.

    A provider other than the CPU is not taken at its word: there a batch has to choose what single steps choose. The
    rows of a quantised graph are compared more closely, for what differs there comes to a near tie soon.
    """
    rows = options.k + 1 if base.widest is None else min(options.k + 1, base.widest)
    if options.plain_width > 1:
        message, code = plain_width_warning(base, prompt, rows), "plain-width"
    elif quantised:
        message, code = quantised_warning(base, prompt, rows), "quantised-rows"
    elif set(device.get("placement") or ()) - {CPU}:
        message, code = batch_warning(base, prompt, rows), "batch-differs"
    else:
        return ()
    return () if message is None else (Event(level="warning", code=code, message=message),)


def _prefill_record(
    logits: Floats, positions: int, first: int, ms: float, plain_ms: float | None, candidates: int
) -> Prefill:
    row = np.asarray(logits)[None]
    top = candidates_of(row, candidates)
    return Prefill(
        positions=positions,
        batched=True,
        ms=ms,
        next=first,
        gap=float(top_gaps(row)[0]),
        plain_ms=plain_ms,
        top=None if top is None else top[0],
    )
