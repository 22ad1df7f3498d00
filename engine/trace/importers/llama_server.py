"""Rounds from the log of llama.cpp's ``llama-server``, with or without time stamps and whatever stands before a line.

Shape: ggml-org/llama.cpp tools/server/server-context.cpp (older: server.cpp) and pull requests 18211, 19493, 24536 and
26320. With ``-v`` each round is a line "accepted 2/16 draft tokens, new n_tokens = 664" (older: ``n_past``); with
``LLAMA_TRACE`` the same without positions, and "(restore checkpoint)" where the drafts had to be taken back and the
kept ones verified again. Without either, only "draft acceptance" and "eval time" lines stand at the end of a request.
A JSON body with ``timings`` gives totals too. There a correction is counted in the round that made it.

``new n_tokens`` is what the base holds after the round, so steps without drafts, which have no line, are known to lie
where it moves by more than the round emits.
"""

import json
import re
from pathlib import Path
from typing import Any

from engine.errors import TraceError
from engine.records import MOST
from engine.trace.importers.llama_task import Accept, Task
from engine.trace.importers.request import Found, Request, Totals, count, mapping, number
from engine.trace.importers.source import LARGEST_DOCUMENT, Problem, lines

_N = r"(\d{1,12})"
_X = r"(\d{1,12}(?:\.\d{1,12})?)"
_TASK = re.compile(r"\| task (-?\d+) \|")
_ACCEPT = re.compile(
    rf"accepted +{_N} */ *{_N} draft tokens(?:, new (?:n_tokens|n_past) = {_N}(?!\d)| (\(restore checkpoint\)))?"
)
_TORN = re.compile(r"accepted +\d* */? *\d* *draft tok|accepted +\d+ */ *\d*\s*$")
_TOTALS = re.compile(
    rf"draft acceptance(?: rate)? = +{_X} \( *{_N} accepted / *{_N} generated\)(?:.*mean [a-z ]*= +{_X})?"
)
_PROMPT = re.compile(rf"prompt eval time = +{_X} ms / +{_N} tokens")
_EVAL = re.compile(rf"(?<!prompt )eval time = +{_X} ms / +{_N} (?:tokens|runs)")
_FILLED = re.compile(rf"prompt (?:processing )?done, n_(?:past|tokens) = {_N}(?!\d)")
_KIND = re.compile(r"statistics +([a-z0-9-]+):")
_STOPPED = re.compile(r"stopped by (EOS|word|limit)")
_STAMP = re.compile(rf"{_N}\.(\d\d)\.(\d{{3}})\.(\d{{3}}) [A-Z] ")
_CLOCK = re.compile(r"(\d\d):(\d\d):(\d\d)[.,](\d{3,6})")


def read(path: Path) -> Found:
    """The requests (tasks) of a log. Raises ``TraceError`` if it cannot be read."""
    found = Found([], [])
    tasks: dict[str, Task] = {}
    current, kind = "log", None
    for line, text in lines(path):
        if text is None:
            found.problems.append(Problem(line, "not UTF-8"))
            continue
        named = _TASK.search(text)
        if named is not None:
            current = f"task {named[1]}"
        if (match := _KIND.search(text)) is not None:
            kind = match[1].removeprefix("draft-")
        elif (match := _ACCEPT.search(text)) is not None:
            take, n, held = int(match[1]), int(match[2]), match[3]
            if take > n > 0 or max(take, n) >= MOST:
                found.problems.append(Problem(line, f"{take} of {n} drafts accepted"))
                continue
            accept = Accept(take, n, None if held is None else int(held), match[4] is not None, _seconds(text))
            tasks.setdefault(current, Task()).accept(accept)
        elif _TORN.search(text) is not None:
            found.problems.append(Problem(line, "a cut accept line"))
        elif text.lstrip().startswith("{") and '"timings"' in text:
            _take_json(text, line, found)
        else:
            _take_figures(text, tasks, current)
    found.requests.extend(request for name, task in tasks.items() if (request := task.request(name, kind)) is not None)
    if not found.requests:
        _take_document(path, found)
    return found


def _take_figures(text: str, tasks: dict[str, Task], current: str) -> None:
    if (match := _TOTALS.search(text)) is not None:
        task = tasks.setdefault(current, Task())
        task.accepted, task.drafted = int(match[2]), int(match[3])
        task.reported = {"draft_acceptance": float(match[1])}
        if match[4] is not None:
            task.reported["mean_acceptance_length"] = float(match[4])
    elif (match := _PROMPT.search(text)) is not None:
        tasks.setdefault(current, Task()).prompt_ms = float(match[1])
    elif (match := _EVAL.search(text)) is not None:
        task = tasks.setdefault(current, Task())
        task.eval_ms, task.emitted = float(match[1]), int(match[2])
    elif (match := _FILLED.search(text)) is not None:
        task = tasks.setdefault(current, Task())
        task.prompt_tokens, task.began = int(match[1]), _seconds(text)
    elif (match := _STOPPED.search(text)) is not None:
        tasks.setdefault(current, Task()).reason = "max_tokens" if match[1] == "limit" else "stop"


def _seconds(text: str) -> float | None:
    """The time of a line in seconds: since the server began, or since midnight."""
    if (match := _STAMP.search(text)) is not None:
        minutes, seconds, milli, micro = map(int, match.groups())
        return minutes * 60 + seconds + milli / 1e3 + micro / 1e6
    if (match := _CLOCK.search(text)) is not None:
        hours, minutes, seconds = int(match[1]), int(match[2]), int(match[3])
        return hours * 3600 + minutes * 60 + seconds + float(f"0.{match[4]}")
    return None


def _take_json(text: str, line: int, found: Found) -> None:
    try:
        body = json.loads(text)
    except (ValueError, RecursionError):
        found.problems.append(Problem(line, "not JSON"))
        return
    _take_timings(body, line, found)


def _take_document(path: Path, found: Found) -> None:
    """A response over several lines."""
    if path.stat().st_size > LARGEST_DOCUMENT:
        return
    try:
        body = json.loads(path.read_bytes())
    except (ValueError, RecursionError):
        return
    _take_timings(body, 1, found)


def _take_timings(body: Any, line: int, found: Found) -> None:
    timings = mapping(mapping(body).get("timings"))
    if "draft_n" not in timings:
        return
    try:
        totals = Totals(
            rounds=count(timings, "draft_n_verif_steps", "draft_rounds"),
            drafted=count(timings, "draft_n"),
            accepted=count(timings, "draft_n_accepted"),
            emitted=count(timings, "predicted_n"),
        )
    except TraceError as error:
        found.problems.append(Problem(line, str(error)))
        return
    model = mapping(body).get("model")
    found.requests.append(
        Request(
            str(mapping(body).get("id") or f"line {line}"),
            totals=totals,
            reported={"predicted_ms": number(timings, "predicted_ms")},
            base=model if isinstance(model, str) else "llama-server",
            ttft_ms=number(timings, "prompt_ms"),
        )
    )
