"""What a trace of a million rounds costs to write, open, scan, jump in, audit and count: CPU times (medians), memory.

Run ``python -m benchmarks.trace_speed [--rounds N] [--folder DIR]``; the trace takes about 600 bytes a round.
Beside the audit stands what msgpack alone takes to make maps of the same file, in turn with it.
"""

import argparse
import os
import random
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections import deque
from collections.abc import Callable
from pathlib import Path

import msgpack

from engine.commands.stats import figures_of
from engine.commands.whatif import read
from engine.compare import align
from engine.compare import report as compared
from engine.records import BaseInfo, DrafterInfo, End, Header, Prefill, Round, Window
from engine.trace.audit import report
from engine.trace.framing import TRAILER_SIZE
from engine.trace.reader import Trace, open_trace
from engine.trace.writer import TraceWriter

REPEATS = 5
K = 7
WINDOW = 3
VOCAB = 50_000


def make(path: Path, rounds: int) -> list[float]:
    """Write the trace; the CPU time of ``write`` in microseconds a round, for each tenth of it."""
    rng = random.Random(1)
    ids = [rng.randrange(VOCAB) for _ in range(4096)]
    chances = [rng.random() for _ in range(4096)]
    costs: list[float] = []
    spent, pos, t1, emitted = 0.0, 16, 1, 0
    window: deque[int] = deque(maxlen=WINDOW)
    with TraceWriter(path) as writer:
        writer.pieces(lambda token: b" %d" % token)
        base, drafter = BaseInfo(name="bench", vocab_size=VOCAB), DrafterInfo(kind="scripted", name="bench")
        options = {"form": "one-pass", "k": K, "fallback_below": 1.5, "fallback_window": WINDOW}
        prompt = tuple(range(16))
        writer.write(Header(version=1, minor=0, base=base, drafter=drafter, options=options, prompt=prompt))
        writer.write(Prefill(positions=16, next=t1, ms=1.0))
        for index in range(rounds):
            at, take = rng.randrange(4000), index % (K + 1)
            targets, floats = tuple(ids[at : at + K + 1]), tuple(chances[at : at + K + 1])
            drafts = (*targets[:take], *ids[at + 20 : at + 20 + K - take])
            window.append(take + 1)
            round_ = Round(
                index=index, form="one-pass", pos=pos, t1=t1, limit=K, drafts=drafts, targets=targets, take=take,
                emitted=(t1, *drafts[:take]), next=targets[take], consumed=pos + take + 1, draft_p=floats[:K],
                target_p=floats, accept_p=floats[:K], gap=floats, width=K + 1,
                fallback=Window(window=tuple(window), mean=sum(window) / len(window), off=False),
                ms={"draft": 1.1, "verify": 4.2, "accept": 0.05, "rollback": 0.04},
            )  # fmt: skip
            start = time.process_time()
            writer.write(round_)
            spent += time.process_time() - start
            pos, t1, emitted = pos + take + 1, targets[take], emitted + take + 1
            if (index + 1) % max(1, rounds // 10) == 0:
                costs.append(spent / max(1, rounds // 10) * 1e6)
                spent = 0.0
        writer.write(End(reason="max_tokens", rounds=rounds, emitted=emitted))
    return costs


def median_ms(act: Callable[[], object], repeats: int = REPEATS) -> float:
    """The median CPU time of ``act`` in milliseconds."""
    times = []
    for _ in range(repeats):
        start = time.process_time()
        act()
        times.append((time.process_time() - start) * 1e3)
    return statistics.median(times)


def audit_and_unpack(path: Path) -> tuple[float, float]:
    """The median CPU times of an audit and of stock msgpack over the whole file, in milliseconds, taken in turn."""

    def audited() -> None:
        with open_trace(path) as trace:
            assert not report(trace).findings

    def unpacked() -> None:
        with path.open("rb") as file:
            for _ in msgpack.Unpacker(file, strict_map_key=False, max_buffer_size=2**30):
                pass

    times = [(median_ms(audited, 1), median_ms(unpacked, 1)) for _ in range(REPEATS)]
    return statistics.median(time[0] for time in times), statistics.median(time[1] for time in times)


def peak_mb(path: Path, *, act: str) -> float:
    """The peak memory of a fresh process that opens ``path`` and does ``act``, over one that only imports."""
    script = (
        "import random, re, sys\nfrom pathlib import Path\nfrom engine.trace.reader import open_trace\n"
        "from engine.trace.audit import report\nfrom engine.commands.stats import figures_of\n"
        "def peak(): return int(re.search(r'VmHWM:\\s+(\\d+)', Path('/proc/self/status').read_text())[1])\n"
        f"before = peak()\ntrace = open_trace(sys.argv[1])\n{act}\nprint((peak() - before) / 1024)\n"
    )
    run = subprocess.run([sys.executable, "-c", script, str(path)], capture_output=True, text=True, check=True)
    return float(run.stdout)


def differ(path: Path) -> None:
    """Compare a trace with itself."""
    with open_trace(path) as left, open_trace(path) as right:
        assert compared(align(left, right)).equal


def without_index(path: Path) -> Path:
    """A copy whose trailer is missing, so that a reader must scan."""
    bare = path.with_suffix(".bare")
    shutil.copyfile(path, bare)
    os.truncate(bare, path.stat().st_size - TRAILER_SIZE)
    return bare


def jump(trace: Trace, rng: random.Random) -> None:
    """Read one round anywhere."""
    trace.round(rng.randrange(len(trace)))


def main() -> None:
    """Print one line for each cost."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=1_000_000)
    parser.add_argument("--folder", type=Path, default=None)
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=chosen.folder) as folder:
        path = Path(folder) / "trace.msgpack"
        writing = make(path, chosen.rounds)
        bare = without_index(path)
        print(f"rounds             {chosen.rounds}, {path.stat().st_size / chosen.rounds:.0f} bytes each")
        print(f"write              {statistics.median(writing):8.1f} us a round")
        print(f"open, index        {median_ms(lambda: open_trace(path)):8.1f} ms")
        print(f"open, scan         {median_ms(lambda: open_trace(bare)):8.1f} ms")
        rng = random.Random(2)
        for name, trace in (("index", open_trace(path)), ("scan", open_trace(bare))):
            assert trace.indexed == (name == "index")
            print(f"random round, {name:5s}{median_ms(lambda trace=trace: jump(trace, rng), 1000):8.3f} ms")  # type: ignore[misc]
        print(f"counts             {median_ms(lambda: open_trace(path).counts):8.1f} ms (with opening)")
        for name, target in (("index", path), ("scan", bare)):
            act = "trace.counts\nfor i in random.sample(range(len(trace)), min(1000, len(trace))): trace.round(i)"
            print(f"memory, {name:5s}      {peak_mb(target, act=act):8.1f} MB over the interpreter's")
        auditing, unpacking = audit_and_unpack(path)
        speed = chosen.rounds / auditing * 1e3
        print(f"audit              {auditing / chosen.rounds * 1e3:8.1f} us a round, {speed:.0f} rounds/s")
        print(f"msgpack alone      {unpacking / chosen.rounds * 1e3:8.1f} us a round")
        print(f"memory, audit      {peak_mb(path, act='report(trace)'):8.1f} MB over the interpreter's")
        commands = (
            ("stats", lambda: figures_of(open_trace(path))),
            ("whatif", lambda: read(open_trace(path)).replay.ask(2.0, 3)),
            ("diff, itself", lambda: differ(path)),
        )
        for name, act in commands:
            print(f"{name:19s}{median_ms(act) / chosen.rounds * 1e3:8.1f} us a round")
        print(f"memory, stats      {peak_mb(path, act='figures_of(trace)'):8.1f} MB over the interpreter's")
    print(
        f"this process       {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:8.1f} MB at most, while writing"
    )


if __name__ == "__main__":
    main()
