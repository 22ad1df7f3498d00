"""Is a row the same whatever the width of the pass that makes it? A verify against single steps, on sampled text."""

from collections.abc import Sequence

import msgspec
import numpy as np

from engine.base.base import Base
from engine.errors import Refused
from engine.options import Options
from engine.probe.decode import empty, plain
from engine.widths import Comparison, compare, pooled, run_both_ways

SEEDS, REPEATS = 3, 3
CONTINUED = 24
"""Tokens that each seed goes on from the prompt, at temperature 1, before its rows are compared."""


class SeedBits(msgspec.Struct, frozen=True, kw_only=True):
    """What one seed's text gave. ``repeatable``: all repeats of either pass were the same bit by bit."""

    seed: int
    compared: Comparison
    repeatable: bool


class Bits(msgspec.Struct, frozen=True, kw_only=True):
    """Rows 0..k of a verify against steps of ``plain_width`` rows each; ``exact`` if no choice flipped."""

    exact: bool
    base: str
    k: int
    plain_width: int
    prompt_tokens: int
    repeats: int
    compared: Comparison
    repeatable: bool
    seeds: tuple[SeedBits, ...]

    @property
    def identical(self) -> bool:
        """Whether all rows are the same bit by bit."""
        return self.compared.identical == self.compared.rows


def probe_bits(base: Base, prompt: Sequence[int], options: Options) -> Bits:
    """Compare on ``SEEDS`` texts from ``options.seed`` on, ``REPEATS`` times each.

    Raises:
        Refused: the prompt cannot be run, or does not leave room for the rows.
        EngineFault: the base broke, or a row is not finite.
    """
    count = options.k + 1
    needed = len(prompt) + CONTINUED + count
    if base.context_length is not None and needed > base.context_length:
        raise Refused(
            f"{needed} positions are compared, the base's context is {base.context_length}: "
            "give a shorter prompt or a smaller k"
        )
    found = []
    for seed in range(options.seed, options.seed + SEEDS):
        drawn = Options(
            max_tokens=CONTINUED + count, temperature=1.0, sampler="gumbel", seed=seed, plain_width=options.plain_width
        )
        text = plain(base, prompt, drawn, lambda: 0.0).tokens
        base.rollback(len(prompt) + CONTINUED)
        pairs = [run_both_ways(base, text[CONTINUED:]) for _ in range(REPEATS)]
        repeatable = all(np.array_equal(a, b) for pair in pairs for a, b in zip(pair, pairs[0], strict=True))
        found.append(SeedBits(seed=seed, compared=pooled([compare(pair) for pair in pairs]), repeatable=repeatable))
    empty(base)
    compared = pooled([seed.compared for seed in found])
    return Bits(
        exact=compared.flips == 0,
        base=base.info.name,
        k=options.k,
        plain_width=options.plain_width,
        prompt_tokens=len(prompt),
        repeats=REPEATS,
        compared=compared,
        repeatable=all(seed.repeatable for seed in found),
        seeds=tuple(found),
    )
