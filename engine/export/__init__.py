"""A trace in other forms: JSON and CSV for programs, Perfetto's JSON for its viewer, SVG and HTML for people."""

from engine.export.forms import FORMS, chunks
from engine.export.output import NotSaved, save

__all__ = ["FORMS", "NotSaved", "chunks", "save"]
