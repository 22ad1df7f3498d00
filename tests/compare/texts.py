"""Runs that write a given text in given bites, as sources to compare."""

from collections.abc import Sequence

from engine.records import BaseInfo, DrafterInfo, End, Event, Header, Prefill, Round

WRONG = 1000
"""Added to a token to make a wrong draft of it."""


class Listed:
    """Rounds in memory as a finished run."""

    live = False

    def __init__(self, rounds: Sequence[Round], *, prompt: tuple[int, ...] = (1, 2), end: End | None = None) -> None:
        self.header = Header(
            version=1,
            minor=0,
            base=BaseInfo(name="listed", vocab_size=5000),
            drafter=DrafterInfo(kind="scripted", name="scripted"),
            options={"k": 3, "fallback_below": 0.0, "fallback_window": 3},
            prompt=prompt,
        )
        self.prefill: Prefill | None = Prefill(positions=len(prompt), next=rounds[0].t1 if rounds else 0, gap=3.0)
        emitted = sum(round_.count for round_ in rounds)
        self.end: End | None = end or End(reason="max_tokens", rounds=len(rounds), emitted=emitted)
        self._rounds = list(rounds)

    def __len__(self) -> int:
        return len(self._rounds)

    def round(self, index: int) -> Round:
        return self._rounds[index]

    def events(self) -> tuple[Event, ...]:
        return ()

    def piece(self, token: int) -> bytes | None:
        return b" t%d" % token


def written(
    text: Sequence[int], takes: Sequence[int], k: int = 3, *, wrong: int = WRONG, gap: float = 2.0
) -> list[Round]:
    """Rounds that emit ``text``, each taking the next of ``takes`` (over and over); every wrong draft is off by
    ``wrong``, so that runs with the same ``wrong`` draft alike."""
    rounds: list[Round] = []
    at = 0
    while at < len(text):
        index = len(rounds)
        limit = min(k, len(text) - at - 1)
        take = min(takes[index % len(takes)], limit)
        following = [*text[at + 1 :], 0][: limit + 1]
        drafts = tuple(token if j < take else token + wrong for j, token in enumerate(following[:limit]))
        rounds.append(
            Round(
                index=index,
                form="one-pass" if limit else "plain",
                reason=None if limit else "budget",
                pos=2 + at,
                t1=text[at],
                limit=limit,
                drafts=drafts,
                targets=tuple(following),
                take=take,
                emitted=(text[at], *drafts[:take]),
                next=following[take],
                consumed=3 + at + take,
                gap=(gap,) * (limit + 1),
                ms={"draft": 1.0, "verify": 3.0} if limit else {"step": 2.0},
            )
        )
        at += take + 1
    return rounds
