"""Audits what the screen shows: a trace from its file, in a thread of its own; other sources round by round."""

import time
from collections.abc import Callable
from pathlib import Path

from engine.records import RoundSource
from engine.trace.audit.auditor import Audit
from engine.trace.audit.finding import Finding
from engine.trace.audit.report import Report, reports
from engine.trace.reader import open_trace

_REST = 0.5
"""Of the time that a thread audits, the share that it sleeps in between: the screen shares the interpreter with it."""


def audit_file(path: Path, tell: Callable[[Report], object], stopped: Callable[[], bool]) -> None:
    """Audit the trace at ``path``, and ``tell`` of each report that is made on the way, until ``stopped``.

    Raises:
        TraceError: the trace cannot be opened.
    """
    with open_trace(path) as trace:
        begun = time.perf_counter()
        for made in reports(trace):
            if stopped():
                return
            tell(made)
            time.sleep((time.perf_counter() - begun) * _REST)
            begun = time.perf_counter()


class Auditing:
    """The audit of a source that is at hand and may grow."""

    def __init__(self, source: RoundSource) -> None:
        self._source = source
        self._audit = Audit(source.header)
        self._prefilled = False
        self.rounds = 0
        self.done = False

    @property
    def behind(self) -> bool:
        """Whether there is something that is not audited yet."""
        over = not self._source.live or self._source.end is not None
        return self.rounds < len(self._source) or (over and not self.done)

    def go_on(self, limit: int) -> list[Finding]:
        """Audit up to ``limit`` more rounds, and the end behind the last.

        Raises:
            TraceError: a round cannot be read.
        """
        found: list[Finding] = []
        if not self._prefilled and self._source.prefill is not None:
            found += self._audit.feed(self._source.prefill)
            self._prefilled = True
        for index in range(self.rounds, min(self.rounds + limit, len(self._source))):
            found += self._audit.feed(self._source.round(index))
            self.rounds += 1
        if self.rounds == len(self._source) and self.behind:
            if self._source.end is not None:
                found += self._audit.feed(self._source.end)
            found += self._audit.finish()
            self.done = True
        return found
