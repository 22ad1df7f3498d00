"""What a long opening is at, told to whoever listens: nobody, the process that serves the run, or a terminal."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import NamedTuple


class Stage(NamedTuple):
    """Something that may take long; ``text`` says what, as in "loading base.onnx".

    It is ``done`` of ``total`` bytes far, where that is known: a ``total`` of 0 says nothing.
    """

    text: str
    done: int = 0
    total: int = 0


Listener = Callable[[Stage], None]
Advance = Callable[[int], None]
"""Tells how far a stage is, in bytes since it began."""

_PARTS = 200
"""How often the share of a stage is told, at most."""


def _nobody(_stage: Stage) -> None:
    pass


_listener: ContextVar[Listener] = ContextVar("listener", default=_nobody)


@contextmanager
def heard_by(listener: Listener) -> Iterator[None]:
    """Until the end of the block, what this thread's code is at goes to ``listener``."""
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)


def stage(text: str, total: int = 0) -> Advance:
    """Something begins that may take long. What it gives is to be told how many of the ``total`` bytes are done."""
    hear, told = _listener.get(), 0
    hear(Stage(text, 0, total))

    def advance(done: int) -> None:
        nonlocal told
        if total and (done - told) * _PARTS >= total:
            told = done
            hear(Stage(text, min(done, total), total))

    return advance
