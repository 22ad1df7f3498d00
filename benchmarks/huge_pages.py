"""A process's memory on huge pages: two models in one process are then equally fast, whichever was loaded first.

A base reads all of its weights for every token. On pages of 4 kB a good part of that time is spent on finding them, in
a virtual machine above all, and where they came to lie decides how much. For Linux 6.1 and later.
"""

import ctypes
import re
from pathlib import Path

COLLAPSE = 25
"""MADV_COLLAPSE."""
SIZE = 2**21

AREA = re.compile(r"([0-9a-f]+)-([0-9a-f]+) rw-p \S+ \S+ 0 +(?:\[heap\])?\n")
"""Memory that may be written and belongs to no file."""


def filled() -> list[range]:
    """The addresses of such areas that are there for the most part."""
    found = []
    for text in re.split(r"(?m)^(?=[0-9a-f]+-[0-9a-f]+ )", Path("/proc/self/smaps").read_text(encoding="utf-8")):
        head, resident = AREA.match(text), re.search(r"\nRss:\s+(\d+) kB", text)
        if head and resident:
            area = range(int(head[1], 16), int(head[2], 16))
            if 2 * 1024 * int(resident[1]) > len(area):
                found.append(area)
    return found


def collapse() -> None:
    """Put what is there on huge pages, as far as it fills such and as far as the system can."""
    libc = ctypes.CDLL(None)
    libc.madvise.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
    for area in filled():
        begin, end = -(-area.start // SIZE) * SIZE, area.stop // SIZE * SIZE
        if begin < end:
            libc.madvise(begin, end - begin, COLLAPSE)


def megabytes() -> int:
    """How much of this process's memory is on huge pages."""
    found = re.search(r"AnonHugePages:\s+(\d+) kB", Path("/proc/self/smaps_rollup").read_text(encoding="utf-8"))
    return int(found[1]) // 1024 if found else 0
