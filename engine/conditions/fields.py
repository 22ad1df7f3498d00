"""Every name that a condition may use, once: what it stands for, of which type it is, and what it is read from."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from engine.conditions.about import About
from engine.conditions.kinds import Kind
from engine.records import Round

Value = float | str | bool | Sequence[float] | None
Getter = Callable[[Round, About], Value]


class Field(NamedTuple):
    """A name. ``needs`` are the keys of a round record that ``get`` reads, ``past`` whether it needs the rounds before.

    With ``many`` it stands for several values. ``values`` are those that a text usually has.
    """

    name: str
    kind: Kind
    help: str
    get: Getter
    needs: tuple[str, ...] = ()
    many: bool = False
    past: bool = False
    values: tuple[str, ...] = ()
    group: str = ""


DRAFTED = ("drafts", "n_drafts")
COUNTED = ("take", "emitted", "n_emitted")
EVERYTHING = tuple(Round.__struct_fields__)
PHASES = ("draft", "step", "verify", "accept", "rollback", "other")
COUNTS, TOKENS, FLAGS, TIMES, RUN = "Counts and positions", "Tokens and probabilities", "Yes or no", "Times", "The run"


def _decided(values: Sequence[float] | None, round_: Round) -> Sequence[float] | None:
    return values if values is None else values[: round_.take + 1]


def _judged(values: Sequence[float] | None, round_: Round) -> Sequence[float] | None:
    return values if values is None else values[: min(round_.in_batch, round_.take + (round_.cut != "stop"))]


def _text(round_: Round, about: About) -> str | None:
    if round_.emitted is None:
        return None
    pieces = [about.piece(token) for token in round_.emitted]
    if any(piece is None for piece in pieces):
        return None
    return b"".join(piece for piece in pieces if piece is not None).decode("utf-8", errors="replace")


def _state(key: str) -> Getter:
    def get(round_: Round, _: About) -> float | None:
        value = (round_.state or {}).get(key)
        return value if isinstance(value, int | float) and not isinstance(value, bool) else None

    return get


def _phase(name: str) -> Getter:
    return lambda round_, _: None if round_.ms is None else round_.ms.get(name)


def _off(round_: Round) -> bool:
    return round_.fallback.off if round_.fallback is not None else round_.reason == "fallback"


def _flip(round_: Round, _: About) -> bool:
    off = round_.fallback is not None and round_.fallback.off
    return off and (round_.form != "plain" or round_.reason == "zero-draft")


def _fields() -> tuple[Field, ...]:
    number, text, yes = Kind.NUMBER, Kind.TEXT, Kind.YES
    counts = (
        Field("round", number, "The number of the round, from 0.", lambda r, _: r.index, ("index",)),
        Field("pos", number, "Positions the base held before the round.", lambda r, _: r.pos, ("pos",)),
        Field("consumed", number, "Positions the base holds after it.", lambda r, _: r.consumed, ("consumed",)),
        Field("drafted", number, "Tokens the drafter proposed.", lambda r, _: r.drafted, DRAFTED),
        Field("verified", number, "Drafts that were in the batch.", lambda r, _: r.in_batch, (*DRAFTED, "verified")),
        Field("take", number, "Drafts the base confirmed.", lambda r, _: r.take, ("take",)),
        Field("count", number, "Tokens the round emitted: t1 and the confirmed drafts.", lambda r, _: r.count, COUNTED),
        Field("limit", number, "Drafts that were allowed.", lambda r, _: r.limit, ("limit",)),
        Field(
            "width", number, "Rows of the batch that really ran, padding included.", lambda r, _: r.width, ("width",)
        ),
        Field("nonfinite", number, "Logits that were not finite.", lambda r, _: r.nonfinite, ("nonfinite",)),
        Field("kv_len", number, "The base's cache length after the round.", _state("kv_len"), ("state",)),
        Field("draft_len", number, "The drafter's cache length after the round.", _state("draft_len"), ("state",)),
    )
    tokens = (
        Field("t1", number, "The token id carried into the round.", lambda r, _: r.t1, ("t1",)),
        Field("next", number, "The token id carried into the next round.", lambda r, _: r.next, ("next",)),
        Field("token", number, "The token ids emitted.", lambda r, _: r.emitted, ("emitted",), many=True),
        Field("draft", number, "The token ids drafted.", lambda r, _: r.drafts, ("drafts",), many=True),
        Field("text", text, "The emitted tokens' text, where the trace has it.", _text, ("emitted",)),
        Field(
            "gap",
            number,
            "Top-1 minus top-2 logit of the rows that decided (a near-tie is 0.1 or less).",
            lambda r, _: _decided(r.gap, r),
            ("gap", "take"),
            many=True,
        ),
        Field(
            "target_p",
            number,
            "The base's probability of its choice, on the rows that decided.",
            lambda r, _: _decided(r.target_p, r),
            ("target_p", "take"),
            many=True,
        ),
        Field(
            "draft_p",
            number,
            "The drafter's probability of each draft that was judged.",
            lambda r, _: _judged(r.draft_p, r),
            ("draft_p", "take", "cut", "verified", *DRAFTED),
            many=True,
        ),
        Field(
            "accept_p",
            number,
            "The base's probability of each draft that was judged.",
            lambda r, _: _judged(r.accept_p, r),
            ("accept_p", "take", "cut", "verified", *DRAFTED),
            many=True,
        ),
        Field(
            "form", text, "How the round ran.", lambda r, _: r.form, ("form",), values=("one-pass", "two-pass", "plain")
        ),
        Field(
            "reason",
            text,
            "Why a plain round was plain.",
            lambda r, _: r.reason,
            ("reason",),
            values=("stop", "fallback", "no-drafter", "budget", "zero-draft", "cooldown"),
        ),
        Field("cut", text, "What cut the round short.", lambda r, _: r.cut, ("cut",), values=("stop", "budget")),
    )
    flags = (
        Field("plain", yes, "A plain round: nothing was drafted.", lambda r, _: not r.drafted, DRAFTED),
        Field("zero", yes, "Drafts, of which none was confirmed.", lambda r, _: r.drafted > 0 and r.take == 0,
              (*DRAFTED, "take")),
        Field("all", yes, "Drafts, all of which were confirmed.", lambda r, _: 0 < r.drafted == r.take,
              (*DRAFTED, "take")),
        Field("flip", yes, "Drafting was given up with this round.", _flip, ("fallback", "form", "reason")),
        Field("off", yes, "Drafting is off after this round.", lambda r, _: _off(r), ("fallback", "reason")),
        Field("warning", yes, "A warning was told of the round.", lambda r, a: r.index in a.warned, ("index",)),
        Field("fault", yes, "A fault was told of the round.", lambda r, a: r.index in a.failed, ("index",)),
        Field("finding", yes, "The audit finds something at this round.", lambda _, a: a.found, EVERYTHING, past=True),
    )  # fmt: skip
    times = (
        Field(
            "ms",
            number,
            "Milliseconds of the whole round.",
            lambda r, _: None if r.ms is None else sum(r.ms.values()),
            ("ms",),
        ),
        *(Field(f"ms.{name}", number, f"Milliseconds of its phase {name}.", _phase(name), ("ms",)) for name in PHASES),
    )
    run = (
        Field("k", number, "The option k: drafts a round.", lambda _, a: a.k),
        Field("bar", number, "The option fallback_below.", lambda _, a: a.bar),
        Field("window", number, "The option fallback_window.", lambda _, a: a.window),
        Field(
            "mean",
            number,
            "The rolling mean of tokens a round after this one, of fewer until the window is full; a plain round has "
            "none.",
            lambda _, a: a.mean,
            ("reason", "fallback", "ms", *DRAFTED, *COUNTED),
            past=True,
        ),
        Field("tokens", number, "Tokens emitted up to the end of this round.", lambda _, a: a.tokens,
              ("ms", "reason", "fallback", *DRAFTED, *COUNTED), past=True),
        Field("seconds", number, "Seconds from the first round's start to this one's end.", lambda _, a: a.ms / 1000,
              ("ms", "reason", "fallback", *DRAFTED, *COUNTED), past=True),
    )  # fmt: skip
    groups = ((COUNTS, counts), (TOKENS, tokens), (FLAGS, flags), (TIMES, times), (RUN, run))
    return tuple(field._replace(group=group) for group, fields in groups for field in fields)


FIELDS = _fields()
BY_NAME = {field.name: field for field in FIELDS}
