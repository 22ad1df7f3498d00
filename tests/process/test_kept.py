"""Rounds that are kept on disk read back as they were, and a disk that is full costs memory only."""

import resource
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.kept import KeptRounds, Tape
from tests.process.engines import finished, in_process


def test_rounds_read_back_as_they_were_and_can_be_cut() -> None:
    rounds, kept = finished(in_process()), KeptRounds()
    for round_ in rounds:
        kept.append(round_)
    assert list(kept) == rounds
    assert (kept[-1], kept[3:5]) == (rounds[-1], rounds[3:5])
    part = kept.first(4)
    part.append(rounds[9])
    kept.cut(2)
    kept.append(rounds[5])
    assert list(part) == [*rounds[:4], rounds[9]]
    assert list(kept) == [*rounds[:2], rounds[5]]
    with pytest.raises(IndexError):
        kept[3]


@given(
    st.integers(0, 40),
    st.lists(st.one_of(st.binary(max_size=30), st.integers(0, 120)), max_size=20),
    st.integers(0, 150),
    st.integers(0, 150),
)
def test_a_tape_is_its_bytes_whatever_is_appended_and_cut(
    in_memory: int, acts: list[bytes | int], start: int, stop: int
) -> None:
    tape, expected = Tape(in_memory), b""
    for act in acts:
        match act:
            case bytes():
                assert tape.append(act) == len(expected)
                expected += act
            case size:
                tape.cut(size)
                expected = expected[:size]
    assert len(tape) == len(expected)
    assert tape.read(start, stop) == expected[start:stop]


@contextmanager
def small_files() -> Iterator[None]:
    """No file of this process can be larger than 1000 bytes: around no more than the writes, pytest's log is a file."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_what_a_full_disk_does_not_take_is_kept_in_memory() -> None:
    tape, whole = Tape(100), b""
    with small_files():
        for _ in range(8):
            part = bytes(range(256)) + b"x" * 44
            tape.append(part)
            whole += part
    assert tape.read(0, 9999) == whole
    assert tape.read(950, 1050) == whole[950:1050]
    with small_files():
        tape.cut(700)
        tape.append(b"end")
    assert tape.read(0, 9999) == whole[:700] + b"end"
