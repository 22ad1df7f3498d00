"""What the screen costs: its start, and over a trace of a million rounds step, jump, run to a breakpoint, memory.

Run ``python -m benchmarks.screen [--rounds N] [--folder DIR] [--trace FILE]``; the trace takes about 600 bytes a round.
Times are CPU times of the thread that paints, medians where there are many; of the start the CPU time of the process,
from its very beginning to a picture with a round in it, and wall time, which a busy machine stretches.
"""

import argparse
import asyncio
import json
import os
import pty
import random
import re
import select
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from benchmarks.trace_speed import make
from engine.conditions import Condition
from engine.conditions.scan import Scan
from engine.trace.reader import open_trace

SIZE = (120, 40)
JUMPS = 50
CONDITIONS = ("take == 0 and pos > 1e9", "gap < 0", "ms.verify > 20 and known gap", "mean < bar", 'text contains "no"')
STARTS = 5
ENTRY = "from tui.command import main; main()"


class Cost(NamedTuple):
    """Seconds since a process was started: of its CPU, and on the wall."""

    cpu: float
    wall: float


class Awaited(NamedTuple):
    """A text of the screen, and the keys that are pressed once it is there."""

    text: bytes
    keys: bytes = b""


ROUND = (Awaited(" · token ".encode()),)
"""Stands in the header once a round is shown."""
LIVE = (Awaited(b"gives it up"), Awaited(b"no round yet", b"n"), *ROUND)
"""A live run: what it waits for, then that it may be stepped, then its first round."""


def start(words: Sequence[str], awaited: Sequence[Awaited], environ: Mapping[str, str]) -> list[Cost]:
    """Start the screen in a terminal of its own; what each of the awaited texts has cost when it was painted."""
    began = time.perf_counter()
    pid, terminal = pty.fork()
    if pid == 0:
        size = {"TERM": "xterm-256color", "COLUMNS": str(SIZE[0]), "LINES": str(SIZE[1])}
        os.execve(sys.executable, [sys.executable, "-c", ENTRY, *words], {**environ, **size})
    costs, seen = [], b""
    for text, keys in awaited:
        while text not in seen:
            ready, _, _ = select.select([terminal], [], [], 60)
            if not ready:
                raise SystemExit(f"{text!r} was not painted for a minute")
            seen += os.read(terminal, 1 << 16)
        costs.append(Cost(_cpu(pid), time.perf_counter() - began))
        seen = b""
        os.write(terminal, keys)
    os.kill(pid, 9)
    os.waitpid(pid, 0)
    os.close(terminal)
    return costs


def starts(words: Sequence[str], awaited: Sequence[Awaited], environ: Mapping[str, str]) -> list[Cost]:
    """The medians of several starts."""
    start(words, awaited, environ)
    runs = [start(words, awaited, environ) for _ in range(STARTS)]
    return [
        Cost(*(statistics.median(values) for values in zip(*costs, strict=True))) for costs in zip(*runs, strict=True)
    ]


def print_starts(path: Path, folder: Path) -> None:
    """The start over a trace, byte-compiled as an installed package is and from source; through Typer; and live."""
    state = {"XDG_STATE_HOME": str(folder / "state"), "XDG_CONFIG_HOME": str(folder / "config")}
    source = {**os.environ, **state, "PYTHONDONTWRITEBYTECODE": "1"}
    compiled = {**os.environ, **state, "PYTHONPYCACHEPREFIX": str(folder / "compiled")}
    compiled.pop("PYTHONDONTWRITEBYTECODE", None)
    waiting, opened, first = starts((), LIVE, compiled)
    for name, cost in (
        ("first paint", starts((str(path),), ROUND, compiled)[0]),
        ("first paint, an option", starts(("--theme", "specstep-light", str(path)), ROUND, compiled)[0]),
        ("first paint, from source", starts((str(path),), ROUND, source)[0]),
        ("live: first paint", waiting),
        ("live: model loaded", opened),
        ("live: first round", first),
    ):
        print(f"{name:24s} {cost.cpu:8.2f} s of the screen's CPU, {cost.wall:.2f} s on the wall")


def _cpu(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def rounds_a_second(path: Path, condition: str, limit: int) -> float:
    """How many rounds of a trace are held against a condition in a second."""
    with open_trace(path) as trace:
        scan = Scan(trace, Condition(condition))
        start = time.process_time()
        while scan.seen < limit and scan.advance(1024):
            pass
        return scan.seen / (time.process_time() - start)


async def inside(path: Path) -> dict[str, float]:
    """In a process of its own: milliseconds of a step and of a jump with all painted again, and megabytes held."""
    from tui.app import SpecstepApp  # noqa: PLC0415 (its memory counts)
    from tui.marks import UNICODE  # noqa: PLC0415
    from tui.screens.main import MainScreen  # noqa: PLC0415
    from tui.session import Session  # noqa: PLC0415

    app = SpecstepApp(lambda: open_trace(path), UNICODE, waiting="opening")
    async with app.run_test(size=SIZE):
        main = app.screen
        assert isinstance(main, MainScreen)
        while main.session is None:
            await asyncio.sleep(0.01)
        session = main.session
        rng, last = random.Random(3), session.last

        def timed(change: Callable[[Session], object]) -> float:
            start = time.thread_time()
            main.move(lambda session, _: change(session))
            app.screen._compositor.render_strips()
            return (time.thread_time() - start) * 1e3

        early = [timed(lambda session: session.jump(rng.randrange(last))) for _ in range(JUMPS)]
        start, before = time.thread_time(), len(session.series)
        while session.series.take_in(4096):
            pass
        read = (time.thread_time() - start) / (len(session.series) - before)
        jumps = [timed(lambda session: session.jump(rng.randrange(last))) for _ in range(JUMPS)]
        steps = [timed(lambda session: session.forward()) for _ in range(JUMPS)]
        held = int(re.findall(r"VmHWM:\s+(\d+)", Path("/proc/self/status").read_text())[0]) / 1024
        return {
            "jump before all is read": statistics.median(early),
            "jump": statistics.median(jumps),
            "jump, the slowest": max(jumps),
            "step": statistics.median(steps),
            "reading": read * 1e6,
            "memory": held,
        }


def main() -> None:
    """Print one line for each cost."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=1_000_000)
    parser.add_argument("--folder", type=Path, default=None)
    parser.add_argument("--trace", type=Path, default=None, help="Measure over this one instead of making one.")
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.inside:
        print(json.dumps(asyncio.run(inside(chosen.trace))))
        return
    with tempfile.TemporaryDirectory(dir=chosen.folder) as folder:
        path = chosen.trace or Path(folder) / "trace.msgpack"
        if chosen.trace is None:
            make(path, chosen.rounds)
        print_starts(path, Path(folder))
        for condition in CONDITIONS:
            rate = rounds_a_second(path, condition, 200_000)
            print(f"to a breakpoint          {rate:8.0f} rounds a second, {condition}")
        run = [sys.executable, "-m", "benchmarks.screen", "--inside", "--trace", str(path)]
        figures = json.loads(subprocess.run(run, capture_output=True, text=True, check=True).stdout)
        for name, unit in (
            ("step", "ms"),
            ("jump", "ms"),
            ("jump, the slowest", "ms"),
            ("jump before all is read", "ms"),
        ):
            print(f"{name:24s} {figures[name]:8.1f} {unit}, all painted again at {SIZE[0]}x{SIZE[1]}")
        print(f"reading                  {figures['reading']:8.1f} us a round, in the background")
        print(f"memory                   {figures['memory']:8.0f} MB, the whole process")


if __name__ == "__main__":
    main()
