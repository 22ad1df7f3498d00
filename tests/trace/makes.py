"""Runs to write into traces: small, complete and the same every time."""

from collections.abc import Sequence
from pathlib import Path
from typing import BinaryIO, NamedTuple

from engine.records import AnyRecord, BaseInfo, End, Event, Header, Prefill, Round, Window
from engine.trace.writer import Text, TraceWriter

VOCAB = 97


class Run(NamedTuple):
    """The records of one run."""

    header: Header
    prefill: Prefill
    rounds: tuple[Round, ...]
    events: tuple[Event, ...]
    end: End


def piece(token: int) -> bytes:
    """Half of them are not UTF-8 by themselves."""
    return b" t%d" % token if token % 2 else b"\xe2\x82" + bytes([token])


def a_run(rounds: int = 5, k: int = 3) -> Run:
    """A run whose every round accepts ``index % (k + 1)`` of ``k`` drafts; an event after every 50th."""
    header = Header(
        version=1,
        minor=0,
        created="2026-01-02T03:04:05+00:00",
        writer={"name": "test", "version": "1"},
        base=BaseInfo(name="toy", vocab_size=VOCAB),
        options={"k": k, "max_tokens": 10**6},
        prompt=(1, 2, 3, 4),
    )
    made: list[Round] = []
    pos, t1, total = 4, 5, 0
    for index in range(rounds):
        take = index % (k + 1)
        targets = tuple((t1 + 7 * j + index) % VOCAB for j in range(k + 1))
        drafts = tuple(target if j < take else (target + 1) % VOCAB for j, target in enumerate(targets[:k]))
        made.append(
            Round(
                index=index,
                form="one-pass",
                pos=pos,
                t1=t1,
                limit=k,
                drafts=drafts,
                targets=targets,
                take=take,
                emitted=(t1, *drafts[:take]),
                next=targets[take],
                consumed=pos + take + 1,
                draft_p=(0.5,) * k,
                fallback=Window(window=(take + 1,), mean=take + 1.0),
                ms={"draft": 1.0, "verify": 4.0},
            )
        )
        pos, t1, total = pos + take + 1, targets[take], total + take + 1
    events = tuple(Event(round=index, code="mark", message=f"after {index}") for index in range(0, rounds, 50))
    return Run(
        header=header,
        prefill=Prefill(positions=4, batched=True, ms=3.0, next=5),
        rounds=tuple(made),
        events=events,
        end=End(reason="max_tokens", rounds=rounds, emitted=total),
    )


def written(path: Path, records: Sequence[AnyRecord]) -> Path:
    """The records as a file."""
    with TraceWriter(path) as writer:
        for record in records:
            writer.write(record)
    return path


def write_run(target: Path | BinaryIO, run: Run, *, text: Text = "full", index: bool = True) -> Path:
    """Write it whole; an event follows the round that it names."""
    with TraceWriter(target, text=text, index=index) as writer:
        writer.pieces(piece)
        writer.write(run.header)
        writer.write(run.prefill)
        events = {event.round: event for event in run.events}
        for round_ in run.rounds:
            writer.write(round_)
            if round_.index in events:
                writer.write(events[round_.index])
        writer.write(run.end)
    return target if isinstance(target, Path) else Path()
