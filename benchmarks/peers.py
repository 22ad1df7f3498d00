"""Speed against peers on the same weights: ``python -m benchmarks.peers GENAI_FOLDER [--hf HF_FOLDER]``.

The folder is one of onnxruntime-genai, read by both sides; ``--hf`` names the same weights for transformers. Plain
decode is held against genai's ``Generator``, lookup against its n-gram mode and against transformers' prompt lookup.
All ways take turns in one process with the same number of threads. A figure is the time of the tokens behind the first
(the prompt's pass apart); a ratio is the peer's time a token over ours in the same turn, and the median over the turns.
Where weights lie in memory makes a difference of tens of per cent: everything is measured once with ours loaded first,
when it moves itself to huge pages, and once with it loaded last, when it takes the peers along; both medians are shown.
``--huge-pages`` puts everything on huge pages before it is measured, which takes that difference away.
``--clock cpu`` counts processor time in place of time, for one thread on a machine that is busy with other work.

It needs onnxruntime-genai, and with ``--hf`` torch and transformers.
"""

import argparse
import gc
import json
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.huge_pages import collapse, megabytes
from engine.drafters.lookup import LookupDrafter
from engine.loop import Run, prefill, rounds
from engine.opening import Models, open_models
from engine.options import Options
from engine.request import Setup

CODE = (
    "def total_price(items, tax):\n    total = 0.0\n    for item in items:\n        price = item.price * item.count\n"
    "        if item.discount:\n            price = price * (1 - item.discount)\n        total = total + price\n"
    "    return total * (1 + tax)\n"
)
PROMPTS = {
    "edit code": f"Write this function again and call it total_cost. Change nothing else.\n\n{CODE}",
    "repeat": f"Repeat the following text word for word, then stop.\n\n{CODE}",
    "story": "Write a short story about a lighthouse keeper who finds a map.",
}


class Decoded(NamedTuple):
    """The tokens behind the prompt, and the milliseconds that each took, the first apart."""

    tokens: list[int]
    ms: float


Way = Callable[[list[int], int], Decoded]
"""Decodes so many tokens after a prompt."""

Clock = Callable[[], float]
CLOCKS: dict[str, Clock] = {"wall": time.perf_counter, "cpu": time.process_time}


def ours(models: Models, k: int, clock: Clock, *, lookup: bool) -> Way:
    """This engine, as ``specstep record`` runs it, without the record."""

    def decode(prompt: list[int], count: int) -> Decoded:
        models.base.rollback(0)
        drafter = LookupDrafter() if lookup else None
        options = Options(k=k, max_tokens=count, stop_tokens=models.stop_tokens)
        run = Run(models.base, drafter, len(prompt), prefill(models.base, prompt), options)
        began = clock()
        for _ in rounds(run):
            pass
        return Decoded(run.emitted, (clock() - began) * 1000 / len(run.emitted))

    return decode


def genai(folder: Path, threads: int, k: int, clock: Clock, *, ngram: bool) -> Way:
    """onnxruntime-genai's ``Generator``, with its own settings but for the threads."""
    import onnxruntime_genai as og  # noqa: PLC0415 (an optional peer)

    config = og.Config(str(folder))
    settings = {"model": {"decoder": {"session_options": {"intra_op_num_threads": threads}}}}
    config.overlay(json.dumps(settings))
    model = og.Model(config)

    def decode(prompt: list[int], count: int) -> Decoded:
        params = og.GeneratorParams(model)
        params.set_search_options(max_length=len(prompt) + count, do_sample=False, batch_size=1)
        if ngram:
            params.set_speculative_options(ngram_size=3, max_draft_tokens=k)
        generator = og.Generator(model, params)
        generator.append_tokens(prompt)
        generator.generate_next_token()
        began, first = clock(), generator.token_count()
        while not generator.is_done():
            generator.generate_next_token()
        ms = (clock() - began) * 1000
        made = generator.token_count() - first
        return Decoded([int(token) for token in generator.get_sequence(0)[len(prompt) :]], ms / made)

    return decode


def transformers(folder: Path, threads: int, k: int, clock: Clock) -> Way:
    """transformers' prompt lookup, in float32 on the CPU."""
    import torch  # noqa: PLC0415 (an optional peer)
    from transformers import AutoModelForCausalLM  # noqa: PLC0415

    torch.set_num_threads(threads)
    model: Any = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()

    def decode(prompt: list[int], count: int) -> Decoded:
        ids = torch.tensor([prompt])
        settings = {"attention_mask": torch.ones_like(ids), "do_sample": False, "prompt_lookup_num_tokens": k}
        with torch.inference_mode():
            began = clock()
            model.generate(ids, max_new_tokens=1, **settings)
            first = clock() - began
            began = clock()
            whole = model.generate(ids, max_new_tokens=count, **settings)[0].tolist()
        # The prompt's pass and the first token are taken off: they were timed alone.
        ms = (clock() - began - first) * 1000
        made = len(whole) - len(prompt) - 1
        return Decoded(whole[len(prompt) :], ms / made)

    return decode


PAIRS = {"plain": "genai plain", "lookup": "genai n-gram", "lookup ": "transformers lookup"}
"""Ours and the peer that it is held against; a space only tells two pairs apart."""


def loaded(args: argparse.Namespace, *, first: bool) -> tuple[Models, dict[str, Way]]:
    """Everything, with ours before the peers or behind them."""
    ways: dict[str, Way] = {}
    clock = CLOCKS[args.clock]
    models = open_models(str(args.folder), Setup(threads=args.threads)) if first else None
    if "genai" in args.peers:
        ways["genai plain"] = genai(args.folder, args.threads, args.k, clock, ngram=False)
        ways["genai n-gram"] = genai(args.folder, args.threads, args.k, clock, ngram=True)
    if args.hf is not None:
        ways["transformers lookup"] = transformers(args.hf, args.threads, args.k, clock)
    models = models or open_models(str(args.folder), Setup(threads=args.threads))
    if "genai" in args.peers:
        ways["plain"] = ours(models, args.k, clock, lookup=False)
    ways["lookup"] = ours(models, args.k, clock, lookup=True)
    if args.huge_pages:
        collapse()
        print(f"{megabytes()} MB are on huge pages", file=sys.stderr)
    return models, ways


def measure(ways: dict[str, Way], prompt: list[int], count: int, repeats: int) -> dict[str, list[Decoded]]:
    """Every way in turn, after one turn that is not counted."""
    made: dict[str, list[Decoded]] = {name: [] for name in ways}
    for turn in range(repeats + 1):
        for name, way in ways.items():
            decoded = way(prompt, count)
            if turn:
                made[name].append(decoded)
    return made


def same(left: list[int], right: list[int], stops: tuple[int, ...]) -> str:
    """Whether two texts agree up to where the shorter one ends, or where they part."""
    texts = [[token for token in text if token not in stops] for text in (left, right)]
    for i, (a, b) in enumerate(zip(*texts, strict=False)):
        if a != b:
            return f"part at {i}"
    return "yes"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--hf", type=Path)
    parser.add_argument("--peers", nargs="*", choices=("genai",), default=["genai"], help="beside transformers")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--tokens", type=int, default=64)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--k", type=int, default=8)
    parser.add_argument("--prompts", nargs="+", choices=PROMPTS, default=list(PROMPTS))
    parser.add_argument("--clock", choices=CLOCKS, default="wall")
    parser.add_argument("--huge-pages", action="store_true")
    args = parser.parse_args()
    if args.clock == "cpu" and args.threads > 1:
        parser.error("--clock cpu adds up the time of all threads: it is for --threads 1")
    turns: dict[bool, dict[str, dict[str, list[Decoded]]]] = {}
    for first in (True, False):
        models, ways = loaded(args, first=first)
        stops, turns[first] = models.stop_tokens, {}
        for name in args.prompts:
            turns[first][name] = measure(
                ways, list(models.tokens_of(PROMPTS[name], chat=True)), args.tokens, args.repeats
            )
        del models, ways
        gc.collect()
    print("| prompt | ours | peer | ours, ms a token | peer's | ratio | ours loaded first, last | same tokens |")
    print("|---|---|---|---|---|---|---|---|")
    for name in args.prompts:
        for mine, peer in PAIRS.items():
            if peer in turns[True][name]:
                print(row(name, mine.strip(), peer, [turns[first][name] for first in (True, False)], stops))


def row(prompt: str, mine: str, peer: str, orders: list[dict[str, list[Decoded]]], stops: tuple[int, ...]) -> str:
    """A line of the table over the turns of both orders."""
    left, right = ([each for order in orders for each in order[name]] for name in (mine, peer))
    ratios = [[b.ms / a.ms for a, b in zip(order[mine], order[peer], strict=True)] for order in orders]
    cells = (
        prompt,
        mine,
        peer,
        f"{statistics.median(each.ms for each in left):.1f}",
        f"{statistics.median(each.ms for each in right):.1f}",
        f"**{statistics.median(each for order in ratios for each in order):.2f}**",
        ", ".join(f"{statistics.median(each):.2f}" for each in ratios),
        same(left[-1].tokens, right[-1].tokens, stops),
    )
    return f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    main()
