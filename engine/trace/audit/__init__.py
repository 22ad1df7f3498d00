"""The audit of a trace: rules A1 to A18 of the trace format, recomputed record by record."""

from engine.trace.audit.auditor import Audit, TornAt, audit
from engine.trace.audit.coverage import Coverage
from engine.trace.audit.finding import Finding
from engine.trace.audit.report import Report, report, reports

__all__ = ["Audit", "Coverage", "Finding", "Report", "TornAt", "audit", "report", "reports"]
