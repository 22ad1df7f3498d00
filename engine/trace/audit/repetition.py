"""A18: fast because the text is worthless."""

from engine.records import End, Round
from engine.trace.audit.finding import Findings, Rules

_RUN_ANYWHERE = 128
_RUN_AT_THE_END = 64
_RUN_IN_SHORT_TEXT = 32
_SHARE = 0.5
_ACCEPTED = 0.75


class Repetition(Rules):
    """One token over and over while most drafts are accepted: base and drafter agree on a degenerate text.

    A separator line or a block of padding is honest, so a run is a finding from 128 tokens on, or where it lasts to the
    end of the run and is 64 tokens long, or 32 and half of all the text. Runs are measured from round to round, to the
    token where one starts and to the round where one ends.
    """

    def __init__(self) -> None:
        self._token: int | None = None
        self._length = 0
        self._first = 0
        self._drafted = self._accepted = 0
        self._emitted = 0

    def round(self, round_: Round, found: Findings) -> None:
        emitted = round_.emitted
        if not emitted:
            return
        count, last = len(emitted), emitted[-1]
        self._emitted += count
        if emitted[0] == last and (count == 1 or emitted.count(last) == count):
            if last == self._token:
                self._length += count
                if round_.drafts:
                    self._drafted += len(round_.drafts)
                    self._accepted += round_.take
                return
            tail = count
        else:
            tail = 1
            while emitted[-1 - tail] == last:
                tail += 1
        if self._length >= _RUN_ANYWHERE:
            self._tell(found)
        self._token, self._length, self._first = last, tail, round_.index
        self._drafted = self._accepted = 0

    def end(self, end: End, found: Findings) -> None:  # noqa: ARG002
        self.finish(found)

    def finish(self, found: Findings) -> None:
        length = self._length
        if length >= _RUN_AT_THE_END or (length >= _RUN_IN_SHORT_TEXT and length >= _SHARE * self._emitted):
            self._tell(found)
        self._length = 0

    def _tell(self, found: Findings) -> None:
        if not self._drafted or self._accepted < _ACCEPTED * self._drafted:
            return
        found.add(
            "A18",
            self._first,
            "emitted",
            self._length,
            None,
            f"from round {self._first} on token {self._token} comes {self._length} times in a row with "
            f"{self._accepted} of {self._drafted} drafts accepted: base and drafter agree on an endless repetition, so "
            "the speed is real and the text is worthless",
        )
