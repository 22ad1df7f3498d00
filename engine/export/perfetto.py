"""A trace for ui.perfetto.dev and chrome://tracing: phases as slices, tokens a round and the rolling mean as counters.

Format: the "Trace Event Format" of Chrome (complete, counter, instant and metadata events, microseconds).
"""

import json
import math
from collections.abc import Iterator
from typing import Any

from engine.export.series import Rolling
from engine.export.tables import Texts
from engine.export.visible import one_line
from engine.records import Event, Round
from engine.stats import PHASES
from engine.trace.reader import Trace

_PID, _ROUNDS, _PREFILL = 1, 1, 2
_UNTIMED_MS = 1.0


def perfetto_chunks(trace: Trace) -> Iterator[str]:
    """The events in time order. A round of unknown length is drawn as 1 ms and says so."""
    notes = {
        "phases": "a trace holds the length of each phase; within a round they are drawn in a fixed order",
        "untimed": f"a round without times is drawn as {_UNTIMED_MS:g} ms",
    }
    yield f'{{"displayTimeUnit": "ms", "otherData": {json.dumps(notes)}, "traceEvents": ['
    yield ",\n".join(json.dumps(event) for event in _names(trace))
    said: dict[int | None, list[Event]] = {}
    for event in trace.events():
        said.setdefault(event.round, []).append(event)
    at = 0.0
    for event in said.get(None, ()):
        yield _line(_instant(event, at))
    if trace.prefill is not None and trace.prefill.ms is not None:
        yield _line(_slice("prefill", at, trace.prefill.ms, _PREFILL, {"positions": trace.prefill.positions}))
        at += trace.prefill.ms
    rolling, texts, was_off = Rolling(trace.header.options), Texts(trace), False
    for index in range(len(trace)):
        round_ = trace.round(index)
        mean = rolling.after(round_)
        yield from map(_line, _round(round_, at, one_line(texts.of(round_))))
        end = at + _length(round_)
        counters: dict[str, dict[str, float]] = {"tokens a round": {"tokens": round_.count}}
        if mean is not None:
            counters["rolling mean"] = {"mean": mean} | ({"bar": rolling.bar} if rolling.bar else {})
        for name, values in counters.items():
            yield _line({"ph": "C", "name": name, "pid": _PID, "ts": _us(at), "args": values})
        for event in said.get(round_.index, ()):
            yield _line(_instant(event, end))
        if rolling.off and not was_off:
            yield _line(_instant(Event(round=round_.index, code="flip", message="drafting is off from here"), end))
        at, was_off = end, rolling.off
    yield "\n]}\n"


def _names(trace: Trace) -> list[dict[str, Any]]:
    base, drafter = trace.header.base.name, trace.header.drafter
    process = f"{one_line(base)} + {one_line(drafter.name)}" if drafter else one_line(base)
    names = [("process_name", 0, process), ("thread_name", _ROUNDS, "rounds"), ("thread_name", _PREFILL, "prefill")]
    return [{"ph": "M", "name": kind, "pid": _PID, "tid": tid, "args": {"name": name}} for kind, tid, name in names]


def _round(round_: Round, at: float, text: str) -> Iterator[dict[str, Any]]:
    args = {
        "form": round_.form,
        "reason": round_.reason,
        "drafted": round_.drafted,
        "verified": round_.in_batch,
        "take": round_.take,
        "emitted": round_.count,
        "pos": round_.pos,
        "cut": round_.cut,
        "text": text or None,
        "untimed": None if round_.ms else True,
    }
    known = {key: one_line(value) if isinstance(value, str) else value for key, value in args.items()}
    known = {key: value for key, value in known.items() if value is not None}
    yield _slice(f"round {round_.index}", at, _length(round_), _ROUNDS, known)
    for phase, ms in _phases(round_):
        yield _slice(one_line(phase), at, ms, _ROUNDS, {})
        at += ms


def _phases(round_: Round) -> list[tuple[str, float]]:
    ms = round_.ms or {}
    return [
        (phase, ms[phase]) for phase in (*PHASES, *sorted(ms.keys() - set(PHASES))) if 0 < ms.get(phase, 0.0) < math.inf
    ]


def _length(round_: Round) -> float:
    return sum(ms for _, ms in _phases(round_)) or _UNTIMED_MS


def _slice(name: str, at: float, ms: float, tid: int, args: dict[str, Any]) -> dict[str, Any]:
    return {"ph": "X", "name": name, "pid": _PID, "tid": tid, "ts": _us(at), "dur": _us(ms), "args": args}


def _instant(event: Event, at: float) -> dict[str, Any]:
    args = {"level": one_line(event.level), "message": one_line(event.message)}
    return {"ph": "i", "s": "p", "name": one_line(event.code), "pid": _PID, "tid": _ROUNDS, "ts": _us(at), "args": args}


def _line(event: dict[str, Any]) -> str:
    return ",\n" + json.dumps(event)


def _us(ms: float) -> float:
    return round(ms * 1000, 3)
