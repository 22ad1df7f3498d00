"""Sources for the screen's tests: a live run over a base that writes a known text, and lists of rounds."""

import re
from collections.abc import Sequence

import numpy as np

from engine.base.base import Floats
from engine.base.toy import ToyBase
from engine.drafters.scripted import ScriptedDrafter
from engine.live import LiveRun
from engine.options import Options
from engine.records import BaseInfo, DrafterInfo, End, Event, Header, Prefill, Round, Window
from tui.live import LiveSource

TEXT = '''def mean(values):
    """Return the mean of größer, 日本語, and 🙂."""
    total = sum(values)
    if not values:
        raise ValueError("mean of nothing")
    return total / len(values)
'''
TAKES = (3, 5, 0, 2, 4, 1, 0, 1, 0, 0)
STEP_MS = 0.001


def pieces_of(text: str) -> list[bytes]:
    """Words with the space before them; a character beyond ASCII is a token for each byte."""
    pieces: list[bytes] = []
    for word in re.findall(r" ?[a-z]+|\n *|[^\x00-\x7f]|.", text):
        pieces += [word.encode()] if word.isascii() else [bytes((byte,)) for byte in word.encode()]
    return pieces


def live(
    takes: Sequence[int] = TAKES, *, max_tokens: int = 60, below: float = 2.0, k: int = 5, said: tuple[Event, ...] = ()
) -> LiveSource:
    """A run that continues ``TEXT`` over and over, with a clock that ticks evenly; the bar is over three rounds."""
    pieces = pieces_of(TEXT)
    vocabulary = sorted(set(pieces))
    ids = [vocabulary.index(piece) for piece in pieces]

    def choice(history: Sequence[int]) -> int:
        return ids[len(history) % len(ids)]

    def logits_of(history: Sequence[int]) -> Floats:
        row = np.zeros(len(vocabulary), np.float32)
        row[choice(history)] = 0.05 if len(history) == 30 else 6.0
        return row

    ticks = iter(range(10**9))
    run = LiveRun(
        ToyBase(len(vocabulary), logits_of),
        ScriptedDrafter(choice, len(vocabulary), takes, p=(0.9, 0.8, 0.7)),
        ids[:6],
        Options(k=k, max_tokens=max_tokens, fallback_below=below, fallback_window=3),
        piece=lambda token: vocabulary[token],
        device=lambda: {"provider": "CPU"},
        opened=lambda: said,
        candidates=3,
        clock=lambda: next(ticks) * STEP_MS,
    )
    return LiveSource(run)


def finished(source: LiveSource) -> LiveSource:
    """The same source with all its rounds made."""
    while (round_ := source.make()) is not None:
        source.append(round_)
    source.finish()
    return source


class Listed:
    """A finished trace in memory."""

    live = False

    def __init__(
        self,
        rounds: Sequence[Round],
        *,
        pieces: dict[int, bytes] | None = None,
        prompt: Sequence[int] = (),
        events: Sequence[Event] = (),
        reason: str | None = "max_tokens",
        window: int = 3,
        below: float = 0.0,
    ) -> None:
        self.header = Header(
            version=1,
            minor=0,
            base=BaseInfo(name="listed", vocab_size=1000),
            drafter=DrafterInfo(kind="scripted", name="scripted"),
            options={"form": "one-pass", "k": 4, "fallback_window": window, "fallback_below": below},
            prompt=tuple(prompt),
        )
        self.prefill: Prefill | None = Prefill(positions=len(prompt), next=0)
        self.end: End | None = None if reason is None else End(reason=reason)
        self._rounds = list(rounds)
        self._events = tuple(events)
        self._pieces = pieces

    def __len__(self) -> int:
        return len(self._rounds)

    def round(self, index: int) -> Round:
        return self._rounds[index]

    def events(self) -> tuple[Event, ...]:
        return self._events

    def piece(self, token: int) -> bytes | None:
        return f" t{token}".encode() if self._pieces is None else self._pieces.get(token)


def drafted(index: int, take: int, n: int = 4, **changes: object) -> Round:
    """A one-pass round that drafted ``n`` tokens and took some."""
    fields: dict[str, object] = {
        "index": index,
        "form": "one-pass",
        "pos": 10,
        "t1": 100,
        "limit": n,
        "drafts": tuple(range(n)),
        "targets": (*range(take), *range(200, 200 + n + 1 - take)),
        "take": take,
        "emitted": (100, *range(take)),
        "next": 200,
        "consumed": 11 + take,
        "ms": {"draft": 1.0, "verify": 3.0},
    }
    return Round(**{**fields, **changes})  # type: ignore[arg-type]


def plain(index: int, reason: str = "fallback", **changes: object) -> Round:
    """A plain round."""
    fields: dict[str, object] = {
        "index": index,
        "form": "plain",
        "reason": reason,
        "pos": 10,
        "t1": 100,
        "drafts": (),
        "targets": (200,),
        "emitted": (100,),
        "next": 200,
        "consumed": 11,
        "ms": {"step": 2.0},
    }
    return Round(**{**fields, **changes})  # type: ignore[arg-type]


def sunk() -> Listed:
    """Takes 3, 0, 0, 0 against a bar of 2 over 3 rounds: the flip comes after round 3, then two plain rounds."""
    takes, counts = (3, 0, 0, 0), []
    rounds: list[Round] = []
    for i, take in enumerate(takes):
        counts.append(take + 1)
        last = tuple(counts[-3:])
        mean = sum(last) / len(last)
        window = Window(window=last, mean=mean, off=len(last) == 3 and mean < 2)
        rounds.append(drafted(i, take, fallback=window))
    off = rounds[-1].fallback
    return Listed([*rounds, plain(4, fallback=off), plain(5, fallback=off)], below=2.0)
