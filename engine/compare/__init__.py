"""Compares two runs: their tokens, their drafts, what they cost, and what was set otherwise."""

from engine.compare.divergence import TIED, Cause, Choice, Divergence, choice, divergence
from engine.compare.report import AROUND, Report, Summary, report, text
from engine.compare.walk import Alignment, Meeting, Side, align, first_draft_difference

__all__ = [
    "AROUND",
    "TIED",
    "Alignment",
    "Cause",
    "Choice",
    "Divergence",
    "Meeting",
    "Report",
    "Side",
    "Summary",
    "align",
    "choice",
    "divergence",
    "first_draft_difference",
    "report",
    "text",
]
