"""The engine's process: a server between two file descriptors, and whoever else watches."""

import faulthandler
import io
import os
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, cast

from engine.faults.running import opened
from engine.options import Options
from engine.process.inbox import Inbox
from engine.process.server import Begin, Server
from engine.process.share import Share
from engine.request import LiveRequest

if TYPE_CHECKING:
    from typing_extensions import Buffer


def serve(
    request: LiveRequest,
    commands: int,
    answers: int,
    *,
    wait: bool = False,
    share: Path | None = None,
    begins: Begin | None = None,
) -> bool:
    """Serve until told to quit; whether there was a run. ``begins`` opens it, by default what the request names.

    Raises:
        Refused: there can be no socket at ``share``.
        EngineFault: the base broke while a fork was fed the rounds before it.
    """
    with ExitStack() as stack:
        stdout = stack.enter_context(io.FileIO(answers, "wb"))
        out = stdout if share is None else Tee(stdout, stack.enter_context(Share(share)))
        server = Server(Inbox(commands, answers), cast(BinaryIO, out), begins or opened, request, wait=wait)
        return server.serve()


def serve_own(begins: Begin, options: Options, *, prompt: str = "") -> bool:
    """Serve a run of one's own on stdin and stdout, for ``specstep --engine "python mine.py"``; whether there was one.

    ``begins`` is given a request with the prompt and the options that the debugger was started with, by default these.

    Raises:
        EngineFault: the base broke while a fork was fed the rounds before it.
    """
    faulthandler.enable()
    return serve(LiveRequest(prompt=prompt, options=options), 0, claimed(1, 2), wait=True, begins=begins)


def claimed(stdout: int, stderr: int) -> int:
    """A descriptor of our own for what stdout is. Whatever else in this process writes to stdout, writes to stderr."""
    ours = os.dup(stdout)
    os.dup2(stderr, stdout)
    sys.stdout = sys.stderr
    return ours


class Tee(io.RawIOBase):
    """A stream whose every write also goes to those who watch."""

    def __init__(self, out: io.FileIO, share: Share) -> None:
        self._out = out
        self._share = share

    def writable(self) -> bool:
        return True

    def write(self, data: "Buffer", /) -> int | None:
        written = self._out.write(data)
        self._share.append(bytes(memoryview(data)[:written]))
        return written
