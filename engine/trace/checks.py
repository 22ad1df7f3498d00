"""Holds a trace's ``check`` records against its bytes, so that flipped bits are found and placed."""

import zlib
from typing import NamedTuple

from engine.errors import TraceError
from engine.records import Check
from engine.trace.decoding import decode_as, glances
from engine.trace.framing import Framer
from engine.trace.pread import CHUNK, ReadAt
from engine.trace.reader import Trace


class Damage(NamedTuple):
    """Something is wrong in the bytes ``start`` to ``stop``, a stop not included."""

    start: int
    stop: int
    message: str


class Checked(NamedTuple):
    """``checks`` records cover the bytes up to ``covered``; ``damage`` is what they found, in the file's order."""

    checks: int
    covered: int
    damage: tuple[Damage, ...]


def verify_checks(trace: Trace) -> Checked:
    """Compare the bytes of a trace with its checks; reads the file whole. Raises ``TraceError`` if it cannot."""
    file, framer = ReadAt(trace.path), Framer()
    damage: list[Damage] = []
    checks = before = after = 0
    for cut in file.cuts(framer, file.size):
        for glance, (byte, data) in zip(glances(cut), cut.spans(), strict=True):
            if glance.type == "check":
                checks += 1
                damage += _compare(file, data, byte, before, after)
                before, after = byte, byte + len(data)
    torn = framer.torn()
    if torn is not None:
        damage.append(Damage(torn.byte, file.size, str(torn)))
    file.close()
    return Checked(checks, after, tuple(damage))


def _compare(file: ReadAt, data: bytes, byte: int, before: int, after: int) -> list[Damage]:
    """The check at ``byte``; the one before it stands from ``before`` to ``after``, and may be covered or not."""
    try:
        check = decode_as(Check, data, byte)
    except TraceError as error:
        return [Damage(byte, byte + len(data), str(error))]
    start = byte - check.bytes
    if not before <= start <= after:
        return [Damage(after, byte, f"the check at byte {byte} covers {check.bytes} bytes, not {byte - after}")]
    if _crc(file, start, byte) != check.crc32:
        what = f"bytes {start} to {byte} (before round {check.round}) are not those that the check at byte {byte} saw"
        return [Damage(start, byte, what)]
    return []


def _crc(file: ReadAt, start: int, stop: int) -> int:
    crc = 0
    while start < stop and (data := file.read(start, min(start + CHUNK, stop))):
        crc, start = zlib.crc32(data, crc), start + len(data)
    return crc
