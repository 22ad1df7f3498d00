"""What a long command is at, in a line at the bottom of a terminal that goes when it is done; else nothing is shown."""

import os
import shutil
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from engine import loads
from engine.loading import Loading, amount, bar, drifting
from engine.paths import loads_file
from engine.stages import Stage, heard_by

_BEAT = 0.1
_CELLS = 20
_CLEAR = "\r\x1b[K"


@contextmanager
def shown(key: str | None = None) -> Iterator[None]:
    """Show the stages of the block on stderr, if that is a terminal.

    ``key`` names what is opened: the times of its stages are kept, to estimate the next time by.
    """
    if sys.stderr is None or not sys.stderr.isatty() or os.environ.get("TERM") == "dumb":
        yield
        return
    stages: list[Stage] = []
    loading = Loading(lambda: stages, {} if key is None else loads.earlier(loads_file(), key))

    def hear(stage: Stage) -> None:
        if stage.done and stages:
            stages[-1] = stage
        else:
            stages.append(stage)
            loading.look()

    over = threading.Event()
    painter = threading.Thread(target=_paint, args=(loading, over), daemon=True)
    painter.start()
    try:
        with heard_by(hear):
            yield
        if key is not None:
            loads.keep(loads_file(), key, loading.times())
    finally:
        over.set()
        painter.join()


def line(loading: Loading, width: int) -> str:
    """What it is at, how far, and for how long, in less than ``width`` cells of ASCII where its texts are."""
    timed, share = loading.look(), loading.share()
    if not timed:
        return ""
    stage, seconds = timed[-1].stage, loading.seconds
    cells = min(_CELLS, width // 4)
    if share is None:
        far = f"[{drifting(seconds, cells, '#', '.')}]"
    else:
        about = "about " * share.estimated
        far = f"[{bar(share.value, cells, '#', '.')}] {about}{int(share.value * 100)} %"
    behind = "  ".join(part for part in (far, amount(stage), f"{seconds:.1f} s") if part)
    room = max(0, width - len(behind) - 3)
    text = stage.text if len(stage.text) <= room else stage.text[: max(0, room - 3)] + "..."
    return f"{text}  {behind}"[: width - 1]


def _paint(loading: Loading, over: threading.Event) -> None:
    while not over.wait(_BEAT):
        painted = line(loading, shutil.get_terminal_size().columns)
        sys.stderr.write(_CLEAR + painted)
        sys.stderr.flush()
    sys.stderr.write(_CLEAR)
    sys.stderr.flush()
