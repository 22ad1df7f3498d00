"""The prompt of a command that runs a model."""

import sys
from pathlib import Path

from engine.errors import Refused

DEFAULT = 'def mean(data):\n    """Return the sample arithmetic mean of data.\n'


def read_prompt(text: str | None, path: Path | None) -> str:
    """The prompt given as text or in a file ("-" is stdin), else one that every model of code can go on with.

    Raises:
        Refused: both are given, or the file cannot be read.
    """
    if text is not None and path is not None:
        raise Refused("give --prompt or --prompt-file, not both")
    if path is None:
        return DEFAULT if text is None else text
    try:
        return sys.stdin.read() if str(path) == "-" else path.read_text(encoding="utf-8")
    except OSError as error:
        raise Refused(f"{path}: the prompt cannot be read: {(error.strerror or str(error)).lower()}") from error
    except UnicodeDecodeError as error:
        raise Refused(f"{path}: the prompt is not UTF-8 text (byte {error.start})") from error
