"""A check of a trace against a model, made by a process of its own: what to run, and what it found. No Textual."""

import json
import shlex
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

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


def command(path: Path, answer: str) -> list[str]:
    """The command for what was typed: a model, then a drafter, then options of ``specstep check``.

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
    line = [sys.executable, "-P", "-m", "engine", "check", str(path), "--json"]
    return [*line, *(word for pair in given for word in pair), *words]


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
        report = json.loads(answer)
        told = _told(report)
        found = [
            _finding(each, piece) for kind in ("choices", "drafts") for each in report["held"][kind].get("first", ())
        ]
    except (ValueError, KeyError, TypeError) as error:
        raise SpecstepError(f"check gave an answer that cannot be read: {error}") from error
    found.sort(key=lambda finding: -1 if finding.round is None else finding.round)
    return Checked([Finding(RULE, None, None, None, None, told), *found] if found else [], told)


def _told(report: dict[str, Any]) -> str:
    held = report["held"]
    drafter = f" with {report['drafter']}" if report["drafter"] else ""
    parts = [f"{_equal(held[kind])} {kind}" for kind in ("choices", "drafts") if held[kind]["compared"]]
    told = f"check: {', '.join(parts) or 'no tokens'} are those of {report['model']}{drafter}"
    for fault in report.get("faults", ()):
        how = "all" if fault["equal"] == fault["compared"] else f"{fault['equal']} of {fault['compared']}"
        told += f"; {fault['name']} explains {how}: {fault['sentence']}"
    return "; ".join([told, *report.get("doubts", ())])


def _equal(tally: dict[str, Any]) -> str:
    equal = tally["compared"] - tally["differing"] - tally["ties"]
    return f"{equal} of {tally['compared']}"


def _finding(each: dict[str, Any], piece: Callable[[int], bytes | None]) -> Finding:
    what = f"row {each['row']}" if each["what"] == "choice" else f"draft {each['row'] + 1}"
    here = "nothing" if each["here"] < 0 else _token(each["here"], piece)
    lead = "" if each.get("gap") is None else f" by {each['gap']:.3g}"
    tie = " (a near-tie)" if each.get("tie") else ""
    message = (
        f"{what}, position {each['position']}: {_token(each['traced'], piece)} in the trace, {here} here{lead}{tie}"
    )
    return Finding(RULE, each["round"], each["what"], each["traced"], each["here"], message)


def _token(token: int, piece: Callable[[int], bytes | None]) -> str:
    known = piece(token)
    return str(token) if known is None else f"{token} {known.decode('utf-8', errors='backslashreplace')!r}"
