"""Cuts a stream of bytes into whole MessagePack records, within bounds. Pure: it is fed bytes and reads nothing."""

from collections.abc import Iterator
from operator import itemgetter
from typing import NamedTuple, Self

import msgpack

MAX_RECORD = 64 * 1024 * 1024
"""Bytes of the largest record that is read."""
MAX_DEPTH = 16
"""Containers within containers; the record's own map counts."""
TRAILER_SIZE = 18
TRAILER_HEAD = b"\xc4\x10SPECIDX1"

_SLICE = 1024 * 1024
_MAPS = bytes([*range(0x80, 0x90), 0xDE, 0xDF])


class Torn(NamedTuple):
    """Where a trace stops making sense: everything before ``byte`` is whole.

    ``record`` is the number of whole records before it. ``over_limit`` tells an input that claims more than a reader
    grants from one that is merely cut short or overwritten.
    """

    byte: int
    record: int
    reason: str
    over_limit: bool = False

    def __str__(self) -> str:
        return f"{self.reason} (byte {self.byte}, record {self.record})"


class Cut(NamedTuple):
    """Whole records: record i is ``data[ends[i - 1]:ends[i]]``, and ``data[0]`` is byte ``byte`` of the stream."""

    byte: int
    data: bytes
    ends: list[int]

    @property
    def starts(self) -> list[int]:
        """Where each record begins in ``data``."""
        return [0, *self.ends[:-1]]

    def spans(self) -> Iterator[tuple[int, bytes]]:
        """Each record's offset in the stream, and its bytes."""
        start = 0
        for end in self.ends:
            yield self.byte + start, self.data[start:end]
            start = end


class Framer:
    """Finds the whole records in bytes that arrive in pieces of any size.

    ``byte`` is the offset of the first byte that is not part of a whole record, ``record`` the number of records before
    it. Once ``damage`` is set, or the trailer was seen (``complete``), nothing more is cut.
    """

    def __init__(self, byte: int = 0, record: int = 0) -> None:
        self.byte = byte
        self.record = record
        self.damage: Torn | None = None
        self.complete = False
        self._pending = bytearray()
        self._told = 0
        self._unpacker = msgpack.Unpacker(max_buffer_size=2 * MAX_RECORD)

    @classmethod
    def at_trailer(cls, size: int) -> Self:
        """A framer that stands behind the trailer of a stream of ``size`` bytes."""
        framer = cls(size)
        framer.complete = True
        return framer

    @property
    def pending(self) -> int:
        """Bytes that wait for the rest of their record."""
        return len(self._pending)

    @property
    def rest(self) -> bytes:
        """What follows the last whole record: the beginning of the next, or the damage."""
        return bytes(self._pending)

    def feed(self, data: bytes) -> Iterator[Cut]:
        """Cut what is whole by now. The iterator must be run to its end before the next call."""
        for start in range(0, len(data), _SLICE):
            if self.complete and self.damage is None:
                self._stop("bytes follow the trailer")
            if self.damage is not None:
                return
            cut = self._slice(data[start : start + _SLICE])
            if cut.ends:
                yield cut

    def torn(self) -> Torn | None:
        """What is wrong if the stream ends here; ``None`` if it ends with a whole record."""
        if self.damage is not None or not self._pending:
            return self.damage
        reason = _too_much(bytes(self._pending[:_SLICE]))
        if reason is not None:
            return Torn(self.byte, self.record, reason, over_limit=True)
        return Torn(self.byte, self.record, f"the trace ends in the middle of a record, after {self.pending} bytes")

    def _slice(self, data: bytes) -> Cut:
        pending, base = self._pending, self._told
        skip, tell = self._unpacker.skip, self._unpacker.tell
        pending += data
        self._unpacker.feed(data)
        ends: list[int] = []
        wrong: tuple[str, bool] | None = None
        try:
            while True:
                skip()
                ends.append(tell() - base)
        except msgpack.OutOfData:
            pass
        except msgpack.StackError:
            wrong = f"a record is nested deeper than {MAX_DEPTH}", True
        except ValueError:
            wrong = "what follows is not MessagePack", False
        if max(ends[0] if ends else 0, len(pending) - (ends[-1] if ends else 0)) > MAX_RECORD:
            ends = [] if ends and ends[0] > MAX_RECORD else ends
            wrong = f"a record is larger than {MAX_RECORD} bytes", True
        return self._take(ends, wrong)

    def _take(self, ends: list[int], wrong: tuple[str, bool] | None) -> Cut:
        """Hand out the records before ``ends[-1]``, but stop at the first object that is no map."""
        starts = [0, *ends[:-1]] if ends else []
        alien = len(starts) - len(_pick(self._pending, starts).lstrip(_MAPS))
        trailer = False
        if alien < len(starts):
            start = starts[alien]
            trailer = bytes(self._pending[start : ends[alien]]).startswith(TRAILER_HEAD)
            more = len(self._pending) > ends[alien]
            wrong = ("bytes follow the trailer", False) if trailer and more else wrong
            wrong = wrong if trailer else (_not_a_record(self._pending[start]), False)
            ends = ends[:alien]
        whole = ends[-1] if ends else 0
        cut = Cut(self.byte, bytes(self._pending[:whole]), ends)
        self.byte += whole
        self.record += len(ends)
        self._told += whole
        if trailer:
            self.complete = True
            whole += TRAILER_SIZE
            self.byte += TRAILER_SIZE
        del self._pending[:whole]
        if wrong is not None:
            self._stop(*wrong)
        return cut

    def _stop(self, reason: str, over_limit: bool = False) -> None:
        self.damage = Torn(self.byte, self.record, reason, over_limit)


def _pick(data: bytearray, at: list[int]) -> bytes:
    return bytes(itemgetter(*at)(data)) if len(at) > 1 else bytes(data[start] for start in at)


def _not_a_record(head: int) -> str:
    return "zero bytes stand where a record should start" if head == 0 else "what follows is not a record (not a map)"


def _too_much(data: bytes) -> str | None:
    """Walk the headers of an unfinished record for a length or a depth that no reader grants."""
    at, open_items = 0, [1]
    while at < len(data):
        while open_items and open_items[-1] == 0:
            open_items.pop()
        if not open_items:
            return None
        open_items[-1] -= 1
        header = _header(data, at)
        if header is None:
            return None
        if max(header.payload, header.items) > MAX_RECORD:
            return f"a length of {max(header.payload, header.items)} is beyond the file and over {MAX_RECORD}"
        at += header.size + header.payload
        if header.container:
            open_items.append(header.items)
            if len(open_items) - 1 > MAX_DEPTH:
                return f"a record is nested deeper than {MAX_DEPTH}"
    return None


class _Header(NamedTuple):
    size: int
    payload: int
    items: int
    container: bool


_FIXED = {0xC0: 0, 0xC2: 0, 0xC3: 0, 0xCA: 4, 0xCB: 8} | {0xCC + i: 1 << i for i in range(4)}
_FIXED |= {0xD0 + i: 1 << i for i in range(4)} | {0xD4 + i: 1 + (1 << i) for i in range(5)}
_SIZED = {0xC4: 1, 0xC5: 2, 0xC6: 4, 0xC7: 1, 0xC8: 2, 0xC9: 4, 0xD9: 1, 0xDA: 2, 0xDB: 4}


def _header(data: bytes, at: int) -> _Header | None:  # noqa: PLR0911 (one return for each family of the format)
    """The MessagePack object header at ``at``; ``None`` where it is cut off or invalid."""
    head = data[at]
    if head < 0x80 or head >= 0xE0:
        return _Header(1, 0, 0, False)
    if head < 0x90:
        return _Header(1, 0, 2 * (head & 15), True)
    if head < 0xA0:
        return _Header(1, 0, head & 15, True)
    if head < 0xC0:
        return _Header(1, head & 31, 0, False)
    if head in _FIXED:
        return _Header(1, _FIXED[head], 0, False)
    width = _SIZED.get(head) or (2 if head in (0xDC, 0xDE) else 4 if head in (0xDD, 0xDF) else 0)
    if width == 0 or at + 1 + width > len(data):
        return None
    length = int.from_bytes(data[at + 1 : at + 1 + width], "big")
    if head >= 0xDC:
        return _Header(1 + width, 0, length * (2 if head >= 0xDE else 1), True)
    return _Header(1 + width, length + (head in (0xC7, 0xC8, 0xC9)), 0, False)
