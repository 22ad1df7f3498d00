"""How an engine is started: this program again, or any command."""

import os
import shlex
import sys
from pathlib import Path
from typing import Any, NamedTuple

import engine
from engine.errors import Refused


class Launch(NamedTuple):
    """A command, its environment (``None``: ours), and keys of ``LiveRequest`` to open the run with."""

    command: tuple[str, ...]
    environment: dict[str, str] | None = None
    request: dict[str, Any] | None = None


def local(request: dict[str, Any]) -> Launch:
    """This interpreter with this very package, whatever folder it is started in."""
    home = str(Path(engine.__path__[0]).parent)
    paths = os.pathsep.join(filter(None, (home, os.environ.get("PYTHONPATH"))))
    command = (sys.executable, "-P", "-m", "engine", "engine", "--wait")
    return Launch(command, {**os.environ, "PYTHONPATH": paths}, request)


def elsewhere(command: str, request: dict[str, Any] | None = None) -> Launch:
    """A command as one writes it in a shell, as in ``ssh box specstep engine --model toy``.

    Raises:
        Refused: it is empty, or a quote is not closed.
    """
    try:
        words = tuple(shlex.split(command))
    except ValueError as error:
        raise Refused(f"the engine's command {command!r} cannot be read: {error}") from error
    if not words:
        raise Refused("the engine's command is empty: give one, as in 'ssh box specstep engine'")
    return Launch(words, None, request)
