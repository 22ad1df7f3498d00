"""Runs that end at the wrong token."""

from collections.abc import Set

import msgspec

from engine.accept import Decision, decide
from engine.base.base import Floats
from engine.drafters.drafter import Draft
from engine.faults.fault import Fault, on_code, on_toy
from engine.faults.over import OverRun
from engine.loop import Rules
from engine.records import End, Header, Round
from engine.request import LiveRequest
from engine.sampling import AnySampler


def look_past_stops(
    draft: Draft,
    logits: Floats,
    position: int,
    sampler: AnySampler,
    stop_tokens: Set[int],  # noqa: ARG001
) -> Decision:
    """Decide as if no token were a stop."""
    return decide(draft, logits, position, sampler, frozenset())


class LimitBeforeStop(OverRun):
    """Where both hold, says that the limit ended the run."""

    def end(self) -> End:
        end = super().end()
        used_up = end.emitted == self._request.options.max_tokens
        return msgspec.structs.replace(end, reason="max_tokens") if used_up else end


def room_for_rounds(request: LiveRequest) -> LiveRequest:
    """As many tokens as that many full rounds may emit."""
    options = request.options
    longer = msgspec.structs.replace(options, max_tokens=options.max_tokens * (options.k + 1))
    return msgspec.structs.replace(request, options=longer)


class CountsRounds(OverRun):
    """Makes as many rounds as tokens were asked for."""

    @property
    def header(self) -> Header:
        header = super().header
        return msgspec.structs.replace(header, options={**header.options, "max_tokens": self._limit})

    @property
    def done(self) -> bool:
        return super().done or self._rounds >= self._limit

    def step(self) -> Round | None:
        return None if self.done else super().step()

    def end(self) -> End:
        end = super().end()
        return msgspec.structs.replace(end, reason="max_tokens") if self._rounds >= self._limit else end

    @property
    def _limit(self) -> int:
        return self._request.options.max_tokens

    @property
    def _rounds(self) -> int:
        return self._stats.rounds + self._stats.plain_rounds


FAULTS = (
    Fault(
        name="stop-inside",
        sentence="Text goes on behind a stop token that stood inside the accepted run.",
        rules=("A8",),
        shown=on_toy("4", max_tokens=40, stop_tokens=(230,)),
        decides=Rules(decide=look_past_stops),
    ),
    Fault(
        name="cap-before-stop",
        sentence="The token limit is looked at before the stop: the run ends at the limit, behind the stop token.",
        rules=("A8",),
        shown=on_toy("4", max_tokens=15, stop_tokens=(230,)),
        decides=Rules(decide=look_past_stops),
        tell=LimitBeforeStop,
    ),
    Fault(
        name="overshoot",
        sentence="The loop counts rounds where it should count tokens, and runs past the limit.",
        rules=("A8",),
        shown=on_code(max_tokens=16),
        request=room_for_rounds,
        tell=CountsRounds,
    ),
)
