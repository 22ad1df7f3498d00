"""Clean traces of a toy engine that is written from the round's definition alone and shares no code with ours."""

import random
import struct
from collections.abc import Sequence
from typing import Any, NamedTuple

import msgspec
from hypothesis import strategies as st

from engine.records import AnyRecord, BaseInfo, Candidates, DrafterInfo, End, Header, Prefill, Round, Window

VOCAB = 41
PROMPT = (3, 1, 4, 1, 5)
LENGTHS = ("none", "at once", "one behind", "when it drafts", "idle in plain rounds", "full at 64")


class Toy(msgspec.Struct, frozen=True, kw_only=True):
    """How the toy run is to be; ``ease`` are the acceptance rates of equal stretches of the text."""

    seed: int = 0
    form: str = "one-pass"
    sampler: str = "greedy"
    kind: str | None = "mtp"
    k: int = 3
    max_tokens: int = 60
    stops: tuple[int, ...] = ()
    below: float = 0.0
    window: int = 3
    tau: float = 0.0
    width: int | None = None
    ease: tuple[float, ...] = (0.7,)
    loops: bool = False
    one_hot: bool = False
    single: bool = False
    lengths: str = "at once"
    short_drafts: float = 0.0


class Judged(NamedTuple):
    """What the toy base says of a draft."""

    targets: tuple[int, ...]
    take: int
    cut: str | None
    u: tuple[float, ...] | None
    accept_p: tuple[float, ...]
    target_p: tuple[float, ...]
    following: int | None = None


class ToyEngine:
    """One run, a method a phase, so that a test can break one of them.

    The base is a function of the text alone, so that what is accepted never changes what is said.
    """

    def __init__(self, toy: Toy) -> None:
        self.toy = toy
        self.random = random.Random(toy.seed)
        self.text = list(PROMPT)
        self.t1 = self.choose(self.text)
        self.recorded: list[int] = []
        self.off = False
        self.fell_back_at: int | None = None
        self.draft_len = len(PROMPT)
        self.number = self.took = self.offered = 0

    @property
    def emitted(self) -> int:
        return len(self.text) - len(PROMPT)

    def choose(self, text: Sequence[int]) -> int:
        """Never the token before it: a repetition of one token is a finding of its own."""
        place = len(text) % 7 if self.toy.loops else len(text)
        step = random.Random(f"{self.toy.seed} {text[-1]} {text[-2]} {place}").randrange(1, VOCAB)
        return (text[-1] + step) % VOCAB

    def shares(self, text: Sequence[int], who: str) -> list[float]:
        """A distribution after a text. Both sides see the same context, so they agree to a degree."""
        context = f"{self.toy.seed} {text[-1]} {text[-2]} {len(text)}"
        common, own = random.Random(context), random.Random(f"{context} {who}")
        weights = [common.random() ** 6 + 0.2 * own.random() ** 6 for _ in range(VOCAB)]
        return [weight / sum(weights) for weight in weights]

    def ease(self) -> float:
        rates = self.toy.ease
        return rates[min(len(rates) - 1, self.emitted * len(rates) // self.toy.max_tokens)]

    def right(self, place: int) -> bool:
        """Whether the draft at a place (from 0) is the base's choice."""
        return self.random.random() < self.ease()

    def draft(self, limit: int) -> tuple[list[int], list[float]]:
        drafts: list[int] = []
        claims: list[float] = []
        if self.random.random() < self.toy.short_drafts:
            limit = self.random.randrange(limit + 1)
        for place in range(limit):
            text = [*self.text, self.t1, *drafts]
            if self.toy.sampler == "rejection":
                q = self.shares(text, "drafter")
                token = self.pick(q)
                claim = q[token]
            else:
                token = (self.choose(text) + (0 if self.right(place) else self.random.randrange(1, VOCAB))) % VOCAB
                claim = self.random.uniform(0.1, 1.0)
            if claim < self.toy.tau:
                break
            drafts.append(token)
            claims.append(claim)
        return drafts, claims

    def judge(self, drafts: list[int]) -> Judged:
        texts = [[*self.text, self.t1, *drafts[:j]] for j in range(len(drafts) + 1)]
        if self.toy.sampler == "rejection":
            return self.judge_by_coins(texts, drafts)
        targets = [self.choose(text) for text in texts]
        take = 0
        while take < len(drafts) and drafts[take] == targets[take]:
            take += 1
        take, cut = self.stop(drafts, take)
        sure = tuple(self.random.random() for _ in targets)
        return Judged(tuple(targets), take, cut, None, tuple(self.random.random() for _ in drafts), sure)

    def judge_by_coins(self, texts: list[list[int]], drafts: list[int]) -> Judged:
        p = [self.shares(text, "base") for text in texts]
        q = [self.shares(text, "drafter") for text in texts]
        u: list[float] = []
        coins = self.coins(len(drafts))
        take, following = 0, None
        for j, token in enumerate(drafts):
            u.append(coins[j])
            share = [float(t == token) for t in range(VOCAB)] if self.toy.one_hot else q[j]
            if u[j] >= p[j][token] / share[token]:
                following = self.random.choices(range(VOCAB), self.residual(p[j], share))[0]
                break
            take += 1
            if token in self.toy.stops:
                break
        take, cut = self.stop(drafts, take)
        if following is None:
            following = self.random.choices(range(VOCAB), p[take])[0]
        behind = [row.index(max(row)) for row in p[take + 1 :]]
        targets = (*drafts[:take], following, *behind)
        return Judged(
            targets,
            take,
            cut,
            tuple(u),
            tuple(self.recorded_p(row[token]) for row, token in zip(p, drafts, strict=False)),
            tuple(row[token] for row, token in zip(p, targets, strict=True)),
        )

    def coins(self, count: int) -> list[float]:
        return [self.random.random() for _ in range(count)]

    def residual(self, p: list[float], q: list[float]) -> list[float]:
        return [max(a - b, 0.0) for a, b in zip(p, q, strict=True)]

    def pick(self, q: list[float]) -> int:
        if self.toy.one_hot:
            return q.index(max(q))
        return self.random.choices(range(VOCAB), q)[0]

    def recorded_p(self, p: float) -> float:
        return p

    def candidates(self, pos: int, t1: int, drafts: list[int]) -> Candidates | None:
        if self.toy.sampler != "rejection":
            return None
        texts = [[*self.text[:pos], t1, *drafts[:j]] for j in range(len(drafts))]
        q = [self.shares(text, "drafter") for text in texts]
        return tuple(((row.index(max(row)), 1.0),) for row in q)

    def limit(self) -> int:
        return min(self.toy.k, self.toy.max_tokens - self.emitted - 1)

    def stop(self, drafts: list[int], take: int) -> tuple[int, str | None]:
        for j in range(take):
            if drafts[j] in self.toy.stops:
                return j + 1, "stop"
        return take, None

    def round(self, index: int) -> Round:
        toy, pos, t1 = self.toy, len(self.text), self.t1
        limit = self.limit()
        self.number = index
        reason = next(
            (
                name
                for name, holds in (
                    ("stop", t1 in toy.stops),
                    ("fallback", self.is_off()),
                    ("no-drafter", toy.kind is None),
                    ("budget", limit == 0),
                )
                if holds
            ),
            None,
        )
        drafts, claims = self.draft(limit) if reason is None else ([], [])
        if reason is None and not drafts:
            reason = "zero-draft"
        verified = drafts[: toy.width] if toy.width else drafts
        judged = self.judge(verified)
        cut = judged.cut or ("budget" if reason is None and limit < toy.k else None)
        emitted = (t1, *drafts[: judged.take])
        self.text += emitted
        self.t1 = judged.targets[judged.take] if judged.following is None else judged.following
        self.took, self.offered = judged.take, len(verified)
        if self.counts(reason):
            self.record(len(emitted))
        return Round(
            index=index,
            form=toy.form if reason is None else "plain",
            reason=reason,
            pos=pos,
            t1=t1,
            limit=limit,
            drafts=tuple(drafts),
            verified=len(verified) if len(verified) < len(drafts) else None,
            targets=judged.targets,
            take=judged.take,
            emitted=emitted,
            cut=cut,
            next=self.t1,
            consumed=len(self.text),
            draft_p=self.rounded(claims) if drafts else None,
            accept_p=self.rounded(judged.accept_p) if drafts else None,
            target_p=self.rounded(judged.target_p),
            draft_top=self.candidates(pos, emitted[0], drafts),
            gap=tuple(self.random.random() for _ in judged.targets),
            u=self.rounded(judged.u) if judged.u else None,
            fallback=self.fallback(),
            ms=self.times(reason),
            state=self.state(pos, drafting=reason in (None, "zero-draft")),
        )

    def rounded(self, values: Sequence[float]) -> tuple[float, ...]:
        """As they come back from a trace with 32-bit floats."""
        if not self.toy.single:
            return tuple(values)
        return struct.unpack(f"{len(values)}f", struct.pack(f"{len(values)}f", *values))

    def counts(self, reason: str | None) -> bool:
        return reason in (None, "zero-draft")

    def is_off(self) -> bool:
        return self.off

    def window(self) -> list[int]:
        return self.recorded[-self.toy.window :]

    def verdict(self, last: list[int]) -> bool:
        return len(last) == self.toy.window and sum(last) < self.toy.below * self.toy.window

    def record(self, emitted: int) -> None:
        if self.off:
            return
        self.recorded.append(emitted)
        if self.verdict(self.window()):
            self.off, self.fell_back_at = True, len(self.recorded)

    def fallback(self) -> Window | None:
        if not self.toy.below or self.toy.kind is None:
            return None
        last = self.window()
        return Window(window=tuple(last), mean=sum(last) / len(last) if last else None, off=self.off)

    def times(self, reason: str | None) -> dict[str, float]:
        phases = ["step"] if reason is not None else ["draft", "verify", "accept", "rollback"]
        if self.toy.form == "two-pass" and reason is None:
            phases.append("step")
        if reason == "zero-draft":
            phases.append("draft")
        return {phase: self.random.uniform(0.01, 5) for phase in phases}

    def state(self, pos: int, *, drafting: bool) -> dict[str, Any] | None:
        held = len(self.text)
        match self.toy.lengths:
            case "none":
                return None
            case "at once":
                self.draft_len = held
            case "one behind":
                self.draft_len = held - 1
            case "when it drafts" if drafting:
                self.draft_len = pos
            case "idle in plain rounds" if drafting:
                self.draft_len = held
            case "full at 64":
                self.draft_len = min(held, 64)
        return {"kv_len": held, "recurrent": held, "draft_len": self.draft_len, "digest": b"\x01"}

    def records(self) -> list[AnyRecord]:
        """The whole run, header to end."""
        toy, first = self.toy, self.t1
        rounds: list[Round] = []
        while self.emitted < toy.max_tokens and not (rounds and self.text[-1] in toy.stops):
            rounds.append(self.round(len(rounds)))
        return [
            header_of(toy),
            Prefill(positions=len(PROMPT), batched=True, ms=3.0, next=first),
            *rounds,
            End(
                reason="stop" if self.text[-1] in toy.stops else "max_tokens",
                rounds=len(rounds),
                emitted=self.emitted,
                fell_back_at=self.fell_back_at,
                plain_ms=2.0,
            ),
        ]


def clean_trace(toy: Toy) -> list[AnyRecord]:
    """The records of a whole run, header to end."""
    return ToyEngine(toy).records()


def header_of(toy: Toy) -> Header:
    return Header(
        version=1,
        minor=0,
        created="2026-01-02T03:04:05+00:00",
        writer={"name": "toy", "version": "1"},
        run={"id": "clean"},
        device={"provider": "CPUExecutionProvider", "requested": "cpu"},
        base=BaseInfo(name="toy", vocab_size=VOCAB, state="hybrid"),
        drafter=DrafterInfo(kind=toy.kind, name="toy") if toy.kind else None,
        options={
            "form": toy.form,
            "k": toy.k,
            "max_tokens": toy.max_tokens,
            "tau": toy.tau,
            "fallback_below": toy.below,
            "fallback_window": toy.window,
            "temperature": 0.0 if toy.sampler == "greedy" else 0.8,
            "sampler": toy.sampler,
            "seed": toy.seed,
            "stop_tokens": list(toy.stops),
        },
        prompt=PROMPT,
    )


TOYS = st.builds(
    Toy,
    seed=st.integers(0, 10_000),
    form=st.sampled_from(["one-pass", "two-pass"]),
    sampler=st.sampled_from(["greedy", "gumbel", "rejection"]),
    kind=st.sampled_from(["mtp", "dflash", "lookup", "scripted", None]),
    k=st.integers(1, 9),
    max_tokens=st.one_of(st.integers(1, 9), st.integers(10, 150)),
    stops=st.one_of(st.just(()), st.lists(st.integers(0, VOCAB - 1), max_size=3).map(tuple)),
    below=st.sampled_from([0.0, 1.0, 1.5, 2.0, 2.3, 2.5, 3.0]),
    window=st.integers(1, 6),
    tau=st.sampled_from([0.0, 0.0, 0.3, 0.6]),
    width=st.sampled_from([None, None, None, 1, 2]),
    ease=st.lists(st.sampled_from([0.0, 0.1, 0.3, 0.6, 0.8, 0.95, 1.0]), min_size=1, max_size=4).map(tuple),
    loops=st.booleans(),
    one_hot=st.booleans(),
    single=st.booleans(),
    lengths=st.sampled_from(LENGTHS),
    short_drafts=st.sampled_from([0.0, 0.0, 0.3]),
)
