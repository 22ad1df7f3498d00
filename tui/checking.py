"""A check of a trace against a model, made by a process of its own: what to run, and what it found. No Textual."""

import shlex
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec

from engine.check.held import Report
from engine.check.words import counted, how_far, said
from engine.errors import SpecstepError
from engine.trace.audit.finding import Finding

RULE = "check"
"""The rule of its findings."""
HINT = "A model, and a drafter if not the trace's: bundled, or qwen3-4b dflash --tie 0.05; escape leaves it."
_LOOK = 0.2
_ANSWERED = (0, 1, 3)


class Checked(NamedTuple):
    """What came of it: a finding for each difference, the one about the whole run first, and all in a sentence."""

    findings: list[Finding]
    told: str


def options_of(answer: str) -> list[str]:
    """The options of ``specstep check`` for what was typed: a model, then a drafter, then options as they are.

    Raises:
        SpecstepError: it is no line of words, or names no model.
    """
    try:
        words = shlex.split(answer)
    except ValueError as error:
        raise SpecstepError(f"{answer!r}: {error}") from error
    named: list[str] = []
    while words and not words[0].startswith("-") and len(named) < 2:
        named.append(words.pop(0))
    if not named:
        raise SpecstepError("name a model: bundled, one that was added, or a folder")
    given = [*zip(("--model", "--drafter"), named, strict=False)]
    return [*(word for pair in given for word in pair), *words]


def command(path: Path, options: Sequence[str]) -> list[str]:
    """The command that checks a trace."""
    return [sys.executable, "-P", "-m", "engine", "check", str(path), "--json", *options]


def run(line: Sequence[str], given_up: Callable[[], bool]) -> str | None:
    """What the command prints; ``None`` if it was given up.

    Raises:
        SpecstepError: it gave no answer, with its own words.
    """
    process = subprocess.Popen(line, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    while True:
        try:
            out, err = process.communicate(timeout=_LOOK)
            break
        except subprocess.TimeoutExpired:
            if given_up():
                process.kill()
                process.communicate()
                return None
    if process.returncode in _ANSWERED and out.strip():
        return out.decode("utf-8", errors="replace")
    words = err.decode("utf-8", errors="replace").strip().splitlines()
    raise SpecstepError(words[-1].removeprefix("specstep: ") if words else f"check ended with {process.returncode}")


def checked(answer: str, piece: Callable[[int], bytes | None]) -> Checked:
    """What the command's JSON says, in words; ``piece`` gives the bytes of tokens that are known.

    Raises:
        SpecstepError: it is not that.
    """
    try:
        report = msgspec.json.decode(answer, type=Report)
    except msgspec.DecodeError as error:
        raise SpecstepError(f"check gave an answer that cannot be read: {error}") from error

    def text(token: int) -> str:
        known = piece(token)
        return "" if known is None else repr(known.decode("utf-8", errors="backslashreplace"))

    told, held = _told(report), report.held
    differences = [*held.choices.first, *held.drafts.first]
    differences.sort(key=lambda each: -1 if each.round is None else each.round)
    found = [Finding(RULE, each.round, each.what, each.traced, each.here, said(each, text)) for each in differences]
    return Checked([Finding(RULE, None, None, None, None, told), *found] if found else [], told)


def _told(report: Report) -> str:
    """All in a sentence, what matters most first: a pane may be small."""
    held, drafter = report.held, f" with {report.drafter}" if report.drafter else ""
    named = (("choices", held.choices), ("drafts", held.drafts))
    parts = [f"{kind} {counted(tally)}" for kind, tally in named if tally.compared]
    told = [f"{fault.name}: {fault.sentence.rstrip('.')}" for fault in report.faults]
    told += [how_far(report.faults[0])] if report.faults else []
    told.append(f"checked against {report.model}{drafter}: {', '.join(parts) or 'no tokens to compare'}")
    return "; ".join([*told, *report.doubts])
