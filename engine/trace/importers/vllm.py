"""Acceptance by request as vLLM answers it with ``--per-request-spec-decode-metrics``.

Shape: vllm-project/vllm docs/features/speculative_decoding/acceptance_metrics.md and pull request 48915. The response's
``metrics.speculative_decoding`` holds counts ("summary") and, with "detailed", ``per_step_accepted`` and
``per_step_drafted``. Offline, ``CompletionOutput.spec_decode_metrics`` holds the same. A file may be one response, a
list, one a line, or a captured stream of events. Steps without drafts are listed nowhere.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from engine.errors import TraceError
from engine.trace.importers import steps
from engine.trace.importers.request import Found, Request, count, items, mapping, number
from engine.trace.importers.source import Problem, documents

_KEYS = ("per_step_accepted", "num_spec_steps", "acceptance_histogram")


def read(path: Path) -> Found:
    """The requests of a file. Raises ``TraceError`` for a file that holds no JSON."""
    values, problems = documents(path)
    found = Found([], list(problems))
    for line, value in values:
        for response in _responses(value):
            try:
                found.requests.extend(_requests(response, f"line {line}" if len(values) > 1 else "request"))
            except TraceError as error:
                found.problems.append(Problem(line, str(error)))
    return found


def _responses(value: Any) -> Iterator[dict[str, Any]]:
    for item in value if isinstance(value, list) else (value,):
        body = mapping(item)
        for key in ("data", "response", "body"):
            body = mapping(body.get(key)) or body
        yield body


def _requests(response: dict[str, Any], name: str) -> Iterator[Request]:
    metrics, usage = mapping(response.get("metrics")), mapping(response.get("usage"))
    name = str(response.get("id") or response.get("request_id") or name)
    choices = [mapping(choice) for choice in items(response.get("choices")) or items(response.get("outputs"))]
    finish = next((c["finish_reason"] for c in choices if c.get("finish_reason")), response.get("finish_reason"))
    for owner in (metrics, response, *choices):
        for key in ("speculative_decoding", "spec_decode_metrics", None):
            values = owner if key is None else mapping(owner.get(key))
            if not any(key in values for key in _KEYS):
                continue
            tokens = count(usage, "completion_tokens")
            ids = owner.get("token_ids")
            if tokens is None and isinstance(ids, list):
                tokens = len(ids)
            yield _request(values, name, tokens, finish)._replace(
                base=response.get("model") if isinstance(response.get("model"), str) else None,
                prompt_tokens=count(usage, "prompt_tokens"),
                ttft_ms=number(metrics, "time_to_first_token_ms"),
            )
            return


def _request(values: dict[str, Any], name: str, tokens: int | None, finish: Any) -> Request:
    rounds, reason = steps.rounds_of(values), steps.ending(finish)
    k, said = count(values, "num_spec_tokens"), steps.reported(values)
    if not rounds:
        return Request(name, totals=steps.totals_of(values, tokens), reported=said, k=k, reason=reason)
    cut, notes = steps.ended(rounds, tokens, reason)
    notes = (*steps.disagreements(values, rounds), *notes)
    return Request(name, cut, reported=said, k=k, reason=reason, notes=notes)
