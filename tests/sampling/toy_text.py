"""Small random worlds for the sampling tests: bases whose rows depend on the last two tokens, and drafters for them."""

from collections.abc import Callable, Sequence

import numpy as np

from engine.base.base import Floats
from engine.base.toy import LogitsOf, ToyBase
from engine.drafters.draft_model import DraftModelDrafter
from engine.drafters.drafter import Drafter
from engine.drafters.lookup import LookupDrafter
from engine.drafters.scripted import ScriptedDrafter
from engine.drafters.synthetic import SyntheticDrafter
from engine.loop import Rules, Run, prefill
from engine.options import Options
from engine.sampling import Coins, Probs, Rejection, processed

PROMPT = (0, 1, 0, 1)


def table(vocab_size: int, seed: int, spread: float = 1.0) -> LogitsOf:
    """Normal logits for each pair of last tokens."""
    rows = np.random.default_rng(seed).normal(0, spread, (vocab_size, vocab_size, vocab_size)).astype(np.float32)

    def logits_of(history: Sequence[int]) -> Floats:
        row: Floats = rows[history[-2] if len(history) > 1 else 0, history[-1]]
        return row

    return logits_of


def constant(probs: Sequence[float]) -> LogitsOf:
    """The same distribution after every history."""
    with np.errstate(divide="ignore"):
        row = np.log(np.asarray(probs)).astype(np.float32)
    return lambda history: row


class World:
    """A base with its prompt and a drafter of a kind, made anew for every run."""

    def __init__(self, vocab_size: int, base: LogitsOf, drafter: Callable[[], Drafter] | None) -> None:
        self.vocab_size = vocab_size
        self.base = base
        self.drafter = drafter

    def run(self, options: Options, sampler: Rejection | None = None) -> Run:
        base = ToyBase(self.vocab_size, self.base)
        logits = prefill(base, PROMPT)
        rules = Rules() if sampler is None else Rules(sampler=lambda _: sampler)
        return Run(base, self.drafter and self.drafter(), len(PROMPT), logits, options, rules=rules)

    def probs(self, history: Sequence[int], options: Options) -> Probs:
        """What plain sampling draws from after a history."""
        return processed(self.base(history), options.temperature, options.top_k, options.top_p)

    def plain(self, options: Options, length: int) -> dict[tuple[int, ...], float]:
        """The distribution of the next ``length`` tokens under plain sampling."""
        return self.completed({(): 1.0}, options, length)

    def completed(
        self, masses: dict[tuple[int, ...], float], options: Options, length: int
    ) -> dict[tuple[int, ...], float]:
        """Texts that are shorter than ``length`` are continued by plain sampling."""
        done: dict[tuple[int, ...], float] = {}
        for text, mass in masses.items():
            if len(text) >= length:
                done[text] = done.get(text, 0.0) + mass
                continue
            probs = self.probs((*PROMPT, *text), options)
            longer = {(*text, token): mass * float(probs[token]) for token in range(self.vocab_size)}
            for key, value in self.completed(longer, options, length).items():
                done[key] = done.get(key, 0.0) + value
        return done


def worlds(vocab_size: int) -> dict[str, World]:
    """A world for every kind of drafter: drafts drawn from a soft q, and drafts that were not drawn."""
    base, other = table(vocab_size, 1), table(vocab_size, 2)

    def argmax(history: Sequence[int]) -> int:
        return int(np.argmax(base(history)))

    kinds: dict[str, Callable[[], Drafter]] = {
        "draft-model": lambda: DraftModelDrafter(ToyBase(vocab_size, other)),
        "draft-model-that-is-the-base": lambda: DraftModelDrafter(ToyBase(vocab_size, base)),
        "draft-model-far-off": lambda: DraftModelDrafter(ToyBase(vocab_size, table(vocab_size, 3, 6.0))),
        "scripted": lambda: ScriptedDrafter(argmax, vocab_size, [1]),
        "lookup": lambda: LookupDrafter(longest=2, shortest=1),
        "synthetic": lambda: SyntheticDrafter((*PROMPT, 1, 0, 1, 1, 0, 1), (0.6,), vocab_size),
    }
    return {kind: World(vocab_size, base, make) for kind, make in kinds.items()}


def rejection(coins: Coins, options: Options) -> Rejection:
    return Rejection(options, coins)
