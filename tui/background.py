"""Work in a thread that the program does not wait for when it ends: loading a model cannot be cut short."""

from collections.abc import Callable
from concurrent.futures import Future
from threading import Thread
from typing import TypeVar

T = TypeVar("T")


def begun(job: Callable[[], T], name: str) -> "Future[T]":
    """Begin ``job``; what it gives or raises is in the future."""
    future: Future[T] = Future()
    future.set_running_or_notify_cancel()

    def work() -> None:
        try:
            came = job()
        except BaseException as error:  # noqa: BLE001 (raised again by whoever asks for what came)
            future.set_exception(error)
        else:
            future.set_result(came)

    Thread(target=work, name=name, daemon=True).start()
    return future
