"""How far lookup should draft: ``python -m benchmarks.lookup [MODEL] [--lookups lookup lookup:adapt=off]``.

Texts are decoded plainly once, greedily, after the held-out prompts of the bundled models or, with another model, after
chat prompts. What lookup would have drafted at every round of them follows from the text alone. A pass is counted by
what one of its width costs on this model, measured in turns in processor time of one thread; so the tokens a round, and
the tokens in the time of a plain pass, are exact but for the model's own costs, and the same on a busy machine.

The first table says how often a match of so many tokens foretold the next one.
"""

import argparse
import json
import statistics
import time
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from benchmarks.peers import PROMPTS
from benchmarks.reference_texts import PROMPTS as CHAT
from engine.accept import leading_matches
from engine.base.base import Base
from engine.commands.prompts import HELD_OUT
from engine.drafters.named import lookup, parse
from engine.drafters.seen import SeenText
from engine.loop import run
from engine.opening import BUNDLED, Models, open_models
from engine.options import Options
from engine.request import Setup

LENGTHS = (1, 2, 3, 4, 8, 16)
AT = 128
"""The positions behind which passes are measured."""


class Text(NamedTuple):
    """A prompt's tokens, and those that plain decode put behind them."""

    prompt: tuple[int, ...]
    answer: tuple[int, ...]


def texts(models: Models, model: str, count: int, tokens: int) -> dict[str, list[Text]]:
    """Plain decode of the prompts by domain."""
    prompts = {"chat": [*CHAT][:count], "peers": list(PROMPTS.values())}
    if model == BUNDLED:
        held_out = json.loads(HELD_OUT.read_text(encoding="utf-8"))
        prompts = {domain: [entry["text"] for entry in entries[:count]] for domain, entries in held_out.items()}
    options = Options(max_tokens=tokens, stop_tokens=models.stop_tokens)
    made: dict[str, list[Text]] = {}
    for domain, several in prompts.items():
        made[domain] = []
        for prompt in several:
            ids = tuple(models.tokens_of(prompt, chat=model != BUNDLED))
            models.base.rollback(0)
            made[domain].append(Text(ids, run(models.base, None, ids, options).tokens))
    return made


def costs(base: Base, widest: int, turns: int) -> list[float]:
    """What passes of 1 to ``widest`` rows cost, in passes of one row."""
    tokens = [20 + 7 * i % 200 for i in range(AT + widest)]
    base.rollback(0)
    base.prefill(tokens[:AT])
    spent: list[list[float]] = [[] for _ in range(widest)]
    for _ in range(turns):
        for width in range(1, widest + 1):
            began = time.process_time()
            base.verify(tokens[AT : AT + width])
            spent[width - 1].append(time.process_time() - began)
            base.rollback(AT)
    return [statistics.median(each) / statistics.median(spent[0]) for each in spent]


def rounds(spec: str, text: Text, k: int) -> list[tuple[int, int]]:
    """How many tokens lookup would have drafted in each round, and how many of them would have been kept."""
    drafter, answer, at = lookup(parse(spec)), text.answer, 0
    drafter.commit(text.prompt, None)  # type: ignore[arg-type]  # it reads no rows
    made = []
    while at < len(answer):
        limit = min(k, len(answer) - at - 1)
        drafts: Sequence[int] = ()
        if limit:
            drafts = drafter.draft(answer[at], limit, None, 0.0).tokens  # type: ignore[arg-type]
        take = leading_matches(drafts, [*answer[at + 1 : at + 1 + len(drafts)], -1])
        drafter.commit(answer[at : at + 1 + take], None)  # type: ignore[arg-type]
        made.append((len(drafts), take))
        at += 1 + take
    return made


def foretold(several: Sequence[Text]) -> list[str]:
    """The share of matches of each length that were right, and how many there were."""
    right: Counter[int] = Counter()
    matches: Counter[int] = Counter()
    for text in several:
        seen = SeenText(1, max(LENGTHS), latest=True)
        for i, token in enumerate((*text.prompt, *text.answer)):
            place, length = seen.match
            if length and i >= len(text.prompt):
                matches[length] += 1
                right[length] += seen.tokens[place] == token
            seen.push(token)
    return [f"{right[n] / matches[n]:.2f} of {matches[n]}" if matches[n] else "" for n in LENGTHS]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model", nargs="?", default=BUNDLED)
    parser.add_argument("--lookups", nargs="+", default=["lookup:adapt=off", "lookup"])
    parser.add_argument("--k", type=int, default=8)
    parser.add_argument("--prompts", type=int, default=20)
    parser.add_argument("--tokens", type=int, default=128)
    parser.add_argument("--turns", type=int, default=21)
    args = parser.parse_args()
    models = open_models(args.model, Setup(threads=1))
    made = texts(models, args.model, args.prompts, args.tokens)
    cost = costs(models.base, args.k + 1, args.turns)
    print("A pass of 1, 2, ... rows, in plain ones: " + " ".join(f"{each:.2f}" for each in cost))
    print("\n| text | " + " | ".join(map(str, LENGTHS)) + " |\n|---|" + "---|" * len(LENGTHS))
    for domain, several in made.items():
        print(f"| {domain} | {' | '.join(foretold(several))} |")
    print("\n| text | lookup | drafted rounds | drafts | kept | tokens in the time of a plain pass |")
    print("|---|---|---|---|---|---|")
    for domain, several in made.items():
        for spec in args.lookups:
            each = [round_ for text in several for round_ in rounds(spec, text, args.k)]
            tokens = sum(len(text.answer) for text in several)
            figures = (sum(bool(n) for n, _ in each), sum(n for n, _ in each), sum(take for _, take in each))
            speed = tokens / sum(cost[n] for n, _ in each)
            print(f"| {domain} | {spec} | {' | '.join(map(str, figures))} | **{speed:.2f}** |")


if __name__ == "__main__":
    main()
