"""Traces from the files of other engines: counts only, so marked, with every rate computed again.

A module for each format turns a file into requests. Their rounds hold ``n_drafts``, ``take`` and ``n_emitted`` as
defined here: the anchor is no draft, and a correction belongs to the next round. A file that holds only totals gives no
rounds at all.
"""

from engine.trace.importers.formats import FORMATS, read
from engine.trace.importers.request import Found, Request
from engine.trace.importers.writing import choose, write

__all__ = ["FORMATS", "Found", "Request", "choose", "read", "write"]
