"""Tokens a round, speed-up and exactness of the bundled models: ``python benchmarks/bundled_models.py``.

For every prompt, plain decode and speculation alternate in one process on one thread; a figure is pooled over the
prompts, a speed-up is the median over the prompts of plain time over speculative time (prefill apart). The share of
repeated 8-grams says how much the text loops, which flatters acceptance.
"""

import argparse
import json
import statistics
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np

from engine.drafters.drafter import Drafter
from engine.drafters.lookup import LookupDrafter
from engine.loop import Run, prefill, rounds
from engine.models import bundled
from engine.ngrams import repeated_ngrams
from engine.options import FORMS, Options
from engine.records import Round
from engine.stats import Stats

PROMPTS = Path(bundled.__file__).parent / "prompts.json"


class Decoded(NamedTuple):
    """A finished decode: its time without the prefill, and the gap of every row that chose a token."""

    tokens: list[int]
    seconds: float
    rounds: list[Round]
    gaps: list[float]


class Models:
    """The bundle's base and drafters, loaded once."""

    def __init__(self, folder: Path | None, plain_width: int) -> None:
        self.bundle = bundled.open_bundle(folder)
        self.base = bundled.load_base(self.bundle, plain_width=plain_width)
        self.tokenizer = self.bundle.tokenizer()
        self.drafters: dict[str, Drafter] = {
            kind: bundled.load_drafter(self.bundle, kind) for kind in self.bundle.manifest.drafters
        }
        self.drafters["lookup"] = LookupDrafter()

    def decode(self, prompt: list[int], drafter: Drafter | None, options: Options) -> Decoded:
        self.base.rollback(0)
        if drafter is not None:
            drafter.rollback(0)
        logits = prefill(self.base, prompt)
        run = Run(self.base, drafter, len(prompt), logits, options)
        began = time.perf_counter()
        made = list(rounds(run))
        seconds = time.perf_counter() - began
        gaps = [gap for round_ in made for gap in (round_.gap or ())[: round_.take + 1]]
        return Decoded(run.emitted, seconds, made, gaps)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bundle", type=Path)
    parser.add_argument("--k", type=int, nargs="+", default=[3, 5, 7])
    parser.add_argument("--forms", nargs="+", default=["one-pass"], choices=FORMS)
    parser.add_argument("--domains", nargs="+", default=["code", "docs", "prose", "story", "verse"])
    parser.add_argument("--drafters", nargs="+")
    parser.add_argument("--tokens", type=int, default=128)
    parser.add_argument("--prompts", type=int, default=20)
    parser.add_argument("--plain-width", type=int, default=1)
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    models = Models(args.bundle, args.plain_width)
    everything = json.loads(PROMPTS.read_text(encoding="utf-8"))
    report = []
    print("| text | drafter | k | form | tokens/round | by position | speed-up | repeated 8-grams | equal to plain |")
    print("|---|---|---|---|---|---|---|---|---|")
    for domain in args.domains:
        prompts = [[0, *models.tokenizer.encode(entry["text"])] for entry in everything[domain]][: args.prompts]
        for kind in args.drafters or models.drafters:
            for k in args.k:
                for form in args.forms:
                    row = measure(models, prompts, domain, kind, k, form, args)
                    report.append(row)
                    print(
                        f"| {domain} | {kind} | {k} | {form} | {row['tokens_per_round']:.2f} "
                        f"| {' '.join(f'{100 * p:.0f}' for p in row['by_position'])} | {row['speedup']:.2f} "
                        f"| {row['repeated_8grams']:.2f} | {row['equal']} of {row['runs']} |",
                        flush=True,
                    )
                    for difference in row["differences"]:
                        print(f"    differs: {difference}", flush=True)
    if args.json:
        args.json.write_text(json.dumps(report, indent=1))


def measure(
    models: Models, prompts: list[list[int]], domain: str, kind: str, k: int, form: str, args: argparse.Namespace
) -> dict[str, object]:
    """One row of the table."""
    pooled, ratios, repeats, differences = Stats(), [], [], []
    for number, prompt in enumerate(prompts):
        options = Options(k=k, form=form, max_tokens=args.tokens, plain_width=args.plain_width, stop_tokens=(0,))
        plain = models.decode(prompt, None, options)
        drafted = models.decode(prompt, models.drafters[kind], options)
        ratios.append(plain.seconds / drafted.seconds)
        if len(plain.tokens) >= 8:
            repeats.append(repeated_ngrams(plain.tokens) or 0.0)
        if plain.tokens != drafted.tokens:
            pairs = zip(plain.tokens, drafted.tokens, strict=False)
            at = next((i for i, (a, b) in enumerate(pairs) if a != b), -1)
            differences.append({"prompt": number, "token": at, "gap": plain.gaps[at - 1]})
        for round_ in drafted.rounds:
            pooled.add(round_)
    return {
        "domain": domain,
        "drafter": kind,
        "k": k,
        "form": form,
        "tokens_per_round": pooled.tokens_per_round,
        "by_position": pooled.by_position.unconditional,
        "speedup": statistics.median(ratios),
        "repeated_8grams": float(np.mean(repeats)),
        "equal": len(prompts) - len(differences),
        "runs": len(prompts),
        "differences": differences,
    }


if __name__ == "__main__":
    main()
