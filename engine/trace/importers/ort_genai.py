"""The counters of onnxruntime-genai: what ``Generator.get_speculative_stats()`` returns, written as JSON.

Shape: microsoft/onnxruntime-genai docs/SpeculativeDecoding.md ("Statistics") and src/speculative_stats.h. The counters
add up over a generator. One snapshot gives totals; snapshots taken after every token (one a line) give each round as
the difference of two. ``acceptance_rate`` is accepted over *evaluated* drafts. A round's correction or bonus token is
counted in that round there, in the next round here.
"""

from pathlib import Path
from typing import Any, NamedTuple

from engine.errors import TraceError
from engine.records import MOST, DrafterInfo, Round
from engine.trace.importers.request import Found, Request, Totals, count, drafted, mapping, number, plain
from engine.trace.importers.source import Problem, documents

_NAMES = ("speculative_stats", "speculative", "stats")
_TIMES = {"total_draft_ms": "draft", "total_target_verify_ms": "verify", "total_target_reanchor_ms": "other"}


class Snapshot(NamedTuple):
    """The counters at one moment; ``ms`` by phase, since the generator began."""

    rounds: int
    proposed: int
    accepted: int
    plain_steps: int
    ms: dict[str, float]


def read(path: Path) -> Found:
    """The one request of a file. Raises ``TraceError`` for a file that holds no JSON."""
    values, problems = documents(path)
    found = Found([], list(problems))
    snapshots: list[Snapshot] = []
    final: dict[str, Any] = {}
    for line, value in values:
        for item in value if isinstance(value, list) else (value,):
            counters = _counters(item)
            if counters is None:
                continue
            try:
                snapshot = _snapshot(counters)
                if snapshots and not _follows(snapshots[-1], snapshot):
                    raise TraceError("the counters go back: this is another generator")
            except TraceError as error:
                found.problems.append(Problem(line, str(error)))
                continue
            snapshots.append(snapshot)
            final = counters
    if snapshots:
        found.requests.append(_request(snapshots, final))
    return found


def _counters(value: Any) -> dict[str, Any] | None:
    fields = mapping(value)
    for name in _NAMES:
        fields = mapping(fields.get(name)) or fields
    return fields if "draft_tokens_proposed" in fields else None


def _snapshot(counters: dict[str, Any]) -> Snapshot:
    proposed, accepted = count(counters, "draft_tokens_proposed") or 0, count(counters, "draft_tokens_accepted") or 0
    if accepted > proposed:
        raise TraceError(f"{accepted} of {proposed} proposed drafts were accepted")
    ms = {phase: value for key, phase in _TIMES.items() if (value := number(counters, key))}
    steps = count(counters, "standard_fallback_steps") or 0
    return Snapshot(count(counters, "rounds") or 0, proposed, accepted, steps, ms)


def _follows(before: Snapshot, after: Snapshot) -> bool:
    return all(left <= right for left, right in zip(before[:4], after[:4], strict=True))


def _request(snapshots: list[Snapshot], final: dict[str, Any]) -> Request:
    kind = "lookup" if final.get("ngram_lookup_hits") or final.get("ngram_lookup_misses") else "unknown"
    reported = {
        key: value
        for key, value in final.items()
        if isinstance(value, int | float) and not isinstance(value, bool) and ("rate" in key or "per_round" in key)
    }
    request = Request(
        "generator",
        base="onnxruntime-genai",
        drafter=DrafterInfo(kind=kind, name="onnxruntime-genai"),
        reported=reported,
    )
    rounds = _rounds(snapshots)
    if rounds is not None:
        return request._replace(rounds=rounds)
    return request._replace(
        totals=Totals(
            rounds=count(final, "rounds"),
            drafted=count(final, "draft_tokens_proposed"),
            judged=count(final, "draft_tokens_evaluated"),
            accepted=count(final, "draft_tokens_accepted"),
            emitted=count(final, "tokens_emitted"),
            plain_rounds=count(final, "standard_fallback_steps"),
        )
    )


def _rounds(snapshots: list[Snapshot]) -> tuple[Round, ...] | None:
    """Round by round, if no two of them fall between two snapshots."""
    made: list[Round] = []
    before = Snapshot(0, 0, 0, 0, {})
    for after in snapshots:
        rounds, steps = after.rounds - before.rounds, after.plain_steps - before.plain_steps
        if rounds + steps > 1:
            return None
        ms = {phase: after.ms[phase] - before.ms.get(phase, 0.0) for phase in after.ms}
        if rounds:
            ms = {phase: value for phase, value in ms.items() if value >= 0}
            take, n = after.accepted - before.accepted, after.proposed - before.proposed
            if take > n or n == 0 or n >= MOST:
                return None
            made.append(drafted(n, take, ms))
        elif steps:
            made.append(plain())
        before = after
    return tuple(made) or None
