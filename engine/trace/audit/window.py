"""A9, and A10's ``fell_back_at``: the fallback rule computed again from the emitted counts and the options."""

from collections import deque

from engine.records import End, Round, Window
from engine.trace.audit.finding import Findings, Rules
from engine.trace.audit.setup import Setup

_MEAN_TOLERANCE = 1e-4


class FallbackRule(Rules):
    """The rolling window, its mean and the verdict, round by round.

    After a finding it goes on from what the trace says, so that one fault is told where it happens. Without a bar or
    a window in the options only the latch is checked: what is off stays off, unless a policy takes drafting up again.
    """

    def __init__(self, setup: Setup) -> None:
        self._below = setup.below
        self._size = setup.window or None
        self._resumes = setup.resumes
        self._last: deque[int] = deque(maxlen=setup.window or 1)
        self._recorded = 0
        self._off = False
        self._fell_back_at: int | None = None
        # Cleared where a record leaves out what the rule needs: from there on nothing can be computed.
        self._sure = True
        self._said_drafting = self._said_early = False

    def round(self, round_: Round, found: Findings) -> None:
        reason, was_off, emitted = round_.reason, self._off, round_.emitted
        if round_.form != "plain":
            if was_off and not self._resumes:
                self._drafts_after_off(round_, found)
            self._record(round_.count if emitted is None else len(emitted))
        elif reason == "zero-draft":
            self._record(1)
        elif reason == "cooldown":
            self._resumes = True
        elif reason is None and self._below != 0:
            self._sure = False
        if reason == "fallback" and not was_off and not self._resumes:
            self._falls_back_early(round_, found)
        if round_.fallback is not None:
            self._compare(round_, round_.fallback, found)

    def kept(self, round_: Round, found: Findings) -> None:  # noqa: ARG002
        if round_.form != "plain":
            self._record(round_.count)
        elif round_.reason == "zero-draft":
            self._record(1)

    def end(self, end: End, found: Findings) -> None:
        known = self._below == 0 or (self._below is not None and self._size is not None) or self._off
        if self._resumes or not self._sure or not known or end.fell_back_at == self._fell_back_at:
            return
        if self._fell_back_at is None:
            why = "the run never fell back, which is nil and not a number"
        elif end.fell_back_at is None:
            why = f"drafting went off after {self._fell_back_at} recorded rounds"
        else:
            why = (
                f"drafting went off after {self._fell_back_at} recorded rounds: count drafted and zero-draft rounds "
                "only, and include the one that tipped it"
            )
        found.add(
            "A10",
            None,
            "fell_back_at",
            end.fell_back_at,
            self._fell_back_at,
            f"the end record says fell_back_at = {'nil' if end.fell_back_at is None else end.fell_back_at}, but {why}",
        )

    def _record(self, emitted: int) -> None:
        if self._off:
            return
        self._recorded += 1
        last = self._last
        last.append(emitted)
        below, size = self._below, self._size
        if below and size and len(last) >= size and sum(last) < below * size:
            self._turn_off()

    def _turn_off(self) -> None:
        self._off = True
        self._fell_back_at = self._recorded

    def _compare(self, round_: Round, fallback: Window, found: Findings) -> None:
        if self._size is not None and self._sure:
            window = tuple(self._last)
            if fallback.window != window:
                self._window_is_wrong(round_, fallback.window, window, found)
                self._last = deque(fallback.window, maxlen=self._size)
        if fallback.mean is not None and fallback.window:
            mean = sum(fallback.window) / len(fallback.window)
            # Written so that NaN is a finding too.
            if not abs(fallback.mean - mean) <= _MEAN_TOLERANCE * max(1.0, mean):
                found.add(
                    "A9",
                    round_.index,
                    "fallback.mean",
                    fallback.mean,
                    mean,
                    f"round {round_.index}: the mean of the window {list(fallback.window)} is {mean:g}, "
                    f"not {fallback.mean:g}: it must be over the window and nothing else",
                )
        if fallback.off != self._off:
            self._verdict_is_wrong(round_, fallback, found)

    def _window_is_wrong(self, round_: Round, got: tuple[int, ...], expected: tuple[int, ...], found: Findings) -> None:
        plain = round_.form == "plain" and round_.reason != "zero-draft"
        if plain and got and got == (*expected, got[-1])[-(self._size or 1) :]:
            why = "a plain round went into it, which it never may"
        elif got == expected[:-1] or (round_.reason == "zero-draft" and got != expected):
            why = "this round was not recorded; a drafter that returned nothing counts as 1"
        elif expected and got and got[-1] == expected[-1] - 1:
            why = "it records the accepted drafts instead of the emitted tokens, one more"
        elif len(got) < len(expected):
            why = "it is cleared when it is full; it must roll"
        else:
            why = "it must hold the emitted counts of the last recorded rounds, oldest first"
        found.add(
            "A9",
            round_.index,
            "fallback.window",
            list(got),
            list(expected),
            f"round {round_.index}: the fallback window is {list(got)} and should be {list(expected)}: {why}",
        )

    def _verdict_is_wrong(self, round_: Round, fallback: Window, found: Findings) -> None:
        decides = self._below is not None and self._size is not None and self._sure
        if self._on_the_edge() or self._resumes or (fallback.off and not decides):
            self._adopt(fallback.off)
            return
        count = len(fallback.window)
        if not fallback.off and not decides and self._off:
            why = "it was off before, and off stays off"
        elif fallback.off and not self._below:
            why = "no bar is set, so it never fires"
        elif fallback.off and count < (self._size or 0):
            why = f"there is no verdict before {self._size} rounds are recorded, and these are {count}"
        elif fallback.off:
            why = (
                f"{sum(fallback.window)} tokens in {count} rounds are not strictly below {self._below:g} a round, and "
                "exactly the bar keeps drafting"
            )
        elif self._fell_back_at == self._recorded and self._last:
            why = f"{sum(self._last)} tokens in {len(self._last)} rounds are below {self._below:g} a round"
        else:
            why = "it was off before, and off stays off"
        found.add(
            "A9",
            round_.index,
            "fallback.off",
            fallback.off,
            self._off,
            f"round {round_.index}: the fallback is recorded as {'off' if fallback.off else 'still drafting'}, "
            f"but {why}",
        )
        self._adopt(fallback.off)

    def _adopt(self, off: bool) -> None:
        self._off = off
        self._fell_back_at = self._recorded if off else None

    def _on_the_edge(self) -> bool:
        """Whether the bar is a decimal fraction that float32 may round to the other side of the window's sum."""
        if not self._below or not self._size:
            return False
        bar = self._below * self._size
        total = sum(self._last)
        return total != bar and abs(total - bar) < 1e-5 * max(1.0, bar)

    def _drafts_after_off(self, round_: Round, found: Findings) -> None:
        if not self._said_drafting:
            found.add(
                "A9",
                round_.index,
                "form",
                round_.form,
                "plain",
                f"round {round_.index} drafts although the fallback went off after {self._fell_back_at} recorded "
                "rounds: off latches, and the rest of the run is plain",
            )
        self._said_drafting = True
        if round_.fallback is None:
            self._adopt(off=False)
            self._sure = False

    def _falls_back_early(self, round_: Round, found: Findings) -> None:
        decides = self._below is not None and self._size is not None and self._sure
        if decides and not self._said_early and not self._on_the_edge():
            self._said_early = True
            if not self._below:
                why = "no bar is set"
            elif self._recorded < (self._size or 0):
                why = f"only {self._recorded} of {self._size} rounds are recorded, which is no verdict yet"
            else:
                why = f"the window {list(self._last)} is not below {self._below:g} a round"
            found.add(
                "A9",
                round_.index,
                "reason",
                "fallback",
                None,
                f"round {round_.index} is plain because of the fallback, but {why}",
            )
        self._turn_off()
