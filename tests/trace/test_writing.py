"""What is written stands whole in the file at once, and no more of it than was asked for, whatever kills the writer."""

import io
import os
import random
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import msgpack
import msgspec
import pytest

from engine.errors import TraceError
from engine.records import Check, Event, Index, Round, Tokens
from engine.trace.reader import open_trace
from engine.trace.writer import Text, TraceWriter
from tests.trace.makes import a_run, piece, write_run

ROOT = Path(__file__).parents[2]


def maps(data: bytes) -> list[dict[str, Any]]:
    """The maps in ``data`` as another library finds them."""
    return [found for found in msgpack.Unpacker(io.BytesIO(data), strict_map_key=False) if isinstance(found, dict)]


def test_a_trace_is_readable_by_its_owner_only(tmp_path: Path) -> None:
    path = tmp_path / "run"
    path.write_bytes(b"an older file, open to all, longer than the new one" * 1000)
    path.chmod(0o644)
    for name in ("run", "new"):
        write_run(tmp_path / name, a_run())
        assert stat.S_IMODE((tmp_path / name).stat().st_mode) == 0o600
        assert open_trace(tmp_path / name).torn is None


def test_each_record_is_in_the_file_when_write_returns(tmp_path: Path) -> None:
    run, path = a_run(), tmp_path / "run"
    writer = TraceWriter(path)
    for count, record in enumerate((run.header, run.prefill, *run.rounds), 1):
        writer.write(record)
        assert len(maps(path.read_bytes())) == count
        assert path.stat().st_size == writer.size
    writer.close()


class Writes(io.RawIOBase):
    """A stream that keeps every write apart, and may take less than it is given."""

    def __init__(self, most: int = 10**9) -> None:
        self.most = most
        self.seen: list[bytes] = []

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        self.seen.append(bytes(data[: self.most]))
        return len(self.seen[-1])


def test_each_record_is_one_write() -> None:
    stream = Writes()
    write_run(stream, a_run(rounds=300))  # type: ignore[arg-type]
    for data in stream.seen[:-1]:
        assert isinstance(msgpack.unpackb(data, strict_map_key=False), dict)
    assert stream.seen[-1].startswith(b"\xc4\x10SPECIDX1")


def test_a_stream_that_takes_a_little_at_a_time_still_gets_whole_records() -> None:
    whole, slow = Writes(), Writes(most=7)
    for stream in (whole, slow):
        write_run(stream, a_run())  # type: ignore[arg-type]
    assert b"".join(slow.seen) == b"".join(whole.seen)


def test_a_stream_stays_open_and_may_go_on_behind_the_end_without_an_index() -> None:
    stream, run = io.BytesIO(), a_run(rounds=3)
    with TraceWriter(stream, index=False) as writer:
        writer.write(run.header)
        writer.write(run.end)
        writer.write(run.rounds[0])
    assert not stream.closed
    assert [record["type"] for record in maps(stream.getvalue())] == ["header", "check", "end", "round"]


def test_keys_that_mean_something_when_nil_are_always_written() -> None:
    stream, run = io.BytesIO(), a_run(rounds=1)
    with TraceWriter(stream, index=False) as writer:
        writer.write(run.header)
        writer.write(Event(code="x"))
        writer.write(Round(index=0, form="plain", take=0))
        writer.write(run.end)
    header, event, round_, _, end = maps(stream.getvalue())
    assert header["drafter"] is None
    assert (header["format"], header["version"], header["detail"]) == ("specstep", 1, "full")
    assert event == {"type": "event", "round": None, "level": "info", "code": "x"}
    assert round_ == {"type": "round", "index": 0, "form": "plain", "take": 0}
    assert end["fell_back_at"] is None


def test_a_token_is_explained_once_and_before_its_first_use(tmp_path: Path) -> None:
    known: set[int] = set()
    for record in open_trace(write_run(tmp_path / "run", a_run(rounds=100))).records():
        match record:
            case Tokens():
                assert not known & record.pieces.keys()
                assert record.pieces == {token: piece(token) for token in record.pieces}
                known |= record.pieces.keys()
            case Round():
                used = {record.t1, record.next, *(record.drafts or ()), *(record.targets or ())}
                assert used <= known


def test_a_token_without_bytes_is_left_unexplained_and_candidates_are_explained(tmp_path: Path) -> None:
    run = a_run(rounds=1)
    with TraceWriter(tmp_path / "run") as writer:
        writer.pieces(lambda token: None if token == 2 else b"%d" % token)
        writer.write(run.header)
        writer.write(msgspec.structs.replace(run.prefill, top=((50, 1.0),)))
        writer.write(msgspec.structs.replace(run.rounds[0], top=(((60, 1.0), (61, 0.5)),), draft_top=(((70, 1.0),),)))
    trace = open_trace(tmp_path / "run")
    assert trace.piece(2) is None
    assert [trace.piece(token) for token in (1, 50, 60, 61, 70)] == [b"1", b"50", b"60", b"61", b"70"]


@pytest.mark.parametrize(
    ("text", "tokens", "prompt"), [("full", True, True), ("ids", False, True), ("none", False, False)]
)
def test_a_trace_tells_no_more_than_its_level(tmp_path: Path, text: Text, tokens: bool, prompt: bool) -> None:
    run = a_run(rounds=300)
    path = tmp_path / "run"
    with TraceWriter(path, text=text) as writer:
        writer.pieces(piece)
        writer.write(run.header)
        writer.write(Tokens(pieces={96: b"given by hand"}))
        for record in (run.prefill, *run.rounds, run.end):
            writer.write(record)
    trace = open_trace(path)
    assert any(isinstance(record, Tokens) for record in trace.records()) == tokens
    assert (trace.piece(5) is not None) == (b"given by hand" in path.read_bytes()) == tokens
    assert (trace.header.prompt == run.header.prompt) == prompt
    assert (trace.header.prompt is None) != prompt
    assert trace.indexed
    assert trace.round(299) == run.rounds[299]


def test_checks_stand_every_256_rounds_and_before_the_end(tmp_path: Path) -> None:
    run = a_run(rounds=600)
    records = list(open_trace(write_run(tmp_path / "run", run)).records())
    assert [record.round for record in records if isinstance(record, Check)] == [256, 512, 600]
    last = [type(record).__name__ for record in records[-3:]]
    assert last == ["Check", "End", "Index"]
    check = records[-3]
    assert isinstance(check, Check)
    assert (check.tokens, check.pos, check.off) == (run.end.emitted, run.rounds[-1].consumed, False)


def test_the_index_is_what_the_format_says(tmp_path: Path) -> None:
    run = a_run(rounds=300)
    path = write_run(tmp_path / "run", run)
    data = path.read_bytes()
    assert data[-18:-8] == b"\xc4\x10SPECIDX1"
    index = msgspec.msgpack.decode(data[int.from_bytes(data[-8:], "big") : -18], type=Index)
    for place, offset in enumerate(index.offsets):
        found = maps(data[offset:])[0]
        assert (found["type"], found["index"]) == ("round", place * index.every)
    assert list(index.counts) == [round_.count for round_ in run.rounds]
    assert all(maps(data[at:])[0]["type"] == "tokens" for at in index.tokens_at)
    assert [maps(data[at:])[0]["round"] for at in index.events_at or ()] == [event.round for event in run.events]


def test_a_round_of_more_than_254_tokens_counts_in_full(tmp_path: Path) -> None:
    run = a_run(rounds=3)
    wide = msgspec.structs.replace(run.rounds[1], emitted=tuple(range(90)) * 4)
    path = tmp_path / "run"
    with TraceWriter(path) as writer:
        for record in (
            run.header,
            run.prefill,
            run.rounds[0],
            wide,
            run.rounds[2],
            msgspec.structs.replace(run.end, emitted=364),
        ):
            writer.write(record)
    trace = open_trace(path)
    assert trace.indexed
    assert trace.counts.tolist() == [1, 360, 3]


def test_records_out_of_order_are_refused(tmp_path: Path) -> None:
    run = a_run()
    with TraceWriter(tmp_path / "run") as writer:
        with pytest.raises(TraceError, match="begins with its header"):
            writer.write(run.prefill)
        writer.write(run.header)
        writer.write(run.end)
        with pytest.raises(TraceError, match="has its end"):
            writer.write(run.rounds[0])
    stream = io.BytesIO()
    late = TraceWriter(stream)
    stream.close()
    with pytest.raises(TraceError, match="closed"):
        late.write(run.header)


def test_a_full_disk_is_said_once_for_each_call_and_named() -> None:
    run = a_run()
    with TraceWriter(Path("/dev/full")) as writer:
        for record in (run.header, run.prefill):
            with pytest.raises(TraceError, match="/dev/full: no space left on device"):
                writer.write(record)


def test_a_file_that_fills_up_keeps_its_whole_records(tmp_path: Path) -> None:
    path, script = tmp_path / "run", (
        "import resource, signal, sys\n"
        "from pathlib import Path\n"
        "from engine.errors import TraceError\n"
        "from engine.trace.writer import TraceWriter\n"
        "from tests.trace.makes import a_run\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (5000, 5000))\n"
        "run, writer = a_run(rounds=100), TraceWriter(Path(sys.argv[1]))\n"
        "try:\n"
        "    for record in (run.header, run.prefill, *run.rounds): writer.write(record)\n"
        "except TraceError as error: print(error)\n"
    )  # fmt: skip
    done = subprocess.run(
        [sys.executable, "-c", script, str(path)], capture_output=True, text=True, cwd=ROOT, check=True
    )
    assert "file too large; the trace stops at byte" in done.stdout
    trace = open_trace(path)
    assert trace.torn is None
    assert 0 < len(trace) < 100


def test_a_pipe_whose_reader_has_gone_is_named() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "wb", buffering=0) as pipe:
        writer = TraceWriter(pipe)
        with pytest.raises(TraceError, match="the reader of the pipe has gone"):
            writer.write(a_run().header)


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    with pytest.raises(TraceError, match="no such file or directory; no trace is written"):
        TraceWriter(tmp_path / "nowhere" / "run")


ROUNDS = 8000
ENDLESS = (
    "import sys\n"
    "from pathlib import Path\n"
    "from engine.trace.writer import TraceWriter\n"
    "from tests.trace.makes import a_run, piece\n"
    f"run, writer = a_run(rounds={ROUNDS}), TraceWriter(Path(sys.argv[1]))\n"
    "writer.pieces(piece)\n"
    "for record in (run.header, run.prefill, *run.rounds): writer.write(record)\n"
    "sys.stdin.read()\n"
)


def kill_a_writer(path: Path, size: int) -> None:
    """Let a process write as fast as it can, and kill it once the trace has that size."""
    path.unlink(missing_ok=True)
    with subprocess.Popen([sys.executable, "-c", ENDLESS, str(path)], stdin=subprocess.PIPE, cwd=ROOT) as writer:
        while not path.exists() or path.stat().st_size < size:
            assert writer.poll() is None, "the writer ended by itself"
            time.sleep(0.001)
        writer.send_signal(signal.SIGKILL)


def check_killed(path: Path, times: int, seed: int) -> None:
    """Whatever stands in the file is whole rounds, in order and as they were made."""
    rng, run = random.Random(seed), a_run(rounds=ROUNDS)
    for _ in range(times):
        size = rng.randrange(500, 100 * ROUNDS)
        kill_a_writer(path, size)
        trace = open_trace(path)
        assert trace.end_missing
        assert path.stat().st_size >= size
        assert tuple(record for record in trace.records() if isinstance(record, Round)) == run.rounds[: len(trace)]
        assert len(trace) > size / 1000
        assert trace.torn is None or trace.torn.record == len(list(trace.records()))


def test_a_killed_writer_leaves_whole_rounds(tmp_path: Path) -> None:
    check_killed(tmp_path / "run", times=3, seed=1)


@pytest.mark.slow
def test_two_hundred_killed_writers_leave_whole_rounds(tmp_path: Path) -> None:
    check_killed(tmp_path / "run", times=200, seed=2)
