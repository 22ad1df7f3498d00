"""What the screen costs over a trace of a million rounds: first paint, step, jump, run to a breakpoint, memory.

Run ``python -m benchmarks.screen [--rounds N] [--folder DIR] [--trace FILE]``; the trace takes about 600 bytes a round.
Times are CPU times of the thread that paints, medians where there are many; the first paint also as wall time, which a
busy machine stretches.
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
from collections.abc import Callable
from pathlib import Path

from benchmarks.trace_speed import make
from engine.conditions import Condition
from engine.conditions.scan import Scan
from engine.trace.reader import open_trace

SIZE = (120, 40)
JUMPS = 50
CONDITIONS = ("take == 0 and pos > 1e9", "gap < 0", "ms.verify > 20 and known gap", "mean < bar", 'text contains "no"')
PAINTED = b"round "
"""What stands in the header once a round is shown."""


def first_paint(path: Path) -> tuple[float, float]:
    """Seconds from the start of a process to the first picture with a round in it: on the wall, and of CPU."""
    began = time.perf_counter()
    pid, terminal = pty.fork()
    if pid == 0:
        os.environ.update(TERM="xterm-256color", COLUMNS=str(SIZE[0]), LINES=str(SIZE[1]))
        os.execv(sys.executable, [sys.executable, "-c", "from tui.command import main; main()", str(path)])
    seen = b""
    while PAINTED not in seen:
        ready, _, _ = select.select([terminal], [], [], 60)
        if not ready:
            raise SystemExit("nothing was painted for a minute")
        seen += os.read(terminal, 1 << 16)
    wall, spent = time.perf_counter() - began, _cpu(pid)
    os.kill(pid, 9)
    os.waitpid(pid, 0)
    os.close(terminal)
    return wall, spent


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
        wall, spent = min(first_paint(path) for _ in range(3))
        print(f"first paint              {spent:8.2f} s of CPU, {wall:.2f} s on the wall")
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
