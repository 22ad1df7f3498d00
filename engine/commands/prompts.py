"""The prompt of a command that runs a model."""

import json
import sys
from pathlib import Path
from typing import NamedTuple

from engine.errors import Refused

DEFAULT = 'def mean(data):\n    """Return the sample arithmetic mean of data.\n'
HELD_OUT = Path(__file__).parent.parent / "models" / "prompts.json"
"""Prompts by domain; only those of "story" and "verse" are from what the bundled models were trained on."""


class NamedPrompt(NamedTuple):
    """A prompt and where it is from."""

    name: str
    text: str


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


def held_out(domain: str, count: int) -> list[NamedPrompt]:
    """The first ``count`` prompts of a domain that come with the project.

    Raises:
        Refused: there is no such domain, or it has not so many.
    """
    domains = json.loads(HELD_OUT.read_text(encoding="utf-8"))
    if domain not in domains:
        raise Refused(f"--domain is {domain!r}: use one of {', '.join(domains)}")
    if not 1 <= count <= len(domains[domain]):
        raise Refused(f"--prompts is {count}: {domain} has 1 to {len(domains[domain])}")
    return [NamedPrompt(entry["source"], entry["text"]) for entry in domains[domain][:count]]
