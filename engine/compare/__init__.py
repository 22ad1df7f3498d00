"""Compares two runs: their tokens, their drafts, what they cost, and what was set otherwise."""

from engine.compare.walk import Alignment, Meeting, align, first_draft_difference

__all__ = ["Alignment", "Meeting", "align", "first_draft_difference"]
