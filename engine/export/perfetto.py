"""A trace for ui.perfetto.dev and chrome://tracing: phases as slices, tokens a round and the rolling mean as counters.

Format: the "Trace Event Format" of Chrome (complete, counter, instant and metadata events, microseconds). Times are
added up in whole nanoseconds, which is what Perfetto counts in: slices that overlapped by one would not be nested.
Strings are written so that Perfetto shows them (version 52 was tried): it leaves ``\\uXXXX`` as it stands, and takes a
quote behind a backslash for an escaped one even if the backslash is, which loses all events up to the next such end.
"""

import json
import math
import re
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
_LONGEST_MS = 1e9
"""A length of more than eleven days is no measured one."""
_BACKSLASH_AT_END = re.compile(r'(?<!\\)((?:\\\\)*)\\\\"')
"""The last of the escaped backslashes before a string's closing quote."""
_NS = 1_000_000
"""Nanoseconds in a millisecond."""


def perfetto_chunks(trace: Trace) -> Iterator[str]:
    """The events in time order. A round of unknown length is drawn as 1 ms and says so."""
    notes = {
        "phases": "a trace holds the length of each phase; within a round they are drawn in a fixed order",
        "untimed": f"a round without times is drawn as {_UNTIMED_MS:g} ms",
    }
    yield f'{{"displayTimeUnit": "ms", "otherData": {_json(notes)}, "traceEvents": ['
    yield ",\n".join(map(_json, _names(trace)))
    said: dict[int | None, list[Event]] = {}
    for event in trace.events():
        said.setdefault(event.round, []).append(event)
    at = 0
    for event in said.get(None, ()):
        yield _line(_instant(event, at))
    if trace.prefill is not None and (length := _ns(trace.prefill.ms)):
        yield _line(_slice("prefill", at, length, _PREFILL, {"positions": trace.prefill.positions}))
        at += length
    rolling, texts, was_off = Rolling(trace.header.options), Texts(trace), False
    for index in range(len(trace)):
        round_ = trace.round(index)
        mean = rolling.after(round_)
        yield from map(_line, _round(round_, at, one_line(texts.of(round_))))
        end = at + _length(round_)
        for name, series, value in _counters(round_, mean, rolling.bar):
            args = {series: value}
            yield _line({"ph": "C", "name": name, "pid": _PID, "tid": _ROUNDS, "ts": _us(at), "args": args})
        for event in said.get(round_.index, ()):
            yield _line(_instant(event, end))
        if rolling.off and not was_off:
            yield _line(_instant(Event(round=round_.index, code="flip", message="drafting is off from here"), end))
        at, was_off = end, rolling.off
    yield "\n]}\n"


def _names(trace: Trace) -> list[dict[str, Any]]:
    base, drafter = trace.header.base.name, trace.header.drafter
    process = f"{one_line(base)} + {one_line(drafter.name)}" if drafter else one_line(base)
    process = process or "specstep"
    names = [
        ("process_name", _ROUNDS, process),
        ("thread_name", _ROUNDS, "rounds"),
        ("thread_name", _PREFILL, "prefill"),
    ]
    return [{"ph": "M", "name": kind, "pid": _PID, "tid": tid, "args": {"name": name}} for kind, tid, name in names]


def _round(round_: Round, at: int, text: str) -> Iterator[dict[str, Any]]:
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
        "untimed": None if _phases(round_) else True,
    }
    known = {key: one_line(value) if isinstance(value, str) else value for key, value in args.items()}
    known = {key: value for key, value in known.items() if value is not None}
    yield _slice(f"round {round_.index}", at, _length(round_), _ROUNDS, known)
    for phase, length in _phases(round_):
        yield _slice(one_line(phase), at, length, _ROUNDS, {})
        at += length


def _counters(round_: Round, mean: float | None, bar: float) -> Iterator[tuple[str, str, float]]:
    """Names, series and values. Perfetto names a row by both: "tokens a round", "rolling mean", "fallback bar"."""
    yield "tokens", "a round", round_.count
    if mean is not None and math.isfinite(mean):
        yield "rolling", "mean", mean
        if bar and math.isfinite(bar):
            yield "fallback", "bar", bar


def _phases(round_: Round) -> list[tuple[str, int]]:
    ms = round_.ms or {}
    known = [(phase, _ns(ms.get(phase))) for phase in (*PHASES, *sorted(ms.keys() - set(PHASES)))]
    return [(phase, length) for phase, length in known if length]


def _length(round_: Round) -> int:
    return sum(length for _, length in _phases(round_)) or _ns(_UNTIMED_MS)


def _slice(name: str, at: int, length: int, tid: int, args: dict[str, Any]) -> dict[str, Any]:
    return {"ph": "X", "name": name, "pid": _PID, "tid": tid, "ts": _us(at), "dur": _us(length), "args": args}


def _instant(event: Event, at: int) -> dict[str, Any]:
    args = {"level": one_line(event.level), "message": one_line(event.message)}
    return {"ph": "i", "s": "p", "name": one_line(event.code), "pid": _PID, "tid": _ROUNDS, "ts": _us(at), "args": args}


def _line(event: dict[str, Any]) -> str:
    return ",\n" + _json(event)


def _json(value: dict[str, Any]) -> str:
    return _BACKSLASH_AT_END.sub(r'\1\\u005c"', json.dumps(value, ensure_ascii=False))


def _ns(ms: float | None) -> int:
    """Nanoseconds; 0 for a length that is not known, or is none."""
    return round(ms * _NS) if ms is not None and 0 < ms <= _LONGEST_MS else 0


def _us(ns: int) -> float:
    return ns / 1000
