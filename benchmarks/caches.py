"""What it costs to keep keys and values: bound buffers against arrays that go in and come out, on a folder's graph.

    python benchmarks/caches.py FOLDER [--context 256] [--steps 16]

Each way decodes by single steps, and by passes of 4 rows of which 2 are taken back. Medians of the processor's
milliseconds a pass (not the clock's, which other work on the machine would lengthen), the ways in turns.
"""

import argparse
import statistics
import time
from pathlib import Path

from engine.base.arrays import ArrayPasses, known_state
from engine.base.bound import BoundPasses
from engine.base.kv import SharedKeyValues, TurnedKeyValues
from engine.base.passes import Passes
from engine.folders.first_try import SHARES
from engine.folders.graph import vocabulary_of, wiring_of
from engine.folders.layout import model_folder
from engine.session import Session


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--context", type=int, default=256, help="positions before the first pass")
    parser.add_argument("--steps", type=int, default=16)
    parser.add_argument("--threads", type=int, default=1)
    arguments = parser.parse_args()
    where = model_folder(arguments.folder)
    session = Session(where.graph, threads=arguments.threads)
    wiring = wiring_of(session, where.facts)
    sizes = {"logits": vocabulary_of(session, wiring, where.facts)}
    sizes |= {ours: session.size(name) for ours, name in wiring.features.items()}
    tensors = known_state(session, wiring)
    ways: dict[str, Passes] = {"arrays": ArrayPasses(session, wiring)}
    for kind in (TurnedKeyValues, SharedKeyValues):
        if kind is SharedKeyValues and SHARES not in (session.operators() or ()):
            continue
        ways[kind.kind] = BoundPasses(session, wiring, kind(tensors), sizes)
    prompt = [i % 1000 for i in range(arguments.context)]
    for passes in ways.values():
        passes.run(prompt, 0, 1, 0)
    single: dict[str, list[float]] = {name: [] for name in ways}
    several: dict[str, list[float]] = {name: [] for name in ways}
    at = arguments.context
    for i in range(arguments.steps):
        for name, passes in ways.items():
            took = _timed(passes, [i], at)
            again = _timed(passes, [i + j for j in range(4)], at + 1)
            passes.cut(at + 3)
            if i:
                single[name].append(took)
                several[name].append(again)
        at += 3
    for name in ways:
        one, four = statistics.median(single[name]), statistics.median(several[name])
        print(f"{name:32} one row {one:7.1f} ms   four rows, two taken back {four:7.1f} ms")


def _timed(passes: Passes, tokens: list[int], at: int) -> float:
    began = time.process_time()
    passes.run(tokens, at, len(tokens), 0)
    return (time.process_time() - began) * 1000


if __name__ == "__main__":
    main()
