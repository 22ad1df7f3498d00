"""Engines for the tests: the toy as a process, one in a thread, and ``python -m tests.process.engines`` with faults.

The faulty engine is ``specstep engine`` over a base that does what it is told in its n-th pass of a round.
"""

import ctypes
import dataclasses
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from engine.base.base import Rows
from engine.base.toy import ToyBase, linear_choice
from engine.faults.running import opened
from engine.live import LiveRun, Stepper, begin
from engine.opening import open_models
from engine.options import Options
from engine.process.inbox import Inbox
from engine.process.launch import Launch, local
from engine.process.protocol import Command, Done, Hello, Progress, answer, encoded
from engine.process.remote import RemoteRun
from engine.process.server import Server
from engine.process.service import claimed, serve
from engine.records import AnyRecord, Round
from engine.request import LiveRequest
from engine.trace.decoding import Unknown
from engine.trace.follow import RecordStream
from tests.limits import HANG

ROOT = Path(__file__).parents[2]
DRAFTER = "scripted:takes=3-1-0-2"
REQUEST = LiveRequest(prompt="hello", model="toy", drafter=DRAFTER, options=Options(max_tokens=60), candidates=2)
TIMEOUT = HANG


def builtins(request: LiveRequest = REQUEST, **options: Any) -> dict[str, Any]:
    """A request as an open command has it."""
    made: dict[str, Any] = msgspec.to_builtins(request)
    made["options"].update(options)
    return made


def engine(request: LiveRequest = REQUEST, *, timeout: float = TIMEOUT, **options: Any) -> RemoteRun:
    """A toy run whose engine is a process."""
    return RemoteRun(local(builtins(request, **options)), timeout=timeout).open()


def faulty(fault: str, at: int, *, timeout: float = TIMEOUT, wrap: Sequence[str] = ()) -> RemoteRun:
    """The same over a base that has a fault in its ``at``-th pass of rounds. ``wrap`` goes before the command."""
    command = (*wrap, sys.executable, "-m", "tests.process.engines", fault, str(at))
    launch = Launch(command, {**os.environ, "PYTHONPATH": str(ROOT)}, builtins())
    return RemoteRun(launch, timeout=timeout).open()


def in_process(request: LiveRequest = REQUEST, **options: Any) -> Stepper:
    """The same run in this process."""
    return opened(msgspec.structs.replace(request, options=msgspec.structs.replace(request.options, **options)))


def finished(run: Stepper) -> list[Round]:
    """All rounds up to the end."""
    made = []
    while (round_ := run.step()) is not None:
        made.append(round_)
    return made


def timeless(rounds: Sequence[Round]) -> list[Round]:
    """Rounds without what no two runs have in common."""
    return [msgspec.structs.replace(round_, ms=None) for round_ in rounds]


def gone(pid: int, within: float = HANG) -> bool:
    """Whether a process ends within so many seconds. A zombie has ended."""
    deadline = time.monotonic() + within
    while time.monotonic() < deadline:
        try:
            os.kill(pid, 0)
            if Path(f"/proc/{pid}/stat").exists() and Path(f"/proc/{pid}/stat").read_text().split(") ")[1][0] == "Z":
                return True
        except (ProcessLookupError, FileNotFoundError):
            return True
        time.sleep(0.02)
    return False


class Reply(NamedTuple):
    """What a served engine sent up to the answer to a command."""

    records: list[AnyRecord]
    done: Done

    @property
    def rounds(self) -> list[Round]:
        return [record for record in self.records if isinstance(record, Round)]


class Served:
    """A server in a thread of this process, spoken to through pipes."""

    def __init__(self, begins: Callable[[LiveRequest], Stepper], request: LiveRequest, *, wait: bool) -> None:
        self._ids = 0
        self.hello: Hello | None = None
        self.opening: list[AnyRecord] = []
        self._stream, self._ready = RecordStream(), list[AnyRecord | Unknown]()
        commands, self._commands = os.pipe()
        self._answers, answers = os.pipe()
        self._inbox = Inbox(commands, answers)
        out = os.fdopen(answers, "wb", buffering=0)
        self.opened: bool | None = None

        def run() -> None:
            with out:
                self.opened = Server(self._inbox, out, begins, request, wait=wait).serve()

        self._thread = threading.Thread(target=run)
        self._thread.start()
        self._reading = commands

    def send(self, data: bytes) -> None:
        """Raw bytes on its stdin."""
        os.write(self._commands, data)

    def tell(self, command: Command) -> int:
        """Give a command without waiting; its id."""
        self._ids += 1
        self.send(encoded(msgspec.structs.replace(command, id=self._ids)))
        return self._ids

    def ask(self, command: Command) -> Reply:
        """Give a command and wait for its answer."""
        return self.upto(self.tell(command))

    def upto(self, id_: int) -> Reply:
        """All up to the answer to a command that was given."""
        records: list[AnyRecord] = []
        while True:
            match self.next():
                case Done() as done:
                    if done.id == id_:
                        return Reply(records, done)
                case Hello() as hello:
                    self.hello = hello
                case Progress():
                    pass
                case record:
                    records.append(record)

    def next(self) -> AnyRecord | Hello | Done | Progress:
        """The next record. Raises ``EOFError`` behind the last."""
        while not self._ready:
            data = os.read(self._answers, 1 << 16)
            if not data:
                raise EOFError
            self._ready.extend(self._stream.feed(data))
        record = self._ready.pop(0)
        if not isinstance(record, Unknown):
            return record
        answered = answer(record)
        assert answered is not None
        return answered

    def rest(self) -> list[AnyRecord | Hello | Done | Progress]:
        """All that still comes until it has ended."""
        records = []
        while True:
            try:
                records.append(self.next())
            except EOFError:
                return records

    def hang_up(self) -> None:
        """Close its stdin."""
        os.close(self._commands)
        self._commands = -1

    def close(self) -> None:
        if self._commands >= 0:
            self.hang_up()
        self.rest()
        self._thread.join(HANG)
        assert not self._thread.is_alive()
        assert self._inbox.join(HANG)
        for fd in (self._answers, self._reading):
            os.close(fd)


@contextmanager
def served(
    begins: Callable[[LiveRequest], Stepper] = opened, request: LiveRequest = REQUEST, *, wait: bool = False
) -> Iterator[Served]:
    """A server in a thread, and its run opened unless it waits."""
    there = Served(begins, request, wait=wait)
    try:
        if not wait:
            there.opening = there.upto(0).records
        yield there
    finally:
        there.close()


class FaultyBase(ToyBase):
    """A toy base that has a fault in its ``at``-th pass of rounds."""

    def __init__(self, fault: Callable[[], None], at: int) -> None:
        super().__init__(256, linear_choice(256))
        self._fault = fault
        self._left = at

    def verify(self, tokens: Sequence[int]) -> Rows:
        self._left -= 1
        if self._left == 0:
            self._fault()
        return super().verify(tokens)


def over(base: ToyBase, request: LiveRequest) -> LiveRun:
    """The run of a request over another base."""
    return begin(dataclasses.replace(open_models("toy"), base=base), request)


def _kill() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def _segfault() -> None:
    os.write(2, b"driver: DMA fault at tile 7\n")
    ctypes.string_at(0)


def _hang() -> None:
    os.write(2, b"driver: waiting for the device\n")
    time.sleep(600)


def _chatter() -> None:
    """A library that writes where only records belong."""
    ctypes.CDLL(None).puts(b"[xrt] loading a context")
    ctypes.CDLL(None).fflush(None)
    sys.stdout.write("and so does Python\n")


def _garbage() -> None:
    """The worst: bytes on the very stream of the records."""
    for name in os.listdir("/proc/self/fd"):
        if int(name) > 2 and os.readlink(f"/proc/self/fd/{name}") == _STDOUT:
            os.write(int(name), b"Segmentation fault in module npu\n")


def _raise() -> None:
    raise RuntimeError("the driver is not amused")


FAULTS = {
    "kill": _kill,
    "segfault": _segfault,
    "hang": _hang,
    "chatter": _chatter,
    "garbage": _garbage,
    "raise": _raise,
}
_STDOUT = os.readlink("/proc/self/fd/1") if Path("/proc/self/fd/1").is_symlink() else ""


def main() -> None:
    """Serve, as the command ``specstep engine --wait`` does."""
    import faulthandler  # noqa: PLC0415

    faulthandler.enable()
    fault, at = FAULTS[sys.argv[1]], int(sys.argv[2])
    answers = claimed(1, 2)
    serve(REQUEST, 0, answers, wait=True, begins=lambda request: over(FaultyBase(fault, at), request))


if __name__ == "__main__":
    main()
