"""What the engine costs beside the models: ``python -m benchmarks.overhead``, on a quiet machine.

A round's Python time is its wall time less the time inside onnxruntime, which is measured around every pass of the
base and the drafter. The rounds are those of a live run; plain decode and the drafters take turns in one process on one
thread, and a figure is the median over the repeats. Exit status 1 if the Python time of any is above the limit, as a
share of the time inside onnxruntime, or if the phases do not add up to the wall time.
"""

import argparse
import json
import statistics
import sys
import time
from collections import defaultdict
from pathlib import Path
from typing import Any, NamedTuple

from engine.drafters.drafter import Drafter
from engine.live import LiveRun
from engine.models import bundled
from engine.options import Options
from engine.session import Session

PROMPTS = Path(bundled.__file__).parent / "prompts.json"
PLAIN = "none"
UNACCOUNTED = 0.02
"""The share of the wall time that may lie between the rounds' own phases."""


class Cost(NamedTuple):
    """One run, in milliseconds: all of it, its passes inside onnxruntime, the sum of its phases, and each phase."""

    rounds: int
    tokens: int
    wall: float
    inside: float
    phases: float
    by_phase: dict[str, float]

    @property
    def python(self) -> float:
        """The wall time outside of onnxruntime."""
        return self.wall - self.inside


class Measured:
    """The bundle's base and drafters over sessions that tell how long they were inside onnxruntime."""

    def __init__(self, folder: Path | None) -> None:
        self._inside: list[float] = []
        self.bundle = bundled.open_bundle(folder)
        self.base = bundled.load_base(self.bundle, session=self._session)
        self.drafters: dict[str, Drafter | None] = {PLAIN: None}
        for kind in self.bundle.manifest.drafters:
            self.drafters[kind] = bundled.load_drafter(self.bundle, kind, session=self._session)

    def _session(self, path: Path, *, threads: int) -> Session:
        session = Session(path, threads=threads)
        session.measure(self._inside.append)
        return session

    def run(self, kind: str, prompt: list[int], options: Options, candidates: int) -> Cost:
        """A live run to its end."""
        drafter = self.drafters[kind]
        self.base.rollback(0)
        if drafter is not None:
            drafter.rollback(0)
        live = LiveRun(self.base, drafter, prompt, options, candidates=candidates, plain_samples=0)
        made = []
        self._inside.clear()
        began = time.perf_counter()
        while (round_ := live.step()) is not None:
            made.append(round_)
        wall = time.perf_counter() - began
        by_phase: dict[str, float] = defaultdict(float)
        for round_ in made:
            for phase, ms in (round_.ms or {}).items():
                by_phase[phase] += ms
        tokens = sum(round_.count for round_ in made)
        return Cost(len(made), tokens, wall * 1000, sum(self._inside) * 1000, sum(by_phase.values()), dict(by_phase))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bundle", type=Path)
    parser.add_argument("--domain", default="code")
    parser.add_argument("--k", type=int, default=5)
    parser.add_argument("--tokens", type=int, default=128)
    parser.add_argument("--candidates", type=int, default=5)
    parser.add_argument("--repeats", type=int, default=9)
    parser.add_argument("--limit", type=float, default=0.08)
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    models = Measured(args.bundle)
    text = json.loads(PROMPTS.read_text(encoding="utf-8"))[args.domain][0]["text"]
    prompt = [models.bundle.manifest.start_token, *models.bundle.tokenizer().encode(text)]
    options = Options(k=args.k, max_tokens=args.tokens)
    costs: dict[str, list[Cost]] = {kind: [] for kind in models.drafters}
    for repeat in range(args.repeats + 1):
        for kind, made in costs.items():
            cost = models.run(kind, prompt, options, args.candidates)
            if repeat:  # the first is to warm up
                made.append(cost)
    report = [summary(kind, made) for kind, made in costs.items()]
    print("| drafter | rounds | tokens | ms a round | in onnxruntime | Python | Python share | phases miss |")
    print("|---|---|---|---|---|---|---|---|")
    for row in report:
        print(
            f"| {row['drafter']} | {row['rounds']} | {row['tokens']} | {row['wall_ms']:.3f} | {row['inside_ms']:.3f} "
            f"| {row['python_ms']:.3f} | {100 * row['share']:.1f} % | {100 * row['unaccounted']:.2f} % |"
        )
    if args.json:
        args.json.write_text(json.dumps(report, indent=1))
    held = all(row["share"] <= args.limit and 0 <= row["unaccounted"] <= UNACCOUNTED for row in report)
    return 0 if held else 1


def summary(kind: str, costs: list[Cost]) -> dict[str, Any]:
    """Medians over the repeats; times are milliseconds a round."""

    def median(values: list[float]) -> float:
        return statistics.median(values)

    return {
        "drafter": kind,
        "rounds": costs[0].rounds,
        "tokens": costs[0].tokens,
        "wall_ms": median([cost.wall / cost.rounds for cost in costs]),
        "inside_ms": median([cost.inside / cost.rounds for cost in costs]),
        "python_ms": median([cost.python / cost.rounds for cost in costs]),
        "share": median([cost.python / cost.inside for cost in costs]),
        "unaccounted": median([1 - cost.phases / cost.wall for cost in costs]),
        "phases_ms": {
            phase: median([cost.by_phase.get(phase, 0.0) / cost.rounds for cost in costs])
            for phase in costs[0].by_phase
        },
    }


if __name__ == "__main__":
    sys.exit(main())
