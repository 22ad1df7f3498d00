"""Train one drafter on what the base wrote: ``python -m engine.models.recipe.train_drafters --drafter mtp --out DIR``.

Loss: cross-entropy to the base at the predicted position, half to its distribution and half to its best token (what
greedy decoding will compare with); later positions weighted less.
"""

import argparse
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from engine.models.recipe.drafter_nets import MTP, DFlash, DFlash2
from engine.models.recipe.optim import optimizers
from engine.models.recipe.qwen3 import Base, Shape

DEPTH = 5


class Text(NamedTuple):
    """What the base wrote, with its hidden states and taps (bfloat16), ``[sequences, n, ...]``."""

    tokens: Tensor
    hidden: Tensor
    taps: Tensor


@torch.no_grad()
def read_text(model: Base, path: Path) -> Text:
    """Run the base over its own text once, and keep what the drafters read of it."""
    tokens = torch.from_numpy(np.load(path).astype(np.int64))
    hidden, taps = [], []
    for part in tokens.split(16):
        with torch.autocast("cpu", torch.bfloat16):
            states, tapped = model.hidden_and_taps(part)
        hidden.append(states.bfloat16())
        taps.append(tapped.bfloat16())
    return Text(tokens, torch.cat(hidden), torch.cat(taps))


def soft_cross_entropy(base: Base, hidden: Tensor, target_hidden: Tensor) -> tuple[Tensor, Tensor]:
    """Cross-entropy of the drafter's rows to the base's, and whether the argmax is equal, ``[rows]`` each."""
    target_logits = base.logits(target_hidden).float()
    logits = base.logits(hidden).float()
    best = target_logits.argmax(-1, keepdim=True)
    log_q = torch.log_softmax(logits, -1)
    soft = -(torch.softmax(target_logits, -1) * log_q).sum(-1)
    hard = -log_q.gather(-1, best)[..., 0]
    return (soft + hard) / 2, (logits.argmax(-1) == best[..., 0]).float()


def mtp_loss(
    base: Base, net: MTP, tokens: Tensor, hidden: Tensor, taps: Tensor, anchors: Tensor
) -> tuple[Tensor, Tensor]:
    """Mean loss over a random half of the anchors, and the agreement at each of ``DEPTH`` steps."""
    n = tokens.shape[1] - DEPTH
    embeds = base.embed_tokens(tokens[:, 1:])
    outputs = net.unrolled(embeds, hidden[:, :n], DEPTH)
    total = hidden.new_zeros((), dtype=torch.float32)
    agreed, weight = [], 0.0
    for step, output in enumerate(outputs):
        loss, equal = soft_cross_entropy(base, output[:, anchors], hidden[:, 1 + step + anchors])
        total = total + 0.85**step * loss.mean()
        weight += 0.85**step
        agreed.append(equal.mean())
    return total / weight, torch.stack(agreed)


def dflash_loss(
    base: Base, net: DFlash, tokens: Tensor, hidden: Tensor, taps: Tensor, anchors: Tensor
) -> tuple[Tensor, Tensor]:
    """Mean loss over blocks at ``anchors``, weighted exp(-(i - 1) / 4) at row i, and the agreement at each row."""
    size = net.shape.block_size
    outputs = net.blocks(taps, base.embed_tokens(tokens[:, anchors]), anchors)[:, :, 1:]
    before = anchors[:, None] + torch.arange(size - 1)
    loss, equal = soft_cross_entropy(base, outputs, hidden[:, before])
    weights = torch.exp(-torch.arange(size - 1) / 4.0)
    return (loss.mean((0, 1)) * weights).sum() / weights.sum(), equal.mean((0, 1))


def dflash2_loss(
    base: Base, net: DFlash2, tokens: Tensor, hidden: Tensor, taps: Tensor, anchors: Tensor
) -> tuple[Tensor, Tensor]:
    """The DFlash loss plus that of the selector over the row's best candidates, after the text's own token before.

    The agreement is that of the selector's choice.
    """
    size, top = net.shape.block_size, net.shape.selector_top
    outputs = net.blocks(taps, base.embed_tokens(tokens[:, anchors]), anchors)[:, :, 1:]
    before = anchors[:, None] + torch.arange(size - 1)
    target_logits = base.logits(hidden[:, before]).float()
    logits = base.logits(outputs).float()
    target = torch.softmax(target_logits, -1)
    best = target_logits.argmax(-1, keepdim=True)
    log_q = torch.log_softmax(logits, -1)
    unary = (-(target * log_q).sum(-1) - log_q.gather(-1, best)[..., 0]) / 2
    candidates = logits.topk(top, -1).indices
    scores = net.scores(outputs, logits, candidates, tokens[:, before]).float()
    wanted = (target.gather(-1, candidates) + (candidates == best)) / 2
    selector = -(wanted * torch.log_softmax(scores, -1)).sum(-1)
    chosen = candidates.gather(-1, scores.argmax(-1, keepdim=True))[..., 0]
    weights = torch.exp(-torch.arange(size - 1) / 4.0)
    loss = ((unary + selector).mean((0, 1)) * weights).sum() / weights.sum()
    return loss, (chosen == best[..., 0]).float().mean((0, 1))


Loss = Callable[[Base, nn.Module, Tensor, Tensor, Tensor, Tensor], tuple[Tensor, Tensor]]


class Kind(NamedTuple):
    """A drafter's network, its loss, and how many anchors of each sequence a step takes."""

    net: type[nn.Module]
    loss: Loss
    anchors: int


KINDS = {
    "mtp": Kind(MTP, mtp_loss, 192),
    "dflash": Kind(DFlash, dflash_loss, 64),
    "dflash2": Kind(DFlash2, dflash2_loss, 64),
}


def train(
    base: Base, net: nn.Module, loss_of: Loss, text: Text, count: int, args: argparse.Namespace
) -> dict[str, object]:
    """Train ``net`` for ``args.steps``; ``count`` anchors of each sequence a step."""
    rng = np.random.default_rng(args.seed)
    rates = (args.muon_lr, args.adam_lr)
    opts = optimizers(net, *rates)
    compiled = torch.compile(loss_of, dynamic=False)
    n = text.tokens.shape[1]
    began, step = time.time(), 0
    smooth, agreement = 0.0, torch.zeros(0)
    while step < args.steps:
        left = 1 - step / args.steps
        factor = min(1.0, (step + 1) / 30) * (1.0 if left >= 1 - args.hold else left / (1 - args.hold))
        for opt, rate in zip(opts, rates, strict=True):
            for group in opt.param_groups:
                group["lr"] = rate * factor
        rows = torch.from_numpy(rng.choice(len(text.tokens), args.batch, replace=False))
        anchors = torch.from_numpy(np.sort(rng.choice(np.arange(16, n - 8), count, replace=False)))
        with torch.autocast("cpu", torch.bfloat16):
            loss, equal = compiled(base, net, text.tokens[rows], text.hidden[rows], text.taps[rows], anchors)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        for opt in opts:
            opt.step()
            opt.zero_grad(set_to_none=True)
        value = float(loss.detach())
        smooth = value if step == 0 else 0.95 * smooth + 0.05 * value
        agreement = equal if step == 0 else 0.95 * agreement + 0.05 * equal
        step += 1
        if step % 50 == 0 or step == 3:
            reach = 1 + float(torch.cumprod(agreement, 0)[:3].sum())
            rounded = [round(float(a), 3) for a in agreement]
            took = (time.time() - began) / 60
            print(f"step {step} loss {smooth:.4f} agree {rounded} k=3 about {reach:.2f} {took:.1f} min", flush=True)
        if step % 200 == 0:
            torch.save(net.state_dict(), args.out / f"{args.drafter}.pt")
    torch.save(net.state_dict(), args.out / f"{args.drafter}.pt")
    return {
        "steps": step,
        "minutes": (time.time() - began) / 60,
        "loss": smooth,
        "agreement": [float(a) for a in agreement],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True, help="holds base.pt and text.npy; DRAFTER.pt is written")
    parser.add_argument("--drafter", choices=tuple(KINDS), required=True)
    parser.add_argument("--steps", type=int, default=1500)
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--muon-lr", type=float, default=0.02)
    parser.add_argument("--adam-lr", type=float, default=2e-3)
    parser.add_argument("--hold", type=float, default=0.4, help="the share of the steps before the rates fall to zero")
    parser.add_argument("--seed", type=int, default=13)
    parser.add_argument("--resume", action="store_true", help="go on from DRAFTER.pt, with rates that start anew")
    args = parser.parse_args()
    torch.manual_seed(args.seed)
    shape = Shape()
    base = Base(shape)
    base.load_state_dict(torch.load(args.out / "base.pt"))
    base.requires_grad_(False)
    text = read_text(base, args.out / "text.npy")
    print("text", tuple(text.tokens.shape), flush=True)
    kind = KINDS[args.drafter]
    net = kind.net(shape)
    if args.resume:
        net.load_state_dict(torch.load(args.out / f"{args.drafter}.pt"))
    report = train(base, net, kind.loss, text, kind.anchors, args)
    (args.out / f"{args.drafter}.json").write_text(json.dumps(report, indent=1))


if __name__ == "__main__":
    main()
