"""How fast a text is found in what a run emitted: CPU time over a whole trace, in tokens a second.

Run ``python -m benchmarks.search [--rounds N] [--folder DIR]``; the trace takes about 600 bytes a round.
"""

import argparse
import tempfile
import time
from pathlib import Path

from benchmarks.trace_speed import make
from engine.trace.reader import open_trace
from tui.search import Search, query, searched

QUERIES = ("7 1", "nowhere", "Nowhere", "größe", "~7 1")


def measure(path: Path, typed: str) -> tuple[float, int, int]:
    """CPU seconds, tokens emitted, matches."""
    with open_trace(path) as trace:
        tokens = int(trace.counts.sum())
        search = Search(query(typed), trace.piece)
    start = time.process_time()
    searched(path, search, lambda: False)
    return time.process_time() - start, tokens, len(search.matches)


def main() -> None:
    """Print one line for each query."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=200_000)
    parser.add_argument("--folder", type=Path, default=None)
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=chosen.folder) as folder:
        path = Path(folder) / "trace.msgpack"
        make(path, chosen.rounds)
        for typed in QUERIES:
            seconds, tokens, matches = measure(path, typed)
            print(f"{typed:10s} {tokens / seconds / 1e6:6.2f} M tokens/s  {matches} matches in {tokens} tokens")


if __name__ == "__main__":
    main()
