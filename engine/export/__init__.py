"""A trace in other forms: JSON and CSV for programs, Perfetto's JSON for its viewer, SVG and HTML for people."""

from engine.export.forms import FORMS, chunks
from engine.export.output import save

__all__ = ["FORMS", "chunks", "save"]
