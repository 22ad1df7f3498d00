"""The forms by name."""

from collections.abc import Callable, Iterator

from engine.export.page import html_chunks
from engine.export.perfetto import perfetto_chunks
from engine.export.plot import svg_chunks
from engine.export.tables import csv_chunks, json_chunks
from engine.trace.reader import Trace

FORMS: dict[str, Callable[[Trace], Iterator[str]]] = {
    "json": json_chunks,
    "csv": csv_chunks,
    "perfetto": perfetto_chunks,
    "html": html_chunks,
    "svg": svg_chunks,
}


def chunks(form: str, trace: Trace) -> Iterator[str]:
    """The export, piece by piece. Raises ``TraceError`` where a record cannot be read."""
    return FORMS[form](trace)
