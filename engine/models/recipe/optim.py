"""Muon for matrices: momentum whose direction is orthogonalised by a Newton-Schulz iteration (Jordan et al., 2024)."""

from collections import defaultdict
from collections.abc import Iterable

import torch
from torch import Tensor, nn


@torch.compile(dynamic=False)
def orthogonalise(stack: Tensor) -> Tensor:
    """The nearest (semi-)orthogonal matrix of each in ``stack`` ``[count, rows, cols]``, five iterations, in bf16."""
    x = stack.bfloat16()
    tall = x.shape[-2] > x.shape[-1]
    if tall:
        x = x.mT
    x = x / (x.norm(dim=(-2, -1), keepdim=True) + 1e-7)
    for _ in range(5):
        a = x @ x.mT
        x = 3.4445 * x + (-4.7750 * a + 2.0315 * (a @ a)) @ x
    return (x.mT if tall else x).float()


class Muon(torch.optim.Optimizer):
    """Nesterov momentum; equal shapes are orthogonalised in one batch."""

    def __init__(self, params: Iterable[nn.Parameter], lr: float, momentum: float = 0.95, decay: float = 0.0) -> None:
        super().__init__(params, {"lr": lr, "momentum": momentum, "decay": decay})

    @torch.no_grad()
    def step(self, closure: None = None) -> None:  # type: ignore[override]
        for group in self.param_groups:
            by_shape: dict[tuple[int, ...], list[nn.Parameter]] = defaultdict(list)
            for weight in group["params"]:
                by_shape[tuple(weight.shape)].append(weight)
            for (rows, cols), weights in by_shape.items():
                updates = []
                for weight in weights:
                    buffer = self.state[weight].setdefault("momentum", torch.zeros_like(weight))
                    buffer.lerp_(weight.grad, 1 - group["momentum"])
                    updates.append(weight.grad.lerp(buffer, group["momentum"]))
                directions = orthogonalise(torch.stack(updates))
                scale = group["lr"] * max(1.0, rows / cols) ** 0.5
                for weight, direction in zip(weights, directions, strict=True):
                    weight.mul_(1 - group["lr"] * group["decay"]).add_(direction, alpha=-scale)


def optimizers(model: nn.Module, muon_lr: float, adam_lr: float) -> list[torch.optim.Optimizer]:
    """Muon for the matrices, AdamW for embeddings, norms and vectors."""
    trained = [(n, p) for n, p in model.named_parameters() if p.requires_grad]
    matrices = [p for n, p in trained if p.ndim == 2 and "embed" not in n]
    rest = [p for n, p in trained if p.ndim != 2 or "embed" in n]
    return [
        Muon(matrices, muon_lr, decay=0.01),
        torch.optim.AdamW(rest, adam_lr, betas=(0.9, 0.98), weight_decay=0.0, fused=True),
    ]
