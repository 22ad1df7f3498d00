"""Acceptance by verification step, as vLLM and AIPerf write it, turned into rounds."""

from typing import Any

import msgspec

from engine.errors import TraceError
from engine.records import Event, Round
from engine.trace.importers.request import Totals, count, counts, drafted, histogram, note


def rounds_of(values: dict[str, Any]) -> tuple[Round, ...]:
    """Rounds from ``per_step_accepted`` and ``per_step_drafted``; none where these are absent.

    Raises:
        TraceError: the two do not belong together, or a step accepts more than it drafted.
    """
    accepted, proposed = counts(values, "per_step_accepted"), counts(values, "per_step_drafted")
    if accepted is None or proposed is None:
        return ()
    if len(accepted) != len(proposed):
        raise TraceError(f"per_step_accepted has {len(accepted)} steps, per_step_drafted {len(proposed)}")
    for step, (take, n) in enumerate(zip(accepted, proposed, strict=True)):
        if take > n:
            raise TraceError(f"step {step} accepted {take} of {n} drafts")
    return tuple(drafted(n, take) for take, n in zip(accepted, proposed, strict=True))


def ended(
    rounds: tuple[Round, ...], completion_tokens: int | None, reason: str
) -> tuple[tuple[Round, ...], tuple[Event, ...]]:
    """The rounds with the last one cut to what the request gave out, and what is to be said of the rest.

    These engines give out the prefill's token and then, for each step, its accepted drafts and the correction. Here a
    round emits its first token (the correction of the round before, or the prefill's) and its accepted drafts. It is
    the same text: the last correction alone stands in no round.
    """
    if completion_tokens is None or not rounds:
        return rounds, ()
    whole = sum(round_.count for round_ in rounds)
    plain = completion_tokens - 1 - whole
    if plain > 0:
        message = (
            f"{plain} of {completion_tokens} tokens came from steps without drafts, which the file does not list: "
            "they are in no round here"
        )
        return rounds, (note("import.plain-steps", message),)
    last = rounds[-1]
    left = completion_tokens - (whole - last.count)
    if 1 <= left < last.count:
        cut = "stop" if reason == "stop" else "budget"
        rounds = (*rounds[:-1], msgspec.structs.replace(last, n_emitted=left, cut=cut))
    elif left < 1:
        message = f"the request gave out {completion_tokens} tokens, fewer than its steps decided ({whole + 1})"
        return rounds, (note("import.disagrees", message, "warning"),)
    return rounds, ()


def disagreements(values: dict[str, Any], rounds: tuple[Round, ...]) -> tuple[Event, ...]:
    """Where the file's own totals differ from the sums over its steps."""
    takes = [round_.take for round_ in rounds]
    sums = {
        "num_spec_steps": len(rounds),
        "num_accepted_draft_tokens": sum(takes),
        "num_draft_tokens": sum(round_.drafted for round_ in rounds),
    }
    found = [
        f"{key} is {said}, its steps give {right}"
        for key, right in sums.items()
        if (said := count(values, key)) is not None and said != right
    ]
    bars = histogram(values, "acceptance_histogram")
    if bars is not None and any(bar != takes.count(j) for j, bar in enumerate(bars)):
        found.append("acceptance_histogram is not that of its steps")
    return tuple(note("import.disagrees", message, "warning") for message in found)


def totals_of(values: dict[str, Any], completion_tokens: int | None) -> Totals:
    """The totals of a request whose steps are not listed. Raises ``TraceError``."""
    return Totals(
        rounds=count(values, "num_spec_steps"),
        drafted=count(values, "num_draft_tokens", "total_draft_tokens"),
        accepted=count(values, "num_accepted_draft_tokens", "total_accepted_draft_tokens"),
        emitted=completion_tokens,
        histogram=histogram(values, "acceptance_histogram"),
    )


def reported(values: dict[str, Any]) -> dict[str, Any]:
    """The engine's own rates, kept beside the recomputed ones."""
    return {key: values[key] for key in ("mean_acceptance_length", "draft_acceptance_rate") if key in values}


def ending(finish_reason: Any) -> str:
    """The end of a run from the ``finish_reason`` of the OpenAI interface."""
    return {"length": "max_tokens", "stop": "stop", "abort": "aborted"}.get(str(finish_reason), "unknown")
