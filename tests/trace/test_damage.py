"""A damaged trace gives its whole records and names the byte; it never gives a wrong answer, a crash or a hang."""

import subprocess
import sys
import zlib
from array import array
from itertools import accumulate
from pathlib import Path

import msgpack
import msgspec
import pytest

from engine.errors import TraceError
from engine.records import Index, Round
from engine.trace.checks import verify_checks
from engine.trace.framing import MAX_RECORD, TRAILER_HEAD, TRAILER_SIZE, Framer
from engine.trace.reader import open_trace
from tests.trace.makes import Run, a_run, write_run


def boundaries(path: Path) -> list[int]:
    """The offset behind each record of a whole trace."""
    return list(accumulate(len(raw.data) for raw in open_trace(path).raw_records()))


def test_a_cut_at_any_byte_keeps_all_whole_rounds_and_names_the_byte(tmp_path: Path) -> None:
    run = a_run(rounds=4)
    data = write_run(tmp_path / "whole", run).read_bytes()
    ends = boundaries(tmp_path / "whole")
    records = list(open_trace(tmp_path / "whole").records())
    cut = tmp_path / "cut"
    for size in range(len(data)):
        cut.write_bytes(data[:size])
        whole = [end for end in ends if end <= size]
        if not whole:
            with pytest.raises(TraceError) as caught:
                open_trace(cut)
            assert caught.value.byte == 0
            continue
        trace = open_trace(cut)
        expected = [record for record in records[: len(whole)] if isinstance(record, Round)]
        assert [trace.round(at) for at in range(len(trace))] == expected
        assert list(trace.records()) == records[: len(whole)]
        assert (trace.torn is None) == (size == whole[-1])
        if trace.torn is not None:
            assert (trace.torn.byte, trace.torn.record) == (whole[-1], len(whole))


def test_bytes_may_arrive_in_pieces_of_any_size(tmp_path: Path) -> None:
    data = write_run(tmp_path / "whole", a_run(rounds=9)).read_bytes()
    expected = [(raw.byte, raw.data) for raw in open_trace(tmp_path / "whole").raw_records()]
    for size in (1, 2, 7, 100, len(data)):
        framer = Framer()
        found = [
            span
            for start in range(0, len(data), size)
            for cut in framer.feed(data[start : start + size])
            for span in cut.spans()
        ]
        assert found == expected
        assert framer.complete
        assert framer.torn() is None
        assert framer.byte == len(data)


@pytest.mark.parametrize(
    ("tail", "reason"), [(bytes(5000), "zero bytes"), (b"\x07" * 30, "not a map"), (b"\xc1", "not")]
)
def test_a_tail_that_is_no_record_is_torn_off(tmp_path: Path, tail: bytes, reason: str) -> None:
    path = write_run(tmp_path / "run", a_run(rounds=9), index=False)
    size = path.stat().st_size
    path.write_bytes(path.read_bytes() + tail)
    trace = open_trace(path)
    assert len(trace) == 9
    assert trace.torn is not None
    assert reason in trace.torn.reason
    assert trace.torn.byte == size


def test_bytes_behind_the_trailer_are_damage(tmp_path: Path) -> None:
    path = write_run(tmp_path / "run", a_run(rounds=9))
    size = path.stat().st_size
    path.write_bytes(path.read_bytes() * 2)
    trace = open_trace(path)
    assert len(trace) == 9
    assert trace.torn is not None
    assert (trace.torn.byte, trace.torn.reason) == (size, "bytes follow the trailer")


def nested(depth: int) -> bytes:
    """A record of that depth, its own map counted."""
    return b"\x82\xa4type\xa4deep\xa1x" + b"\x91" * (depth - 1) + b"\x01"


BOMBS = {
    "an array of four thousand million": b"\x81\xa1x\xdd\xff\xff\xff\xff",
    "a map of four thousand million": b"\xdf\xff\xff\xff\xff\xa4type",
    "a text longer than any file": b"\x81\xa1x\xdb\xf0\x00\x00\x00abc",
    "bytes longer than any file": b"\x81\xa1x\xc6\xf0\x00\x00\x00abc",
    "an extension longer than any file": b"\x81\xa1x\xc9\xf0\x00\x00\x00\x05abc",
    "a hundred thousand levels": nested(100_000),
    "a thousand levels, cut off": b"\x81\xa1x" + b"\x91" * 1000,
    "seventeen levels, cut off": b"\x81\xa1x" + b"\x91" * 17,
}


@pytest.mark.parametrize("name", BOMBS)
def test_a_record_beyond_the_bounds_is_an_error_with_its_byte(tmp_path: Path, name: str) -> None:
    path = write_run(tmp_path / "run", a_run(rounds=9), index=False)
    size = path.stat().st_size
    path.write_bytes(path.read_bytes() + BOMBS[name])
    with pytest.raises(TraceError, match=f"byte {size}") as caught:
        open_trace(path)
    assert caught.value.byte == size
    saved = open_trace(path, salvage=True)
    assert len(saved) == 9
    assert saved.torn is not None
    assert saved.torn.over_limit


def test_sixteen_levels_are_read_and_seventeen_are_not(tmp_path: Path) -> None:
    path = write_run(tmp_path / "run", a_run(rounds=1), index=False)
    whole = path.read_bytes()
    path.write_bytes(whole + nested(16))
    assert len(list(open_trace(path).records())) > 1
    path.write_bytes(whole + nested(17))
    with pytest.raises(TraceError, match="deeper than 16") as caught:
        list(open_trace(path).records())
    assert caught.value.byte == len(whole)
    deep: object = 0
    for _ in range(20):
        deep = [deep]
    path.write_bytes(whole + msgpack.packb({"type": "round", "index": 1, "form": "plain", "state": {"x": deep}}))
    with pytest.raises(TraceError, match="deeper than 16"):
        open_trace(path).round(1)


def test_a_record_over_the_limit_is_found_in_a_stream_without_an_end() -> None:
    framer = Framer()
    piece = b"\xc0" * (1024 * 1024)
    fed = 0
    for data in (b"\xdf\x03\x00\x00\x00", *[piece] * 70):
        assert list(framer.feed(data)) == []
        fed += len(data)
        if framer.damage is not None:
            break
    assert framer.damage is not None
    assert framer.damage.over_limit
    assert fed <= MAX_RECORD + 2 * len(piece)


def test_a_known_record_of_the_wrong_shape_is_an_error_where_it_is_read(tmp_path: Path) -> None:
    path = write_run(tmp_path / "run", a_run(rounds=2), index=False)
    size = path.stat().st_size
    wrong = msgpack.packb({"type": "round", "index": 2, "form": "plain", "drafts": "no list"})
    good = msgpack.packb({"type": "round", "index": 3, "form": "plain"})
    path.write_bytes(path.read_bytes() + wrong + good)
    trace = open_trace(path)
    assert len(trace) == 4
    assert trace.round(3).index == 3
    with pytest.raises(TraceError, match=f"round record at byte {size}") as caught:
        trace.round(2)
    assert caught.value.byte == size


def test_unknown_types_and_keys_are_kept(tmp_path: Path) -> None:
    path = write_run(tmp_path / "run", a_run(rounds=2), index=False)
    later = {"type": "later", "value": [1, {"deep": b"\xff"}]}
    richer = {"type": "round", "index": 2, "form": "plain", "take": 0, "of_tomorrow": [1.5]}
    path.write_bytes(path.read_bytes() + msgpack.packb(later) + msgpack.packb(richer) + msgpack.packb({"no": "type"}))
    trace = open_trace(path)
    assert trace.torn is None
    assert trace.round(2) == Round(index=2, form="plain", take=0)
    assert [raw.fields for raw in trace.raw_records()][-3:] == [later, richer, {"no": "type"}]


def with_index(run: Run, path: Path, **changes: object) -> Path:
    """A trace whose index was made to lie."""
    data = write_run(path, run).read_bytes()
    at = int.from_bytes(data[-8:], "big")
    index = msgspec.msgpack.decode(data[at:-TRAILER_SIZE], type=Index)
    lying = msgspec.msgpack.encode(msgspec.structs.replace(index, **changes))
    path.write_bytes(data[:at] + lying + TRAILER_HEAD + at.to_bytes(8, "big"))
    return path


def lies(path: Path) -> dict[str, dict[str, object]]:
    """Changes to the index of the trace at ``path``, each a lie."""
    data = path.read_bytes()
    at = int.from_bytes(data[-8:], "big")
    index = msgspec.msgpack.decode(data[at:-TRAILER_SIZE], type=Index)
    offsets, counts, events = array("Q", index.offsets), bytearray(index.counts), index.events_at or ()
    swapped = array("Q", offsets)
    swapped[1] += 1
    counts[70] += 1
    counts[71] -= 1
    return {
        "an offset in the middle of a record": {"offsets": tuple(swapped)},
        "an offset beyond the file": {"offsets": (*offsets[:-1], 2**60)},
        "an offset of another record": {"offsets": (0, *offsets[1:])},
        "offsets that go back": {"offsets": tuple(reversed(offsets))},
        "too few offsets": {"offsets": tuple(offsets[:-1])},
        "counts that are not the rounds'": {"counts": bytes(counts)},
        "fewer rounds": {"counts": index.counts[:-1]},
        "more rounds": {"counts": index.counts + b"\x01"},
        "another step": {"every": index.every * 2},
        "no step": {"every": 0},
        "a step as wide as the file": {"every": 2**40},
        "tokens elsewhere": {"tokens_at": (1, *index.tokens_at[1:])},
        "events elsewhere": {"events_at": (events[0] + 1, *events[1:])},
        "no events listed": {"events_at": None},
    }


@pytest.mark.parametrize("lie", range(14))
def test_an_index_that_lies_is_not_believed(tmp_path: Path, lie: int) -> None:
    run = a_run(rounds=200)
    found = lies(write_run(tmp_path / "true", run))
    assert len(found) == 14
    trace = open_trace(with_index(run, tmp_path / "lying", **list(found.values())[lie]))
    true = open_trace(tmp_path / "true")
    assert true.indexed
    assert [trace.round(at) for at in range(len(trace))] == list(run.rounds)
    assert trace.events() == run.events
    assert [trace.piece(token) for token in range(97)] == [true.piece(token) for token in range(97)]
    assert trace.counts.tolist() == [round_.count for round_ in run.rounds]
    assert trace.end == run.end
    assert not trace.indexed


def test_an_index_of_another_file_is_not_believed(tmp_path: Path) -> None:
    long, short = (write_run(tmp_path / name, a_run(rounds=count)) for name, count in (("long", 200), ("short", 130)))
    data, other = long.read_bytes(), short.read_bytes()
    at = int.from_bytes(other[-8:], "big")
    own = int.from_bytes(data[-8:], "big")
    long.write_bytes(data[:own] + other[at:-8] + own.to_bytes(8, "big"))
    trace = open_trace(long)
    assert len(trace) == 200
    assert not trace.indexed


def test_damage_that_the_index_hides_is_found_when_the_rounds_are_read(tmp_path: Path) -> None:
    run = a_run(rounds=300)
    path = write_run(tmp_path / "run", run)
    data = bytearray(path.read_bytes())
    at = next(raw.byte for raw in open_trace(path).raw_records() if raw.fields.get("index") == 100)
    data[at] = 0xC1
    path.write_bytes(data)
    trace = open_trace(path)
    assert trace.indexed
    with pytest.raises(IndexError):
        trace.round(100)
    assert trace.torn is not None
    assert trace.torn.byte == at
    assert len(trace) == 100


def test_checks_find_and_place_a_flipped_bit(tmp_path: Path) -> None:
    path = write_run(tmp_path / "run", a_run(rounds=600))
    clean = verify_checks(open_trace(path))
    assert (clean.checks, clean.damage) == (3, ())
    assert clean.covered > open_trace(path).size * 0.9
    data = bytearray(path.read_bytes())
    where = next(raw.byte for raw in open_trace(path).raw_records() if raw.fields.get("index") == 300)
    at = data.index(b"draft_p", where) + len("draft_p") + 5
    data[at] ^= 1
    path.write_bytes(data)
    found = verify_checks(open_trace(path))
    assert len(found.damage) == 1
    assert found.damage[0].start <= at < found.damage[0].stop
    assert found.damage[0].stop - found.damage[0].start < len(data) / 2


def test_a_check_covers_the_bytes_since_the_check_before(tmp_path: Path) -> None:
    path = write_run(tmp_path / "run", a_run(rounds=600))
    data, start = path.read_bytes(), 0
    for raw in open_trace(path).raw_records():
        if raw.fields["type"] == "check":
            assert raw.fields["bytes"] == raw.byte - start
            assert raw.fields["crc32"] == zlib.crc32(data[start : raw.byte])
            start = raw.byte + len(raw.data)


def run_mutants(count: int, seed: int) -> str:
    """Read ``count`` mutated traces in a process of bounded memory; it ends at the first crash or hang."""
    command = [sys.executable, "-m", "tests.trace.mutants", str(count), str(seed)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=Path(__file__).parents[2], check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


def test_mutated_traces_never_crash_hang_or_allocate_wildly() -> None:
    assert run_mutants(400, seed=1).startswith("400 mutants")


@pytest.mark.slow
def test_a_hundred_thousand_mutated_traces_never_crash_hang_or_allocate_wildly() -> None:
    assert run_mutants(100_000, seed=2).startswith("100000 mutants")
