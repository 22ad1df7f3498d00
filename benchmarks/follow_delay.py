"""How late a record of a growing trace is seen: ``python -m benchmarks.follow_delay [--records N]``.

A process writes a record every few milliseconds, stamped with the time, to a file and to a pipe, which are followed as
``specstep watch`` does. Exit status 1 if any record was seen more than 0.3 s after it was written, or not at all.
"""

import argparse
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path

from engine.records import BaseInfo, End, Event, Header
from engine.trace.follow import follow
from engine.trace.writer import TraceWriter

LIMIT = 0.3
SLOWEST = 0.08
"""Seconds between two records, at most."""

ROOT = Path(__file__).parents[1]


def write(target: Path | None, records: int) -> None:
    """Write a trace to a file, or to stdout."""
    rng = random.Random(1)
    with TraceWriter(sys.stdout.buffer if target is None else target) as writer:
        writer.write(Header(version=1, minor=0, base=BaseInfo(name="bench", vocab_size=0)))
        for _ in range(records):
            time.sleep(rng.uniform(0, SLOWEST))
            writer.write(Event(code="at", message=repr(time.time())))
        writer.write(End(reason="max_tokens"))


def delays(seen: Iterable[object]) -> list[float]:
    """How long after its stamp each record came, in seconds."""
    return [time.time() - float(record.message) for record in seen if isinstance(record, Event)]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=int, default=500)
    parser.add_argument("--write", help="for the writing process: the file, or - for stdout")
    args = parser.parse_args()
    if args.write is not None:
        write(None if args.write == "-" else Path(args.write), args.records)
        return 0
    writer = [sys.executable, "-m", "benchmarks.follow_delay", "--records", str(args.records), "--write"]
    held = True
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run.msgpack"
        path.touch()
        with subprocess.Popen([*writer, str(path)], cwd=ROOT):
            by_file = delays(follow(path))
        with subprocess.Popen([*writer, "-"], cwd=ROOT, stdout=subprocess.PIPE, bufsize=0) as process:
            assert process.stdout is not None
            by_pipe = delays(follow(process.stdout))  # type: ignore[arg-type]
    for name, late in (("file", by_file), ("pipe", by_pipe)):
        over = sum(delay > LIMIT for delay in late)
        print(
            f"{name}: {len(late)} records, median {statistics.median(late) * 1e3:.0f} ms, latest "
            f"{max(late) * 1e3:.0f} ms, {over} later than {LIMIT * 1e3:.0f} ms"
        )
        held = held and over == 0 and len(late) == args.records
    return 0 if held else 1


if __name__ == "__main__":
    sys.exit(main())
