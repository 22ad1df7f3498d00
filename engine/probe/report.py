"""What a probe found, as values: texts, times and counts of every way to decode, and where one is not exact."""

from collections.abc import Sequence

import msgspec


class Difference(msgspec.Struct, frozen=True):
    """The first token that is not plain decode's: where (0 is the first emitted), both, and plain's top-1/top-2 gap.

    ``expected`` or ``got`` is ``None`` where one text is shorter. ``prompt`` counts from 0.
    """

    position: int
    expected: int | None
    got: int | None
    gap: float | None
    prompt: int = 0


class Text(msgspec.Struct, frozen=True):
    """What plain decode made of one prompt."""

    name: str
    prompt_tokens: int
    tokens: tuple[int, ...]


class Plain(msgspec.Struct, frozen=True, kw_only=True):
    """Plain decode of all prompts, the reference: medians over its repeats."""

    tokens: int
    tokens_per_second: float
    ttft_ms: float
    repeated_8grams: float | None


class Way(msgspec.Struct, frozen=True, kw_only=True):
    """One way to decode with one drafter; ``how`` is "by-hand", "run" or "run_from".

    Counts are pooled over the prompts. ``speedup`` is the median over prompts and repeats of the time for a token in
    the plain decode just before, over that here. ``by_position`` are the rates #(a >= i) / R of the metrics table,
    ``fell_back_at`` has an entry for each prompt.
    """

    drafter: str
    k: int
    form: str
    how: str
    tokens: int
    tokens_per_second: float
    ttft_ms: float
    speedup: float | None
    tokens_per_round: float | None
    by_position: tuple[float, ...]
    rounds: int
    batches: int
    repeated_8grams: float | None
    fell_back_at: tuple[int | None, ...]
    difference: Difference | None


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """The verdict: ``exact`` if every way gave plain decode's tokens in every repeat.

    ``warning`` says that a padded plain step is not the twin of a verify row, which it is meant to be.
    """

    exact: bool
    warning: str | None
    base: str
    sampler: str
    max_tokens: int
    repeat: int
    texts: tuple[Text, ...]
    plain: Plain
    ways: tuple[Way, ...]


def first_difference(
    expected: Sequence[int], got: Sequence[int], gaps: Sequence[float] = (), prompt: int = 0
) -> Difference | None:
    """The first position where two texts part, ``None`` if they are the same."""
    for i in range(max(len(expected), len(got))):
        left = expected[i] if i < len(expected) else None
        right = got[i] if i < len(got) else None
        if left != right:
            return Difference(i, left, right, gaps[i] if i < len(gaps) else None, prompt)
    return None
