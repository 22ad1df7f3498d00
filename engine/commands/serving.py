"""An engine on this process's own stdin and stdout, whoever read its command line. No Typer."""

import faulthandler
import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from engine.errors import Refused

if TYPE_CHECKING:
    from engine.request import LiveRequest

STDIN, STDOUT, STDERR = 0, 1, 2


def serve_here(request: "Callable[[], LiveRequest]", *, wait: bool, share: Path | None = None) -> bool:
    """Serve until told to quit; whether there was a run.

    Raises:
        SpecstepError: the run cannot be served, or broke.
    """
    from engine.process.service import claimed, serve  # noqa: PLC0415 (numpy: only for a run)

    if os.isatty(STDOUT):
        raise Refused("an engine speaks MessagePack on stdin and stdout: it is for a program to start, as in --engine")
    faulthandler.enable()
    made = request()
    answers = claimed(STDOUT, STDERR)
    return serve(made, STDIN, answers, wait=wait, share=share)
