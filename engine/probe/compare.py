"""Does speculation give the tokens of plain decode here, and at what speed? Every way in one session, in turns."""

import statistics
import time
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import msgspec

from engine.base.base import Base
from engine.drafters.drafter import Drafter
from engine.errors import Refused
from engine.ngrams import repeated_ngrams
from engine.options import FORMS, Options
from engine.probe.decode import WAYS, Clock, Decode, Reference, comparable, empty, plain, reference
from engine.probe.report import Difference, Plain, Report, Text, Way, first_difference
from engine.start import check_pair, check_prompt
from engine.stats import Stats
from engine.widths import plain_width_warning

WARM_UP = 8
"""Tokens that each way decodes, untimed, before it is timed: the first pass of each width is slow."""


class Prompt(NamedTuple):
    """A prompt's name and tokens."""

    name: str
    tokens: Sequence[int]


class Candidate(NamedTuple):
    """A drafter's name, and what opens it for a prompt, empty."""

    name: str
    opened: Callable[[Sequence[int]], Drafter]


class _Key(NamedTuple):
    drafter: str
    k: int
    form: str
    how: str


class _Turns(NamedTuple):
    """The decodes of one prompt in one way, each with the plain decode before it."""

    plain: tuple[Decode, ...]
    made: tuple[Decode, ...]
    difference: Difference | None


def probe(
    base: Base,
    candidates: Sequence[Candidate],
    prompts: Sequence[Prompt],
    options: Options,
    ks: Sequence[int],
    *,
    forms: Sequence[str] = FORMS,
    repeat: int = 1,
    clock: Clock = time.perf_counter,
) -> Report:
    """Decode every prompt in every way with every drafter and k, a plain decode before each, and compare the tokens.

    ``options.form`` and ``options.k`` are set by each way.

    Raises:
        Refused: the prompt or options cannot make a run, or draw a text that is not plain decode's.
        EngineFault: the base or a drafter broke.
    """
    comparable(options)
    if repeat < 1 or not (prompts and ks and candidates):
        raise Refused("a probe needs at least one prompt, one drafter, one k and one repeat")
    texts: list[Text] = []
    turns: dict[_Key, list[_Turns]] = {}
    for number, prompt in enumerate(prompts):
        drafters = _opened(base, candidates, prompt.tokens, options)
        expected = reference(base, prompt.tokens, options)
        texts.append(Text(prompt.name, len(prompt.tokens), expected.tokens))
        for name, drafter in drafters:
            for k in ks:
                for form in forms:
                    if drafter.needs_anchor_row and form != "two-pass":
                        continue
                    chosen = msgspec.structs.replace(options, k=k, form=form)
                    for how in WAYS:
                        made = _take_turns(base, drafter, prompt.tokens, chosen, how, repeat, clock)
                        turns.setdefault(_Key(name, k, form, how), []).append(_judged(made, expected, number))
    warning = _plain_width_warning(base, prompts[0].tokens, options, max(ks))
    ways = tuple(_way(key, made) for key, made in turns.items())
    return Report(
        exact=all(way.difference is None for way in ways),
        warning=warning,
        base=base.info.name,
        sampler=options.sampler,
        max_tokens=options.max_tokens,
        repeat=repeat,
        texts=tuple(texts),
        plain=_plain_of(texts, turns.values()),
        ways=ways,
    )


def _opened(
    base: Base, candidates: Sequence[Candidate], prompt: Sequence[int], options: Options
) -> list[tuple[str, Drafter]]:
    """All drafters, checked before the first is run."""
    empty(base)
    check_prompt(base, None, prompt)
    any_form = msgspec.structs.replace(options, form="two-pass")
    drafters = [(name, opened(prompt)) for name, opened in candidates]
    for _, drafter in drafters:
        check_pair(base, drafter, len(prompt), any_form)
    return drafters


def _plain_width_warning(base: Base, prompt: Sequence[int], options: Options, k: int) -> str | None:
    empty(base)
    warning = None
    if options.plain_width > 1:
        base.prefill(prompt)
        warning = plain_width_warning(base, prompt, k + 1)
        empty(base)
    return warning


def _take_turns(
    base: Base, drafter: Drafter, prompt: Sequence[int], options: Options, how: str, repeat: int, clock: Clock
) -> _Turns:
    short = msgspec.structs.replace(options, max_tokens=min(WARM_UP, options.max_tokens))
    plain(base, prompt, short, clock)
    WAYS[how](base, drafter, prompt, short, clock)
    pairs = [
        (plain(base, prompt, options, clock), WAYS[how](base, drafter, prompt, options, clock)) for _ in range(repeat)
    ]
    before, made = zip(*pairs, strict=True)
    return _Turns(before, made, None)


def _judged(turns: _Turns, expected: Reference, number: int) -> _Turns:
    """With the first difference of any repeat, a plain one too: a base that does not repeat itself is not exact."""
    for decode in (*turns.made, *turns.plain):
        found = first_difference(expected.tokens, decode.tokens, expected.gaps, number)
        if found is not None:
            return turns._replace(difference=found)
    return turns


def _way(key: _Key, turns: Sequence[_Turns]) -> Way:
    firsts = [turn.made[0] for turn in turns]
    stats = Stats.of(round_ for made in firsts for round_ in made.rounds)
    return Way(
        drafter=key.drafter,
        k=key.k,
        form=key.form,
        how=key.how,
        tokens=sum(len(made.tokens) for made in firsts),
        tokens_per_second=_per_second([turn.made for turn in turns]),
        ttft_ms=statistics.median(made.ttft_ms for turn in turns for made in turn.made),
        speedup=_speedup(turns),
        tokens_per_round=stats.tokens_per_round,
        by_position=stats.by_position.unconditional,
        rounds=stats.rounds,
        batches=stats.batches,
        repeated_8grams=_repeated(made.tokens for made in firsts),
        fell_back_at=tuple(made.fell_back_at for made in firsts),
        difference=next((turn.difference for turn in turns if turn.difference is not None), None),
    )


def _plain_of(texts: Sequence[Text], ways: Iterable[Sequence[_Turns]]) -> Plain:
    decodes = [tuple(turn for way in prompt for turn in way.plain) for prompt in zip(*ways, strict=True)]
    return Plain(
        tokens=sum(len(text.tokens) for text in texts),
        tokens_per_second=_per_second(decodes),
        ttft_ms=statistics.median(made.ttft_ms for prompt in decodes for made in prompt),
        repeated_8grams=_repeated(text.tokens for text in texts),
    )


def _per_second(prompts: Sequence[Sequence[Decode]]) -> float:
    """The tokens of one decode of each prompt over the medians of their times."""
    ms = sum(statistics.median(made.ms for made in repeats) for repeats in prompts)
    return sum(len(repeats[0].tokens) for repeats in prompts) / ms * 1000 if ms else 0.0


def _speedup(turns: Sequence[_Turns]) -> float | None:
    ratios = [
        (before.ms / len(before.tokens)) / (made.ms / len(made.tokens))
        for turn in turns
        for before, made in zip(turn.plain, turn.made, strict=True)
        if made.ms
    ]
    return statistics.median(ratios) if ratios else None


def _repeated(texts: Iterable[Sequence[int]]) -> float | None:
    """The mean share of repeated 8-grams of the texts that are long enough to have any."""
    shares = [share for text in texts if (share := repeated_ngrams(list(text))) is not None]
    return statistics.fmean(shares) if shares else None
