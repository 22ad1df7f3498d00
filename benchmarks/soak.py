"""An engine as a process, run without pause: interrupts, forks, deaths and readers that come and go, all at random.

Run ``python -m benchmarks.soak [--rounds N] [--seed S]``. Every round is held against the one before it and against
plain decode, every reader against the driver. It exits with 1 if memory or open files grew or a process is left.
"""

import argparse
import os
import random
import signal
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np

from engine.base.toy import linear_choice
from engine.kept import KeptRounds
from engine.options import Options
from engine.process.feed import SocketFeed
from engine.process.launch import Launch, local
from engine.process.made import slim
from engine.process.remote import RemoteRun
from engine.process.watch import Watched
from engine.records import Round
from engine.request import LiveRequest

PROMPT = "soak"
DRAFTERS = ("scripted:takes=3-1-0-2", "scripted:takes=5-0", "lookup", "none")
READERS = 4
CATCH_UP = 120.0
BREAKS = 0.01
GROWTH_MB = 12.0


class Report(NamedTuple):
    """What a soak counted. Memory is in MB, the least in the second and in the last third; so are the open files.

    What readers hold comes and goes with the branches that they have seen; a leak raises the least.
    """

    rounds: int
    acts: Counter[str]
    seconds: float
    driver_mb: tuple[float, float]
    engine_mb: tuple[float, float]
    files: tuple[int, int]
    left: tuple[int, ...]

    @property
    def flat(self) -> bool:
        """Whether neither memory nor open files grew, and no process is left."""
        grown = (late - early for early, late in (self.driver_mb, self.engine_mb))
        return max(grown) < GROWTH_MB and self.files[1] <= self.files[0] + 2 * READERS and not self.left


class Broken(AssertionError):
    """A round was lost, made twice, or is wrong."""


class Flaky(SocketFeed):
    """A connection that breaks now and then."""

    def __init__(self, path: Path, chance: random.Random) -> None:
        super().__init__(path)
        self._chance = chance

    def read(self) -> bytes | None:
        if self._chance.random() < BREAKS:
            self.close()
            return None
        return super().read()


class Soak:
    """One engine, its driver and its readers."""

    def __init__(self, seed: int, folder: Path, *, max_tokens: int = 900, deaths: float = 0.01) -> None:
        self._random = random.Random(seed)
        self._breaks = random.Random(seed)
        self._socket = folder / "engine.socket"
        self._deaths = deaths
        self._plain = plain_decode(max_tokens)
        self._options = Options(max_tokens=max_tokens)
        self._acts: Counter[str] = Counter()
        self._pids: set[int] = set()
        self._readers: list[Watched] = []
        self._kept = KeptRounds()
        self._tokens = [0]
        self._rounds = 0
        self._run = RemoteRun(self._launch(), timeout=60.0).open()
        self._note_pid()

    def run(self, rounds: int) -> Report:
        """Go on until so many rounds were made."""
        began, samples = time.monotonic(), []
        while self._rounds < rounds:
            self._act()
            samples.append((_resident(os.getpid()), _resident(self._run.pid or 0), len(os.listdir("/proc/self/fd"))))
        self._check_readers()
        for reader in self._readers:
            reader.close()
        self._run.close()
        third = max(1, len(samples) // 3)
        early, late = (
            tuple(min(filter(None, values)) for values in zip(*part, strict=True))
            for part in (samples[third : 2 * third], samples[-third:])
        )
        left = tuple(pid for pid in self._pids if _lives(pid))
        return Report(
            self._rounds,
            self._acts,
            time.monotonic() - began,
            (early[0], late[0]),
            (early[1], late[1]),
            (int(early[2]), int(late[2])),
            left,
        )

    def _act(self) -> None:
        chosen = self._random.random()
        if self._run.done or chosen < 0.15:
            self._fork()
        elif chosen < 0.25:
            self._step()
        elif chosen < 0.35:
            self._change_readers()
        else:
            self._order()
        for reader in self._readers:
            reader.refresh()

    def _step(self) -> None:
        self._acts["step"] += 1
        self._take(self._run.step())

    def _order(self) -> None:
        """Rounds in advance: all of them, or up to an interrupt, or up to the engine's death."""
        fate = self._random.random()
        self._run.order(self._random.randint(2, 200))
        left, killed = self._random.randint(1, 60), self._acts["kill"]
        while self._run.pending:
            self._take(self._run.step())
            left -= 1
            if left == 0 and fate < self._deaths:
                self._kill()
            elif left == 0 and fate < 0.4:
                self._acts["interrupt"] += 1
                self._run.interrupt()
        if self._acts["kill"] > killed:
            self._start_again()
        self._acts["order"] += 1

    def _kill(self) -> None:
        assert self._run.pid is not None
        self._acts["kill"] += 1
        os.kill(self._run.pid, signal.SIGKILL)

    def _start_again(self) -> None:
        if self._run.lost and self._run.events[-1].round != len(self._kept):
            raise Broken(f"the fault is marked at {self._run.events[-1].round}, {len(self._kept)} rounds were made")
        self._run.rewind(self._kept)
        self._note_pid()

    def _fork(self) -> None:
        self._acts["fork"] += 1
        at = self._random.randint(0, len(self._kept))
        changed = msgspec.structs.replace(
            self._options,
            k=self._random.randint(1, 8),
            form=self._random.choice(("one-pass", "two-pass")),
            fallback_below=self._random.choice((0.0, 1.5, 2.5)),
            fallback_window=self._random.randint(1, 8),
        )
        drafter = self._random.choice((None, *DRAFTERS))
        self._run.rewind(self._kept[:at], changed, drafter=drafter)
        self._note_pid()
        self._kept.cut(at)
        del self._tokens[at + 1 :]

    def _take(self, round_: Round | None) -> None:
        if round_ is None:
            return
        emitted, before = round_.emitted or (), self._tokens[-1]
        if round_.index != len(self._kept):
            raise Broken(f"round {round_.index} came where {len(self._kept)} was due")
        if list(emitted) != self._plain[before : before + len(emitted)]:
            raise Broken(f"round {round_.index} does not emit what plain decode does")
        self._kept.append(round_)
        self._tokens.append(before + len(emitted))
        self._rounds += 1

    def _change_readers(self) -> None:
        self._acts["reader"] += 1
        if len(self._readers) == READERS:
            self._check_readers()
            self._readers.pop(self._random.randrange(READERS)).close()
        else:
            self._readers.append(Watched(Flaky(self._socket, self._breaks)))

    def _check_readers(self) -> None:
        """Each has the very rounds that the driver has, once it has caught up."""
        expected = [slim(round_) for round_ in self._kept]
        for reader in self._readers:
            deadline = time.monotonic() + CATCH_UP
            while not (reader.begun and reader.header == self._run.header and len(reader) == len(expected)):
                if time.monotonic() > deadline:
                    raise Broken(f"a reader has {len(reader) if reader.begun else 'no'} rounds of {len(expected)}")
                if not reader.refresh().rounds:
                    time.sleep(0.001)
            if [slim(reader.round(i)) for i in range(len(reader))] != expected:
                raise Broken("a reader has other rounds than the driver")
        self._acts["reader checked"] += len(self._readers)

    def _launch(self) -> Launch:
        request = LiveRequest(prompt=PROMPT, model="toy", drafter=DRAFTERS[0], options=self._options, candidates=2)
        asked: dict[str, Any] = msgspec.to_builtins(request)
        here = local(asked)
        return here._replace(command=(*here.command, "--share", str(self._socket)))

    def _note_pid(self) -> None:
        assert self._run.pid is not None
        self._pids.add(self._run.pid)


def plain_decode(count: int) -> list[int]:
    """What the toy says after the prompt."""
    logits_of, text = linear_choice(256), list(PROMPT.encode())
    for _ in range(count):
        text.append(int(np.argmax(logits_of(text))))
    return text[len(PROMPT) :]


def _resident(pid: int) -> float:
    try:
        pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    except (FileNotFoundError, ProcessLookupError):
        return 0.0
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def _lives(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def main() -> None:
    """Soak, and say what was counted."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=500_000)
    parser.add_argument("--seed", type=int, default=1)
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        report = Soak(chosen.seed, Path(folder)).run(chosen.rounds)
    print(f"rounds     {report.rounds} in {report.seconds:.0f} s, none lost, none twice, all of plain decode")
    print(f"acts       {', '.join(f'{count} {act}' for act, count in report.acts.most_common())}")
    print(f"driver     {report.driver_mb[0]:.1f} MB, then {report.driver_mb[1]:.1f} MB")
    print(f"engine     {report.engine_mb[0]:.1f} MB, then {report.engine_mb[1]:.1f} MB")
    print(f"open files {report.files[0]}, then {report.files[1]}")
    print(f"left over  {len(report.left)} processes")
    sys.exit(0 if report.flat else 1)


if __name__ == "__main__":
    main()
