"""A model of one's own in each of its layouts: is its text that of transformers, and is speculation exact on it?

    python benchmarks/folder_models.py texts.json FOLDER... [--k 1,3,5,7] [--drafter lookup,draft-model:FOLDER]

``texts.json`` is from ``benchmarks/reference_texts.py``, made of the same weights. Plain decode is compared with it,
and speculation with plain decode, token by token. Where they part, the gap between the two best logits says whether
rounding could decide it. Exit 0 if every text of every folder is the reference's and every speculative text is plain.
"""

import argparse
import json
import statistics
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from engine.loop import Result, run
from engine.opening import Models, open_models
from engine.options import FORMS, Options
from engine.request import Setup


class Parting(NamedTuple):
    """The first token in which two texts differ, and the gap of the first text's two best logits there."""

    at: int
    gap: float | None

    def told(self) -> str:
        return f"from token {self.at} on" + ("" if self.gap is None else f" (gap {self.gap:.2g})")


def main() -> int:
    """Compare and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("texts", type=Path)
    parser.add_argument("folders", nargs="+")
    parser.add_argument("--k", default="1,3,5,7")
    parser.add_argument("--drafter", default="lookup")
    parser.add_argument("--prompts", type=int, default=10)
    parser.add_argument("--max-tokens", type=int, default=64)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--plain-width", type=int, default=1)
    arguments = parser.parse_args()
    texts = json.loads(arguments.texts.read_text(encoding="utf-8"))[: arguments.prompts]
    ks = [int(part) for part in arguments.k.split(",") if part]
    good = True
    for folder in arguments.folders:
        models = open_models(folder, Setup(threads=arguments.threads, plain_width=arguments.plain_width))
        print(f"\n{models.base.info.name}: {models.about.get('layout')}, {models.about.get('can', {}).get('cache')}")
        good &= _compared(models, texts, arguments, ks)
    return 0 if good else 1


def _compared(models: Models, texts: Sequence[dict], arguments: argparse.Namespace, ks: Sequence[int]) -> bool:
    base, stops = models.base, models.stop_tokens
    options = Options(max_tokens=arguments.max_tokens, stop_tokens=stops, plain_width=arguments.plain_width)
    plain, per_token = [], []
    for text in texts:
        ids = list(models.tokens_of(text["prompt"], chat=True))
        assert ids == text["ids"], f"the chat template gives other tokens: {ids} and {text['ids']}"
        base.rollback(0)
        began = time.perf_counter()
        plain.append(run(base, None, ids, options))
        per_token.append((time.perf_counter() - began) * 1000 / len(plain[-1].tokens))
    parted = [_parting(text["tokens"], made.tokens, text["gaps"]) for text, made in zip(texts, plain, strict=True)]
    equal = sum(each is None for each in parted)
    speed = f"{statistics.median(per_token):.0f} ms a token"
    print(f"  plain: {equal} of {len(texts)} texts are those of transformers, {speed}")
    _tell(texts, parted)
    good = equal == len(texts)
    for name in filter(None, arguments.drafter.split(",")):
        for k in ks:
            for form in FORMS:
                good &= _speculated(models, name, texts, plain, Options(**{**options.as_map(), "k": k, "form": form}))
    return good


def _speculated(models: Models, name: str, texts: Sequence[dict], plain: Sequence[Result], options: Options) -> bool:
    parted, rounds, tokens = [], 0, 0
    for text, expected in zip(texts, plain, strict=True):
        models.base.rollback(0)
        made = run(models.base, models.drafter(name, text["ids"], options), text["ids"], options)
        gaps = [None if row.gap is None else row.gap[0] for row in expected.rounds]
        parted.append(_parting(expected.tokens, made.tokens, [None, *gaps]))
        drafted = [each for each in made.rounds if each.drafts]
        rounds, tokens = rounds + len(drafted), tokens + sum(each.count for each in drafted)
    equal = sum(each is None for each in parted)
    rate = f"{tokens / rounds:.2f} tokens a drafted round" if rounds else "nothing was drafted"
    print(f"  {Path(name).name} k={options.k} {options.form}: {equal} of {len(texts)} as plain, {rate}")
    _tell(texts, parted)
    return equal == len(texts)


def _parting(expected: Sequence[int], made: Sequence[int], gaps: Sequence[float | None]) -> Parting | None:
    for at, (one, other) in enumerate(zip(expected, made, strict=False)):
        if one != other:
            return Parting(at, gaps[at])
    return None if len(expected) == len(made) else Parting(min(len(expected), len(made)), None)


def _tell(texts: Sequence[dict], parted: Sequence[Parting | None]) -> None:
    for text, each in zip(texts, parted, strict=True):
        if each is not None:
            print(f"    differs {each.told()}: {text['prompt'][:50]!r}")


if __name__ == "__main__":
    sys.exit(main())
