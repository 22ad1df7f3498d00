"""Weights on huge pages: a base reads all of its weights for every token, and on pages of 4 kB it looks each page up.

Most Linux systems give huge pages to memory that asks for them alone (``/sys/kernel/mm/transparent_hugepage/enabled``
says ``madvise``), and onnxruntime does not ask. From 6.1 on memory that is filled can be moved (MADV_COLLAPSE of
``madvise(2)``); elsewhere nothing is done. What is computed is the same.
"""

import ctypes
import errno
import os
import re
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

WORTH = 2**26
"""A model that takes less memory than this stays in the processor's caches for a good part, and is left where it is."""
VARIABLE = "SPECSTEP_HUGE_PAGES"
"""A variable of the environment: ``off`` leaves every model where it is."""

SIZE = 2**21
"""Bytes of a huge page."""
_AT_ONCE = 8 * SIZE
_COLLAPSE = 25
_PROCESS = Path("/proc/self")

_AREA = re.compile(r"([0-9a-f]+)-([0-9a-f]+) rw-p \S+ \S+ 0 +(?:\[heap\])?\n")
"""Memory that may be written and belongs to no file."""
_AREAS = re.compile(r"(?m)^(?=[0-9a-f]+-[0-9a-f]+ )")
_RESIDENT, _HUGE = (re.compile(rf"\n{name}:\s+(\d+) kB") for name in ("Rss", "AnonHugePages"))

Move = Callable[[int, int], int]
"""Moves so many bytes from an address on to huge pages; gives 0 or the number of an error."""


class Area(NamedTuple):
    """Memory of this process: where it begins and ends, and how many bytes of it are there, and on huge pages."""

    begin: int
    end: int
    resident: int
    huge: int

    @property
    def whole(self) -> range:
        """The huge pages that fit into it, by their addresses."""
        return range(-(-self.begin // SIZE) * SIZE, self.end // SIZE * SIZE, SIZE)

    @property
    def wanting(self) -> bool:
        """Whether it is there for the most part, and more of it could be on huge pages."""
        return 2 * self.resident > self.end - self.begin and self.huge < len(self.whole) * SIZE


def areas_of(smaps: str) -> list[Area]:
    """The memory that a process fills itself, from the text of its ``/proc/PID/smaps``."""
    found = []
    for text in _AREAS.split(smaps):
        head, resident, huge = _AREA.match(text), _RESIDENT.search(text), _HUGE.search(text)
        if head and resident and huge:
            found.append(Area(int(head[1], 16), int(head[2], 16), 1024 * int(resident[1]), 1024 * int(huge[1])))
    return found


def moved(areas: Sequence[Area], move: Move, told: Callable[[int], None]) -> None:
    """Move ``areas`` a part at a time, and tell how many bytes of them are done.

    A part that cannot be moved just now is left; where the system cannot, or has no huge page left, all others are too.
    """
    done = 0
    for area in areas:
        for begin in area.whole[:: _AT_ONCE // SIZE]:
            size = min(_AT_ONCE, area.whole.stop - begin)
            if move(begin, size) in (errno.EINVAL, errno.ENOMEM):
                return
            done += size
            told(done)


def size_of(areas: Sequence[Area]) -> int:
    """How many bytes of ``areas`` huge pages can hold."""
    return sum(len(area.whole) for area in areas) * SIZE


def possible() -> bool:
    """Whether to try: on Linux, and not where it was switched off."""
    return sys.platform == "linux" and os.environ.get(VARIABLE, "") != "off"


def resident() -> int:
    """How many bytes of memory this process fills itself, files that it looks into apart; 0 where that is not told."""
    try:
        _, held, of_files, *_ = (_PROCESS / "statm").read_text(encoding="ascii").split()
    except OSError:
        return 0
    return (int(held) - int(of_files)) * os.sysconf("SC_PAGE_SIZE")


def areas() -> list[Area]:
    """The memory of this process; none where it is not told."""
    try:
        smaps = (_PROCESS / "smaps").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return []
    return areas_of(smaps)


def collapse(begin: int, size: int) -> int:
    """``Move`` by the system's own call."""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.madvise.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
    return ctypes.get_errno() if libc.madvise(begin, size, _COLLAPSE) else 0
