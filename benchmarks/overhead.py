"""What the engine costs beside the models: ``python -m benchmarks.overhead``, on a quiet machine.

A round's Python time is its wall time less the time inside onnxruntime, which is measured around every pass of the
base and the drafter. The rounds are those of a live run; plain decode and the drafters take turns in one process on one
thread. A figure is the median over all rounds of all repeats; the share of the whole time, garbage collection and all,
stands beside it. Exit status 1 if the Python time of any is above the limit, as a share of the time inside onnxruntime,
or if the phases do not add up to the wall time. ``--cpu`` counts processor time instead, for a machine that is busy.
"""

import argparse
import json
import statistics
import sys
import time
from pathlib import Path
from typing import Any, NamedTuple

from engine.drafters.drafter import Drafter
from engine.errors import EngineFault
from engine.live import Clock, LiveRun
from engine.models import bundled
from engine.options import Options
from engine.session import Session

PROMPTS = Path(bundled.__file__).parent / "prompts.json"
PLAIN = "none"
UNACCOUNTED = 0.02
"""The share of the wall time that may lie between the rounds' own phases."""


class Cost(NamedTuple):
    """One round, in milliseconds: all of it, its passes inside onnxruntime, and its phases."""

    wall: float
    inside: float
    phases: dict[str, float]

    @property
    def python(self) -> float:
        """What is not inside onnxruntime."""
        return self.wall - self.inside


class Run(NamedTuple):
    """The rounds of one run, and how many tokens they emitted."""

    rounds: list[Cost]
    tokens: int


class Measured:
    """The bundle's base and drafters over sessions that tell how long they were inside onnxruntime."""

    def __init__(self, folder: Path | None, clock: Clock) -> None:
        self._clock = clock
        self._inside: list[float] = []
        self.bundle = bundled.open_bundle(folder)
        self.base = bundled.load_base(self.bundle, session=self._session)
        self.drafters: dict[str, Drafter | None] = {PLAIN: None}
        for kind in self.bundle.manifest.drafters:
            self.drafters[kind] = bundled.load_drafter(self.bundle, kind, session=self._session)

    def _session(self, path: Path, *, threads: int) -> Session:
        session = Session(path, threads=threads)
        session.measure(self._inside.append, self._clock)
        return session

    def run(self, kind: str, prompt: list[int], options: Options, candidates: int) -> Run:
        """A live run to its end."""
        drafter, clock = self.drafters[kind], self._clock
        self.base.rollback(0)
        if drafter is not None:
            drafter.rollback(0)
        live = LiveRun(self.base, drafter, prompt, options, candidates=candidates, plain_samples=0, clock=clock)
        made, tokens = [], 0
        while not live.done:
            self._inside.clear()
            began = clock()
            round_ = live.step()
            wall = clock() - began
            if round_ is None:
                raise EngineFault(live.events[-1].message)
            made.append(Cost(wall * 1000, sum(self._inside) * 1000, round_.ms or {}))
            tokens += round_.count
        return Run(made, tokens)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bundle", type=Path)
    parser.add_argument("--domain", default="code")
    parser.add_argument("--k", type=int, default=5)
    parser.add_argument("--tokens", type=int, default=128)
    parser.add_argument("--candidates", type=int, default=5)
    parser.add_argument("--repeats", type=int, default=9)
    parser.add_argument("--limit", type=float, default=0.08)
    parser.add_argument("--cpu", action="store_true")
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    models = Measured(args.bundle, time.thread_time if args.cpu else time.perf_counter)
    text = json.loads(PROMPTS.read_text(encoding="utf-8"))[args.domain][0]["text"]
    start = models.bundle.manifest.start_token
    prompt = [*([] if start is None else [start]), *models.bundle.tokenizer().encode(text)]
    options = Options(k=args.k, max_tokens=args.tokens)
    costs: dict[str, list[Run]] = {kind: [] for kind in models.drafters}
    for repeat in range(args.repeats + 1):
        for kind, made in costs.items():
            cost = models.run(kind, prompt, options, args.candidates)
            if repeat:  # the first is to warm up
                made.append(cost)
    report = [summary(kind, made) for kind, made in costs.items()]
    print("| drafter | rounds | tokens | ms a round | in onnxruntime | Python | Python share | of all | phases miss |")
    print("|---|---|---|---|---|---|---|---|---|")
    for row in report:
        print(
            f"| {row['drafter']} | {row['rounds']} | {row['tokens']} | {row['wall_ms']:.3f} | {row['inside_ms']:.3f} "
            f"| {row['python_ms']:.3f} | {100 * row['share']:.1f} % | {100 * row['whole_share']:.1f} % "
            f"| {100 * row['unaccounted']:.2f} % |"
        )
    if args.json:
        args.json.write_text(json.dumps(report, indent=1))
    held = all(row["share"] <= args.limit and 0 <= row["unaccounted"] <= UNACCOUNTED for row in report)
    return 0 if held else 1


def summary(kind: str, runs: list[Run]) -> dict[str, Any]:
    """Medians over the rounds of all runs, in milliseconds; ``whole_share`` and ``unaccounted`` are of all together."""
    rounds = [cost for run in runs for cost in run.rounds]
    inside, python = (statistics.median(values) for values in zip(*((c.inside, c.python) for c in rounds), strict=True))
    wall = sum(cost.wall for cost in rounds)
    return {
        "drafter": kind,
        "rounds": len(runs[0].rounds),
        "tokens": runs[0].tokens,
        "wall_ms": statistics.median(cost.wall for cost in rounds),
        "inside_ms": inside,
        "python_ms": python,
        "share": python / inside,
        "whole_share": sum(cost.python for cost in rounds) / sum(cost.inside for cost in rounds),
        "unaccounted": 1 - sum(sum(cost.phases.values()) for cost in rounds) / wall,
        "phases_ms": {
            phase: statistics.median(cost.phases.get(phase, 0.0) for cost in rounds) for phase in rounds[0].phases
        },
    }


if __name__ == "__main__":
    sys.exit(main())
