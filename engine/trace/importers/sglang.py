"""Acceptance as SGLang tells it: totals in a request's ``meta_info``, averages in the lines of its log.

Shape: sgl-project/sglang python/sglang/srt/managers/tokenizer_manager.py and pull requests 11144, 11441 and 11572
(``spec_verify_ct``, ``spec_accept_token_num`` or, later, ``spec_num_correct_drafts``, ``spec_draft_token_num`` or
``spec_num_proposed_drafts``, ``spec_accept_histogram`` or ``spec_correct_drafts_histogram``), the ``Finish:`` log line,
and ``Decode batch`` lines with ``accept len`` and ``accept rate`` averaged over some steps of all running requests.
Neither says what one round did. What ``accept rate`` divides by differs between versions, so it is only quoted.
"""

import ast
import json
import re
import statistics
from pathlib import Path
from typing import Any

from engine.errors import TraceError
from engine.trace.importers import steps
from engine.trace.importers.request import Found, Request, Totals, count, histogram, items, mapping, note, number
from engine.trace.importers.source import Problem, lines

_X = r"(\d{1,12}(?:\.\d{1,12})?)"
_DECODE = re.compile(rf"Decode (?:rank )?batch[.,].*?accept len: *{_X}(?:, *accept rate: *{_X})?")
_TORN = re.compile(r"Decode (?:rank )?batch[.,].*accept len")
_META = re.compile(r"['\"]meta_info['\"]: *(?=\{)")
_LONGEST = 1_000_000


def read(path: Path) -> Found:
    """The requests of responses (JSON, one or one a line) or of a log. Raises ``TraceError`` if it cannot be read."""
    found = Found([], [])
    averages: list[tuple[float, float | None]] = []
    rows = list(lines(path))
    whole = _json("\n".join(row.text or "" for row in rows)) if all(row.text is not None for row in rows) else None
    if whole is not None:
        _take(whole, 1, found)
        return found
    for number_, text in rows:
        if text is None:
            found.problems.append(Problem(number_, "not UTF-8"))
        elif (match := _DECODE.search(text)) is not None:
            averages.append((float(match[1]), float(match[2]) if match[2] else None))
        elif _TORN.search(text) is not None:
            found.problems.append(Problem(number_, "a decode line without a readable accept length"))
        elif (value := _json(text.strip().removeprefix("data:"))) is not None:
            _take(value, number_, found)
        elif (match := _META.search(text)) is not None:
            _take_repr(text[match.end() :], number_, found)
        elif text.lstrip().startswith(("{", "[{")):
            found.problems.append(Problem(number_, "not JSON"))
    if averages and not found.requests:
        found.requests.append(_averages(averages))
    return found


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _take(value: Any, line: int, found: Found) -> None:
    for item in value if isinstance(value, list) else (value,):
        body = mapping(item)
        metas = [body.get("meta_info")]
        metas += [mapping(choice).get("meta_info") for choice in items(body.get("choices"))]
        metas.append(mapping(body.get("sglext")).get("spec_tokens_details"))
        for meta in metas:
            if "spec_verify_ct" in mapping(meta):
                _add(mapping(meta), line, found)


def _take_repr(text: str, line: int, found: Found) -> None:
    """The ``meta_info`` of a log line, which is written the way Python writes a dict."""
    depth, end = 0, 0
    while end < min(len(text), _LONGEST) and (end == 0 or depth > 0):
        depth += (text[end] == "{") - (text[end] == "}")
        end += 1
    try:
        meta = ast.literal_eval(text[:end])
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        found.problems.append(Problem(line, "meta_info cannot be read"))
        return
    if "spec_verify_ct" in mapping(meta):
        _add(meta, line, found)


def _add(meta: dict[str, Any], line: int, found: Found) -> None:
    try:
        found.requests.append(_request(meta, f"line {line}"))
    except TraceError as error:
        found.problems.append(Problem(line, str(error)))


def _request(meta: dict[str, Any], name: str) -> Request:
    latency = number(meta, "e2e_latency")
    reported: dict[str, Any] = {key: meta[key] for key in ("spec_accept_rate", "spec_accept_length") if key in meta}
    return Request(
        str(meta.get("id") or name),
        totals=Totals(
            rounds=count(meta, "spec_verify_ct"),
            drafted=count(meta, "spec_num_proposed_drafts", "spec_proposed_drafts", "spec_draft_token_num"),
            accepted=count(meta, "spec_num_correct_drafts", "spec_accepted_drafts", "spec_accept_token_num"),
            emitted=count(meta, "completion_tokens"),
            histogram=histogram(meta, "spec_correct_drafts_histogram", "spec_accept_histogram"),
        ),
        reported=reported if latency is None else {**reported, "e2e_ms": latency * 1000},
        base="sglang",
        prompt_tokens=count(meta, "prompt_tokens"),
        reason=steps.ending(mapping(meta.get("finish_reason")).get("type")),
    )


def _averages(averages: list[tuple[float, float | None]]) -> Request:
    lengths = [length for length, _ in averages]
    rates = [rate for _, rate in averages if rate is not None]
    reported = {
        "log_lines": len(averages),
        "accept_len": {"min": min(lengths), "median": statistics.median(lengths), "max": max(lengths)},
        "accept_rate": {"min": min(rates), "median": statistics.median(rates), "max": max(rates)} if rates else None,
    }
    message = (
        f"{len(averages)} log lines with averages over steps of all running requests, no counts: accept len "
        f"{min(lengths):.2f} to {max(lengths):.2f}, median {statistics.median(lengths):.2f}"
    )
    return Request("log", totals=Totals(), reported=reported, base="sglang", notes=(note("import.averages", message),))
