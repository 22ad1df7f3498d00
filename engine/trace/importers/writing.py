"""An imported request as a trace: a header that says so, its rounds or its totals, and what was skipped."""

import datetime
from collections.abc import Sequence
from pathlib import Path
from typing import Any, BinaryIO

import msgspec

from engine.errors import Refused
from engine.records import MINOR, VERSION, BaseInfo, DrafterInfo, End, Event, Header, Prefill
from engine.stats import Stats
from engine.trace.importers import totals
from engine.trace.importers.request import Found, Request, Totals, note
from engine.trace.importers.source import Problem
from engine.trace.writer import TraceWriter
from engine.version import VERSION as PROGRAM

_TOLD = 100
"""Skipped lines that are told one by one."""
_LONGEST = 400


def choose(found: Found, name: str | None) -> Request:
    """The request called ``name``; without a name the only one, or the sum of several that hold only totals.

    Raises:
        Refused: there is none of that name, or several have rounds.
    """
    if name is not None:
        for request in found.requests:
            if request.name == name:
                return request
        raise Refused(f"there is no request {name!r}; there are: {_names(found.requests)}")
    if len(found.requests) == 1:
        return found.requests[0]
    with_rounds = [request for request in found.requests if request.rounds]
    if with_rounds:
        raise Refused(
            f"the file holds {len(found.requests)} requests and a trace holds one: "
            f"choose with --request from {_names(found.requests)}"
        )
    return _sum(found.requests)


def write(request: Request, problems: Sequence[Problem], source: str, target: Path | BinaryIO) -> None:
    """Write the trace. Raises ``TraceError`` if it cannot be written whole."""
    with TraceWriter(target) as writer:
        writer.write(_header(request, source))
        if request.prompt_tokens is not None:
            writer.write(Prefill(positions=request.prompt_tokens, ms=request.ttft_ms))
        for event in _events(request, problems):
            writer.write(event)
        for index, round_ in enumerate(request.rounds):
            writer.write(msgspec.structs.replace(round_, index=index))
        writer.write(_end(request))


def _names(requests: Sequence[Request]) -> str:
    names = [repr(request.name) for request in requests]
    return ", ".join(names[:10]) + (f" and {len(names) - 10} more" if len(names) > 10 else "")


def _sum(requests: Sequence[Request]) -> Request:
    known = [request.totals or Totals() for request in requests]
    first = requests[0]
    message = f"the totals of {len(requests)} requests, added up: none of them lists its rounds"
    ks = {request.k for request in requests}
    return Request(
        f"{len(requests)} requests",
        totals=totals.pooled(known),
        base=first.base,
        drafter=first.drafter,
        k=ks.pop() if len(ks) == 1 else None,
        notes=(note("import.pooled", message),),
    )


def _header(request: Request, source: str) -> Header:
    return Header(
        version=VERSION,
        minor=MINOR,
        created=datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        writer={"name": "specstep import", "version": PROGRAM},
        run={"imported": source, "request": _text(request.name)},
        base=BaseInfo(name=_text(request.base or source)),
        drafter=request.drafter or DrafterInfo(kind="unknown", name=source),
        options={} if request.k is None else {"k": request.k},
        detail="counts",
    )


def _events(request: Request, problems: Sequence[Problem]) -> list[Event]:
    events = list(request.notes)
    if not request.rounds:
        message = "the file holds totals only: no round is known, the figures are in the end record"
        events.append(note("import.summary", message))
    events += [note("import.unreadable", str(problem), "warning") for problem in problems[:_TOLD]]
    if len(problems) > _TOLD:
        events.append(note("import.unreadable", f"{len(problems) - _TOLD} more lines were skipped", "warning"))
    return events


def _end(request: Request) -> End:
    if request.rounds:
        stats = Stats.of(request.rounds).as_map(detail="counts")
        rounds, emitted = len(request.rounds), int(stats["emitted"])
    else:
        known = request.totals or Totals()
        stats, rounds, emitted = totals.as_map(known), 0, 0
    reported = _plain(request.reported)
    stats = {**stats, "reason": request.reason, "ttft_ms": request.ttft_ms, "reported": reported}
    return End(reason=request.reason, rounds=rounds, emitted=emitted, stats=stats)


def _plain(value: Any) -> Any:
    """What an engine says of itself, as far as a trace can hold it: figures and names, and maps of these."""
    match value:
        case None | bool() | float():
            return value
        case int():
            return value if abs(value) < 2**63 else None
        case dict():
            return {_text(key): None if isinstance(each, dict) else _plain(each) for key, each in value.items()}
        case _:
            return _text(value)


def _text(value: Any) -> str:
    """As UTF-8 can hold it, which half of a surrogate pair is not, and no longer than a name is."""
    return str(value)[:_LONGEST].encode("utf-8", "backslashreplace").decode()
