"""What a long opening is at, told to whoever listens: nobody, or the process that serves the run."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

Listener = Callable[[str], None]


def _nobody(_text: str) -> None:
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


def stage(text: str) -> None:
    """Something begins that may take long; ``text`` says what, as in "loading model.onnx, 539 MB"."""
    _listener.get()(text)
