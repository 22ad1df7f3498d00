"""All of a process's memory on huge pages: two models in one process are then equally fast, whichever was loaded first.

A model of specstep's own is put there as it is loaded (``engine.pages``); this does it for what others loaded.
"""

from engine import pages


def collapse() -> None:
    """Put what is there on huge pages, as far as it fills such and as far as the system can."""
    pages.moved([area for area in pages.areas() if area.wanting], pages.collapse, lambda _: None)


def megabytes() -> int:
    """How much of this process's memory is on huge pages."""
    return sum(area.huge for area in pages.areas()) // 2**20
