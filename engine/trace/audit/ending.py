"""A8 and A10: a run ends where it must, and its summary counts what happened."""

from engine.records import End, Round
from engine.trace.audit.finding import Findings, Rules
from engine.trace.audit.setup import Setup


class Ending(Rules):
    """A8 nothing behind a stop token, the token limit kept and used; A10 ``rounds`` and ``emitted`` of the end."""

    def __init__(self, setup: Setup) -> None:
        self._stops = setup.stops
        self._max_tokens = setup.max_tokens
        self._k = setup.k
        self._rounds = 0
        self._emitted = 0
        self._last: int | None = None
        self._stopped: int | None = None
        self._over = False

    def round(self, round_: Round, found: Findings) -> None:
        self._rounds += 1
        if self._stopped is not None:
            self._goes_on(round_, self._stopped, found)
            self._stopped = None
        emitted = round_.emitted
        count = round_.count if emitted is None else len(emitted)
        if self._max_tokens is not None:
            left = self._max_tokens - self._emitted
            if count > left and not self._over:
                self._over = True
                found.add(
                    "A8",
                    round_.index,
                    "emitted",
                    self._emitted + count,
                    self._max_tokens,
                    f"round {round_.index} brings the run to {self._emitted + count} tokens where {self._max_tokens} "
                    "were allowed: a whole block was emitted without looking at how many tokens were left",
                )
            elif round_.limit is not None and round_.limit >= left and round_.drafted:
                self._limit_is_wrong(round_, left, found)
        self._emitted += count
        if emitted:
            self._last = emitted[-1]
            if self._stops and not self._stops.isdisjoint(emitted):
                self._meets_stop(round_, emitted, self._stops, found)
        if round_.reason == "stop" and self._stops and round_.t1 is not None and round_.t1 not in self._stops:
            found.add(
                "A8",
                round_.index,
                "reason",
                "stop",
                None,
                f"round {round_.index} is plain because of a stop, but its t1 ({round_.t1}) is no stop token",
            )

    def kept(self, round_: Round, found: Findings) -> None:  # noqa: ARG002
        self._rounds += 1
        self._emitted += round_.count
        self._last = round_.emitted[-1] if round_.emitted else None

    def end(self, end: End, found: Findings) -> None:
        self._ends_right(end, found)
        if end.rounds is not None and end.rounds != self._rounds:
            found.add(
                "A10",
                None,
                "rounds",
                end.rounds,
                self._rounds,
                f"the end record counts {end.rounds} rounds, the trace holds {self._rounds}: rounds were lost or the "
                "counter is off",
            )
        if end.emitted is not None and end.emitted != self._emitted:
            found.add(
                "A10",
                None,
                "emitted",
                end.emitted,
                self._emitted,
                f"the end record counts {end.emitted} tokens, the rounds emit {self._emitted}: look for the round that "
                "counts its correction token, or counts drafts instead of tokens",
            )

    def _ends_right(self, end: End, found: Findings) -> None:
        ends_on_stop = self._stops is not None and self._last in self._stops
        if end.reason == "max_tokens":
            if ends_on_stop:
                found.add(
                    "A8",
                    None,
                    "reason",
                    "max_tokens",
                    "stop",
                    f"the run ends on stop token {self._last} but says max_tokens: the stop is checked first",
                )
            elif self._max_tokens is not None and self._emitted < self._max_tokens:
                found.add(
                    "A8",
                    None,
                    "emitted",
                    self._emitted,
                    self._max_tokens,
                    f"the run says it used up max_tokens = {self._max_tokens} but emitted {self._emitted}: "
                    "the loop counts something else than tokens",
                )
        elif end.reason == "stop" and self._stops and self._last is not None and not ends_on_stop:
            found.add(
                "A8",
                None,
                "reason",
                "stop",
                None,
                f"the run says that a stop ended it, but its last token ({self._last}) is no stop token: "
                "the stop token was dropped, or the run was cut at the wrong place",
            )

    def _meets_stop(self, round_: Round, emitted: tuple[int, ...], stops: frozenset[int], found: Findings) -> None:
        place = next(i for i, token in enumerate(emitted) if token in stops)
        if place == len(emitted) - 1:
            self._stopped = round_.index
            return
        self._stopped = round_.index if emitted[-1] in stops else None
        found.add(
            "A8",
            round_.index,
            "emitted",
            list(emitted),
            list(emitted[: place + 1]),
            f"round {round_.index} emits {len(emitted) - place - 1} tokens behind stop token {emitted[place]}: a stop "
            "inside the accepted run must end it; check for stops before the token limit",
        )

    def _goes_on(self, round_: Round, stopped: int, found: Findings) -> None:
        found.add(
            "A8",
            round_.index,
            "index",
            round_.index,
            None,
            f"round {round_.index} runs although round {stopped} emitted a stop token: the run must end there",
        )

    def _limit_is_wrong(self, round_: Round, left: int, found: Findings) -> None:
        limit = left - 1 if self._k is None else min(self._k, left - 1)
        found.add(
            "A2",
            round_.index,
            "limit",
            round_.limit,
            limit,
            f"round {round_.index} may draft {round_.limit} tokens with {left} left to emit: the limit is "
            f"min(k, {left} - 1), or the run can overshoot max_tokens",
        )
