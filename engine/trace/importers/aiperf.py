"""Acceptance as AIPerf exports it: by request in ``profile_export.jsonl``, pooled in ``profile_export_aiperf.json``.

Shape: ai-dynamo/aiperf docs/tutorials/spec-decode-metrics.md, docs/reference/spec-decode-acceptance.md and
src/aiperf/common/models/spec_decode_models.py. A line's ``spec_decode_acceptance`` is engine-neutral: counts, a sparse
histogram, and ``per_step_*`` where the engine gave them. The aggregate has the pooled histogram and metrics as
``{"avg": ...}``. Counted the way vLLM counts: the correction belongs to the step that made it.
"""

from pathlib import Path
from typing import Any

from engine.errors import TraceError
from engine.trace.importers import steps
from engine.trace.importers.request import Found, Request, Totals, count, histogram, mapping, number
from engine.trace.importers.source import Problem, documents

_POOLED = "pooled_spec_decode_acceptance_histogram"


def read(path: Path) -> Found:
    """The requests of a file. Raises ``TraceError`` for a file that holds no JSON."""
    values, problems = documents(path)
    found = Found([], list(problems))
    for line, value in values:
        record = mapping(value)
        try:
            if mapping(record.get("spec_decode_acceptance")):
                found.requests.append(_request(record, f"line {line}"))
            elif _POOLED in record:
                found.requests.append(_pooled(record))
        except TraceError as error:
            found.problems.append(Problem(line, str(error)))
    return found


def _request(record: dict[str, Any], name: str) -> Request:
    values, metadata = mapping(record["spec_decode_acceptance"]), mapping(record.get("metadata"))
    metrics = {key: _value(metric) for key, metric in mapping(record.get("metrics")).items()}
    tokens = count(values, "completion_tokens")
    reason = "aborted" if metadata.get("was_cancelled") is True else "unknown"
    rounds = steps.rounds_of(values)
    request = Request(
        str(metadata.get("x_request_id") or name),
        reported={**steps.reported(values), "engine": values.get("engine")},
        k=count(values, "num_spec_tokens"),
        prompt_tokens=count(metrics, "input_sequence_length"),
        ttft_ms=number(metrics, "time_to_first_token"),
        reason=reason,
    )
    if not rounds:
        return request._replace(totals=steps.totals_of(values, tokens))
    cut, notes = steps.ended(rounds, tokens, reason)
    return request._replace(rounds=cut, notes=(*steps.disagreements(values, rounds), *notes))


def _pooled(record: dict[str, Any]) -> Request:
    metrics = {key: _value(metric) for key, metric in record.items()}
    bars = histogram(record, _POOLED)
    return Request(
        "the whole benchmark",
        totals=Totals(
            rounds=None if bars is None else sum(bars),
            drafted=count(metrics, "total_draft_tokens"),
            accepted=None if bars is None else sum(j * rounds for j, rounds in enumerate(bars)),
            emitted=count(metrics, "total_output_tokens", "total_osl"),
            histogram=bars,
        ),
        reported={key: value for key, value in metrics.items() if "accept" in key and isinstance(value, int | float)},
    )


def _value(metric: Any) -> Any:
    """A metric's value: ``{"value": 3, "unit": ...}`` of a record, ``{"avg": 3, ...}`` of the aggregate."""
    return metric.get("value", metric.get("avg")) if isinstance(metric, dict) else metric
