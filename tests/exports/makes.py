"""A small recorded run with text that would break a careless export."""

from pathlib import Path

from engine.records import BaseInfo, DrafterInfo, End, Event, Header, Prefill, Round, Window
from engine.trace.writer import TraceWriter

PIECES = {
    1: b"<script>alert(1)</script>",
    2: b' onload="x"',
    3: b"\x1b[31mred\x07",
    4: "\u202etxt\u2066".encode(),
    5: b"\xe2\x82",
    6: b"\xac euro",
    7: b"=SUM(A1)",
    8: b"\n\n",
    9: "na\u0301ive".encode(),
    10: b"'; DROP",
}
HEADER = Header(
    version=1,
    minor=0,
    created="2026-01-02T03:04:05+00:00",
    base=BaseInfo(name="<b>base</b>\u202e", vocab_size=12),
    drafter=DrafterInfo(kind="scripted", name='"><img src=x>'),
    options={"k": 3, "fallback_below": 2.0, "fallback_window": 2},
    prompt=(7, 1),
)
ROUNDS = (
    ((1, 2, 3, 4), (2, 3, 9), 2, 4),
    ((4, 5, 6, 7), (5, 6, 7), 3, 8),
    ((8, 9), (1, 2, 3), 0, 9),
    ((9, 1), (5, 2, 3), 0, 10),
)


def hostile(path: Path, *, end: bool = True) -> Path:
    """Four drafted rounds, a flip, and a plain round; times in every round."""
    pos, made, window = 2, [], [0]
    for index, (row, drafts, take, next_) in enumerate(ROUNDS):
        emitted = (row[0], *drafts[:take])
        window.append(len(emitted))
        last = tuple(window[1:][-2:])
        mean = sum(last) / len(last)
        made.append(
            Round(
                index=index,
                form="one-pass",
                pos=pos,
                t1=row[0],
                limit=3,
                drafts=drafts,
                targets=(*drafts[:take], next_, *(0 for _ in drafts[take:])),
                take=take,
                emitted=emitted,
                next=next_,
                consumed=pos + len(emitted),
                fallback=Window(window=last, mean=mean, off=len(last) == 2 and mean < 2),
                ms={"draft": 1.0, "verify": 4.0, "other": 0.5},
            )
        )
        pos += len(emitted)
    made.append(
        Round(
            index=4,
            form="plain",
            reason="fallback",
            pos=pos,
            t1=10,
            take=0,
            emitted=(10,),
            targets=(0,),
            next=0,
            consumed=pos + 1,
            fallback=made[-1].fallback,
            ms={"step": 2.0, "other": 0.25},
        )
    )
    with TraceWriter(path) as writer:
        writer.pieces(PIECES.get)
        writer.write(HEADER)
        writer.write(Prefill(positions=2, ms=6.0, next=1))
        for round_ in made:
            writer.write(round_)
        writer.write(Event(round=3, level="info", code="fell-back", message="<i>mean</i> below \x1b[0m the bar"))
        if end:
            writer.write(End(reason="max_tokens", rounds=5, emitted=10, fell_back_at=4, plain_ms=2.0))
    return path
