"""Train the base: ``python -m engine.models.recipe.train_base --data DIR --out DIR``."""

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


MAIN = [Part(0.55, {"code": 10, "docs": 4, "prose": 2}, 256), Part(1.0, {"code": 5, "docs": 2, "prose": 1}, 512)]
SHOWCASE = [Part(1.0, {"code": 5, "prose": 1, "story": 2}, 512)]


def run_stage(
    model: Base,
    streams: dict[str, NDArray[np.uint16]],
    parts: list[Part],
    minutes: float,
    rates: tuple[float, float],
    seed: int,
    warmup: int,
    hold: float,
) -> dict[str, float]:
    """Train for a wall-clock budget: rates constant for the share ``hold`` of it, then falling to zero."""
    rng = np.random.default_rng(seed)
    opts = optimizers(model, *rates)
    loss_of = torch.compile(model.loss, dynamic=False)
    began, step, seen, smooth = time.time(), 0, 0, float("nan")
    while (done := (time.time() - began) / (minutes * 60)) < 1:
        part = next(part for part in parts if done < part.until)
        factor = min(1.0, (step + 1) / warmup) * min(1.0, (1 - done) / (1 - hold))
        for opt, rate in zip(opts, rates, strict=True):
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
        if step % 250 == 0:
            torch.save(model.state_dict(), "base-now.pt")
    return {"steps": step, "tokens": seen, "minutes": (time.time() - began) / 60}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="holds kjv.txt and the unpacked python3.11-doc")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--minutes", type=float, default=40)
    parser.add_argument("--showcase-minutes", type=float, default=9)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--showcase-only", action="store_true", help="start from the base-main.pt in --out")
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(args.seed)

    docs = documents(args.data)
    if not args.showcase_only:
        train_tokenizer(docs).save(str(args.out / "tokenizer.json"))
    tokenizer = Tokenizer.from_file(str(args.out / "tokenizer.json"))
    data = corpus(docs, tokenizer, args.seed)
    for domain in DOMAINS:
        held = sum(map(len, data.held_out[domain]))
        print(domain, "train tokens", len(data.train[domain]), "held-out tokens", held, flush=True)
        print("   bytes a token", round(data.held_out_bytes[domain] / held, 3), flush=True)

    shape = Shape()
    model = Base(shape)
    print("parameters", sum(p.numel() for p in model.parameters()), flush=True)
    path = args.out / "base.json"
    report = json.loads(path.read_text()) if args.showcase_only else {"seed": args.seed}
    if args.showcase_only:
        model.load_state_dict(torch.load(args.out / "base-main.pt"))
    else:
        report["main"] = run_stage(model, data.train, MAIN, args.minutes, (0.02, 5e-3), args.seed, warmup=50, hold=0.4)
        torch.save(model.state_dict(), args.out / "base-main.pt")
        report["held_out_main"] = held_out(model, data)
        path.write_text(json.dumps(report, indent=1))
    report["showcase"] = run_stage(
        model, data.showcase, SHOWCASE, args.showcase_minutes, (0.01, 2e-3), args.seed + 1, warmup=10, hold=0.0
    )
    torch.save(model.state_dict(), args.out / "base.pt")
    report["held_out"] = held_out(model, data)
    path.write_text(json.dumps(report, indent=1))
    print(json.dumps(report), flush=True)


if __name__ == "__main__":
    main()
