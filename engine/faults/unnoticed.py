"""Runs that look well and are not: without their drafter, or in a file without its end."""

import io
from typing import Any, BinaryIO, cast

import msgspec

from engine.faults.fault import Beside, Fault, on_code
from engine.faults.models import with_drafter
from engine.faults.over import OverRun
from engine.records import DrafterInfo, Header

ROUNDS = 6
"""Rounds that are in the file before the one that tears."""


class NamesDrafter(OverRun):
    """Names the drafter that was asked for, whether it runs or not."""

    @property
    def header(self) -> Header:
        name = self._request.drafter
        return msgspec.structs.replace(super().header, drafter=DrafterInfo(kind=name.partition(":")[0], name=name))


class Tears(io.RawIOBase):
    """A file of which the last half of a round's record, and everything behind it, never reached the disk."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._rounds = 0

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        whole = bytes(data)
        if self._rounds <= ROUNDS:
            self._rounds += _is_round(whole)
            self._stream.write(whole if self._rounds <= ROUNDS else whole[: len(whole) // 2])
        return len(whole)

    def flush(self) -> None:
        self._stream.flush()


def _is_round(record: bytes) -> bool:
    """The writer puts the type first, behind a map's head of one or three bytes."""
    return msgspec.msgpack.encode("type") + msgspec.msgpack.encode("round") in record[:16]


FAULTS = (
    Fault(
        name="silently-plain",
        sentence="The drafter that was asked for failed to load, and the run is plain without a word.",
        rules=("A16",),
        shown=on_code(),
        models=with_drafter(lambda _: None),
        tell=NamesDrafter,
    ),
    Fault(
        name="torn-trace",
        sentence="The writer died in the middle of a record.",
        rules=("torn",),
        beside=Beside.READER,
        shown=on_code(),
        stream=lambda stream: cast(BinaryIO, Tears(stream)),
    ),
)
