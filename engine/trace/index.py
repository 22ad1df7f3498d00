"""Finds a trace's own ``index`` through the trailer, and trusts it only as far as it fits the file."""

from typing import NamedTuple

from engine.errors import TraceError
from engine.records import End, Index, Prefill
from engine.trace.blocks import load
from engine.trace.contents import WIDE, Contents
from engine.trace.decoding import decode, glances
from engine.trace.framing import TRAILER_HEAD, TRAILER_SIZE, Framer
from engine.trace.pread import ReadAt


class Indexed(NamedTuple):
    """What an index spares the reader from scanning for. ``stop`` is the index record's own offset."""

    contents: Contents
    prefill: Prefill | None
    end: End
    stop: int
    framer: Framer


def read_index(file: ReadAt) -> Indexed | None:
    """The file's index; ``None`` if it has none, or one that the first rounds, the last ones or ``end`` contradict."""
    size = file.size
    trailer = file.read(size - TRAILER_SIZE, size) if size > TRAILER_SIZE else b""
    if not trailer.startswith(TRAILER_HEAD):
        return None
    stop, limit = int.from_bytes(trailer[len(TRAILER_HEAD) :], "big"), size - TRAILER_SIZE
    try:
        contents = _contents(file, stop, limit)
        if contents is None or not contents.counts:
            return None
        end = _end(file, contents, stop)
        if end is None:
            return None
        return Indexed(contents, _prefill(file, contents.offsets[0]), end, stop, Framer.at_trailer(size))
    except TraceError:
        return None


def _contents(file: ReadAt, stop: int, limit: int) -> Contents | None:
    data = file.first_record(stop, limit) if stop < limit else None
    if data is None or stop + len(data) != limit:
        return None
    index = decode(data, stop)
    return Contents.from_index(index, stop) if isinstance(index, Index) else None


def _end(file: ReadAt, contents: Contents, stop: int) -> End | None:
    """The ``end`` record, if the first and the last block and its totals say that the index is this file's."""
    first = load(file, contents, 0, stop, numbered=True)
    last = load(file, contents, len(contents.offsets) - 1, stop, numbered=True)
    if first is None or last is None:
        return None
    ends = [record for row in last.others if isinstance(record := decode(row.data, row.byte), End)]
    if len(ends) != 1:
        return None
    end, counts = ends[0], contents.counts
    if end.rounds is not None and end.rounds != len(counts):
        return None
    if end.emitted is not None and WIDE not in counts and end.emitted != sum(counts):
        return None
    return end


def _prefill(file: ReadAt, stop: int) -> Prefill | None:
    for cut in file.cuts(Framer(), stop):
        for glance, (byte, data) in zip(glances(cut), cut.spans(), strict=True):
            if glance.type == "prefill":
                record = decode(data, byte)
                return record if isinstance(record, Prefill) else None
    return None
