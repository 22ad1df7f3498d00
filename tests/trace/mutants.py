"""Reads mutated traces in every way there is. Only ``TraceError`` may come out of it.

Run as ``python -m tests.trace.mutants COUNT SEED``. Memory is limited, and each mutant has two seconds of
CPU time.
"""

import random
import resource
import signal
import sys
import tempfile
from collections import Counter
from pathlib import Path

from engine.errors import TraceError
from engine.trace.checks import verify_checks
from engine.trace.follow import RecordStream
from engine.trace.reader import open_trace
from engine.trace.rewrite import recover
from tests.trace.makes import a_run, write_run

ROOM = 400 * 1024 * 1024
SECONDS = 2
NASTY = (
    b"\xdd\xff\xff\xff\xff", b"\xdf\xff\xff\xff\xff", b"\xdb\x7f\xff\xff\xff", b"\xc6\x04\x00\x00\x00", b"\x91" * 40,
    b"\x91" * 2000, b"\xc1", bytes(40), b"\xc0", b"\x80", b"\x81\xa4type\x01", b"\xff", b"\xd9\xff", b"SPECIDX1",
)  # fmt: skip


def mutate(data: bytes, rng: random.Random) -> bytes:
    """One to three changes of the kinds that disks, transfers and attackers make."""
    made = bytearray(data)
    for _ in range(rng.randint(1, 3)):
        at = rng.randrange(len(made) + 1)
        length = rng.choice((1, 2, 8, 64))
        match rng.randrange(7):
            case 0 if at < len(made):
                made[at] ^= 1 << rng.randrange(8)
            case 1 if at < len(made):
                made[at] = rng.randrange(256)
            case 2:
                del made[at:]
            case 3:
                del made[at : at + length]
            case 4:
                made[at:at] = rng.choice(NASTY)
            case 5:
                made[at : at + length] = rng.choice(NASTY)
            case _:
                start = rng.randrange(len(made) + 1)
                made[at:at] = made[start : start + length * 8]
    return bytes(made)


def read_all(path: Path, out: Path | None) -> str:
    """Use everything that a reader offers, and recover into ``out``; what became of it in a word."""
    outcome = "read"
    try:
        trace = open_trace(path)
    except TraceError:
        return "refused"
    at = 0
    while at < len(trace):
        try:
            trace.round(at)
        except TraceError:
            outcome = "some records unreadable"
        except IndexError:
            assert at >= len(trace), "a round that is there must be given"
        at += 1
    for use in (trace.events, lambda: trace.counts, lambda: trace.piece(5), lambda: list(trace.records())):
        try:
            use()
        except TraceError:
            outcome = "some records unreadable"
    for rest in (
        lambda: verify_checks(trace),
        lambda: recover(path, out) if out else None,
        lambda: list(RecordStream().feed(path.read_bytes())),
    ):
        try:
            rest()
        except TraceError:
            outcome = "some records unreadable"
    if trace.torn is not None:
        outcome = "torn"
    return outcome


def too_slow(*_: object) -> None:
    """Show where a mutant hangs."""
    raise AssertionError(f"a mutant took more than {SECONDS} s of CPU time")


def main(count: int, seed: int) -> None:
    """Read ``count`` mutants and print how many came to which end."""
    rng = random.Random(seed)
    with tempfile.TemporaryDirectory() as folder:
        path, out = Path(folder) / "trace", Path(folder) / "out"
        originals = [
            write_run(path, a_run(rounds=rounds), index=index).read_bytes()
            for rounds, index in ((3, True), (70, True), (6, False))
        ]
        limit = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize() + ROOM
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
        signal.signal(signal.SIGPROF, too_slow)
        outcomes: Counter[str] = Counter()
        for number in range(count):
            mutant = mutate(rng.choices(originals, (5, 1, 4))[0], rng)
            path.write_bytes(mutant)
            signal.setitimer(signal.ITIMER_PROF, SECONDS)
            try:
                outcomes[read_all(path, out if number % 8 == 0 else None)] += 1
            except BaseException:
                sys.stderr.write(f"the mutant, in hex: {mutant.hex()}\n")
                raise
        signal.setitimer(signal.ITIMER_PROF, 0)
    sys.stdout.write(f"{sum(outcomes.values())} mutants: {dict(outcomes)}\n")


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
