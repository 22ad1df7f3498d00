"""The audit of an opened trace as one value: for JSON, for the screen, and for a command's status."""

from typing import Any, NamedTuple

from engine.errors import TraceError
from engine.trace.audit.auditor import Audit
from engine.trace.audit.finding import Finding
from engine.trace.framing import Torn
from engine.trace.reader import Trace


class Report(NamedTuple):
    """All findings of a trace of ``rounds`` rounds; ``torn`` is where it stops making sense, if it does."""

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
    auditor = Audit()
    findings: list[Finding] = []
    number, damage = 0, None
    try:
        for record in trace.records():
            findings += auditor.feed(record)
            number += 1
    except TraceError as error:
        damage = Torn(error.byte or 0, number, str(error))
    torn = damage or trace.torn
    findings += auditor.finish(torn)
    return Report(str(trace.path), len(trace), torn, tuple(findings))
