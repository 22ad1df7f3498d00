"""The audit of an opened trace as one value: for JSON, for the screen, and for a command's status."""

from collections import deque
from collections.abc import Iterator
from typing import Any, NamedTuple

from engine.errors import TraceError
from engine.records import Round
from engine.trace.audit.auditor import Audit
from engine.trace.audit.finding import Finding
from engine.trace.audit.setup import Setup
from engine.trace.audit.sieve import Sieve
from engine.trace.framing import Torn
from engine.trace.reader import Trace

EVERY = 256
"""Rounds between two reports of an audit that is under way."""


class Report(NamedTuple):
    """All findings of the ``rounds`` rounds that were looked at; ``torn`` is where the trace stops making sense."""

    trace: str
    rounds: int
    torn: Torn | None
    findings: tuple[Finding, ...]

    @property
    def complete(self) -> bool:
        """Whether the trace is whole, to its end record."""
        return self.torn is None and all(finding.rule != "end-missing" for finding in self.findings)

    def as_map(self) -> dict[str, Any]:
        """The JSON shape: ``trace``, ``rounds``, ``torn`` (``byte`` and ``record``, or null) and ``findings``."""
        return {
            "trace": self.trace,
            "rounds": self.rounds,
            "torn": None if self.torn is None else {"byte": self.torn.byte, "record": self.torn.record},
            "findings": list(self.findings),
        }


def report(trace: Trace) -> Report:
    """Audit a trace from its first record to its last whole one.

    A record that is whole but cannot be read tears the trace like one that is cut: what follows cannot be judged.
    """
    (made,) = deque(reports(trace), maxlen=1)
    return made


def reports(trace: Trace, every: int = EVERY) -> Iterator[Report]:
    """The same while it is made: what was found in the first ``every`` rounds, in twice as many, and so on to all."""
    auditor = Audit()
    findings: tuple[Finding, ...] = ()
    rounds, number, damage = 0, 0, None
    try:
        for record in trace.records(Sieve(Setup.of(trace.header)).decode):
            if new := auditor.feed(record):
                findings += tuple(new)
            number += 1
            if isinstance(record, Round):
                rounds += 1
                if rounds % every == 0:
                    yield Report(str(trace.path), rounds, None, findings)
    except TraceError as error:
        damage = Torn(error.byte or 0, number, str(error))
    torn = damage or trace.torn
    rounds = len(trace) if damage is None else rounds
    yield Report(str(trace.path), rounds, torn, findings + tuple(auditor.finish(torn)))
