"""Train the base, a stage at a time: ``python -m engine.models.recipe.train_base --stage main ...``."""

import argparse
import json
import math
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from tokenizers import Tokenizer
from torch import Tensor

from engine.models.recipe.data import DOMAINS, Corpus, corpus, documents, train_tokenizer
from engine.models.recipe.optim import optimizers
from engine.models.recipe.qwen3 import Base, Shape


def batch(
    streams: dict[str, NDArray[np.uint16]], shares: dict[str, int], length: int, rng: np.random.Generator
) -> Tensor:
    """``sum(shares)`` random windows of ``length + 1`` tokens, so many from each stream."""
    rows = []
    for domain, count in shares.items():
        stream = streams[domain]
        starts = rng.integers(0, len(stream) - length - 1, count)
        rows += [stream[start : start + length + 1].astype(np.int64) for start in starts]
    return torch.from_numpy(np.stack(rows))


@torch.no_grad()
def held_out(model: Base, data: Corpus, length: int = 512, limit: int = 120) -> dict[str, dict[str, float]]:
    """Perplexity by token and bits per byte of each domain's held-out documents, windows of ``length`` tokens."""
    report = {}
    model.eval()
    for domain in DOMAINS:
        windows = [
            doc[start : start + length + 1] for doc in data.held_out[domain] for start in range(0, len(doc) - 1, length)
        ]
        tokens = sum(len(doc) - 1 for doc in data.held_out[domain])
        step = max(1, len(windows) // limit)
        nats = count = 0.0
        with torch.autocast("cpu", torch.bfloat16):
            for window in windows[::step]:
                ids = torch.from_numpy(window.astype(np.int64))[None]
                nats += float(model.loss(ids)) * (len(window) - 1)
                count += len(window) - 1
        mean = nats / count
        bits = mean / math.log(2) * tokens / data.held_out_bytes[domain]
        report[domain] = {"perplexity": round(math.exp(mean), 2), "bits_per_byte": round(bits, 4)}
    model.train()
    return report


class Part(NamedTuple):
    """A stretch of a stage: ``rows`` windows of ``length`` tokens a step until the share ``until`` of its time."""

    until: float
    rows: dict[str, int]
    length: int


class Stage(NamedTuple):
    """Where it starts from and writes to, its parts, the rates of Muon and AdamW, and when they start to fall."""

    source: str | None
    target: str
    parts: list[Part]
    rates: tuple[float, float]
    warmup: int
    hold: float


LONG = Part(1.0, {"code": 5, "docs": 2, "prose": 1}, 512)
STAGES = {
    "main": Stage(
        None, "base-main.pt", [Part(0.55, {"code": 10, "docs": 4, "prose": 2}, 256), LONG], (0.02, 5e-3), 50, 0.4
    ),
    "more": Stage("base-main.pt", "base-main.pt", [LONG], (0.012, 2.5e-3), 20, 0.1),
    "showcase": Stage(
        "base-main.pt",
        "base.pt",
        [Part(1.0, {"code": 4, "heart": 2, "prose": 1, "story": 1}, 512)],
        (0.01, 2e-3),
        10,
        0.0,
    ),
}


def run_stage(
    model: Base, streams: dict[str, NDArray[np.uint16]], stage: Stage, minutes: float, seed: int
) -> dict[str, float]:
    """Train for a wall-clock budget: rates constant for the share ``hold`` of it, then falling to zero."""
    rng = np.random.default_rng(seed)
    opts = optimizers(model, *stage.rates)
    loss_of = torch.compile(model.loss, dynamic=False)
    began, step, seen, smooth = time.time(), 0, 0, float("nan")
    while (done := (time.time() - began) / (minutes * 60)) < 1:
        part = next(part for part in stage.parts if done < part.until)
        factor = min(1.0, (step + 1) / stage.warmup) * min(1.0, (1 - done) / (1 - stage.hold))
        for opt, rate in zip(opts, stage.rates, strict=True):
            for group in opt.param_groups:
                group["lr"] = rate * factor
        tokens = batch(streams, part.rows, part.length, rng)
        with torch.autocast("cpu", torch.bfloat16):
            loss = loss_of(tokens)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        for opt in opts:
            opt.step()
            opt.zero_grad(set_to_none=True)
        value = float(loss.detach())
        smooth = value if math.isnan(smooth) else 0.95 * smooth + 0.05 * value
        step += 1
        seen += tokens.shape[0] * part.length
        if step % 50 == 0 or step == 5:
            took = time.time() - began
            print(f"step {step} loss {smooth:.4f} tokens {seen} {seen / took:.0f}/s {took / 60:.1f} min", flush=True)
    return {"steps": step, "tokens": seen, "minutes": (time.time() - began) / 60}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--stage", choices=tuple(STAGES), required=True)
    parser.add_argument("--data", type=Path, required=True, help="holds kjv.txt and the unpacked python3.11-doc")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--minutes", type=float, required=True)
    parser.add_argument("--seed", type=int, default=7)
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(args.seed)
    stage = STAGES[args.stage]

    docs = documents(args.data)
    if stage.source is None:
        train_tokenizer(docs).save(str(args.out / "tokenizer.json"))
    data = corpus(docs, Tokenizer.from_file(str(args.out / "tokenizer.json")), args.seed)
    for domain in DOMAINS:
        held = sum(map(len, data.held_out[domain]))
        print(domain, "train tokens", len(data.train[domain]), "held-out tokens", held, flush=True)
        print("   bytes a token", round(data.held_out_bytes[domain] / held, 3), flush=True)
    model = Base(Shape())
    print("parameters", sum(p.numel() for p in model.parameters()), flush=True)
    if stage.source is not None:
        model.load_state_dict(torch.load(args.out / stage.source))
    streams = data.showcase if args.stage == "showcase" else data.train
    seed = args.seed + list(STAGES).index(args.stage)
    report = {"stage": args.stage, "seed": seed, **run_stage(model, streams, stage, args.minutes, seed)}
    torch.save(model.state_dict(), args.out / stage.target)
    report["held_out"] = held_out(model, data)
    print(json.dumps(report), flush=True)
    (args.out / f"{args.stage}.json").write_text(json.dumps(report, indent=1))


if __name__ == "__main__":
    main()
