"""The audit of a trace: rules A1 to A18 of the trace format, recomputed record by record."""

from engine.trace.audit.auditor import Audit, TornAt, audit
from engine.trace.audit.finding import Finding

__all__ = ["Audit", "Finding", "TornAt", "audit"]
