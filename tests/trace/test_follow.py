"""A trace that grows is seen record by record, soon and whole, and its end or its silence is said."""

import io
import os
import subprocess
import sys
import threading
from pathlib import Path

import msgspec
import pytest

from engine.errors import TraceError
from engine.records import End, Header, Round
from engine.trace.follow import POLL, Closed, Quiet, RecordStream, follow
from engine.trace.writer import TraceWriter
from tests.trace.makes import a_run, write_run

ROOT = Path(__file__).parents[2]

SLOW_WRITER = (
    "import sys\n"
    "from pathlib import Path\n"
    "from engine.trace.writer import TraceWriter\n"
    "from tests.trace.makes import a_run\n"
    "run = a_run(rounds=5)\n"
    "with TraceWriter(Path(sys.argv[1])) as writer:\n"
    "    writer.write(run.header)\n"
    "    print('ready', flush=True)\n"
    "    for round_ in run.rounds:\n"
    "        writer.write(round_)\n"
    "    writer.write(run.end)\n"
)


def test_each_record_is_seen_at_the_first_look_behind_it(tmp_path: Path) -> None:
    run = a_run(rounds=5)
    records, seen, looks = [run.header, *run.rounds, run.end], 0, 0
    with TraceWriter(tmp_path / "run") as writer:
        writer.write(run.header)

        def wait(seconds: float) -> None:
            nonlocal looks
            looks += 1
            assert seconds == POLL
            assert seen == looks
            writer.write(records[looks])

        for record in follow(tmp_path / "run", wait=wait):
            if isinstance(record, Header | Round | End):
                assert record == records[seen]
                seen += 1
    assert seen == len(records)


def test_a_trace_that_another_process_writes_is_followed_up_to_its_end(tmp_path: Path) -> None:
    path = tmp_path / "run"
    with subprocess.Popen([sys.executable, "-c", SLOW_WRITER, str(path)], stdout=subprocess.PIPE, cwd=ROOT) as writer:
        assert writer.stdout is not None
        writer.stdout.readline()
        seen = list(follow(path))
    assert isinstance(seen[0], Header)
    assert isinstance(seen[-1], End)
    assert tuple(record for record in seen if isinstance(record, Round)) == a_run(rounds=5).rounds


def test_a_torn_record_is_not_seen_until_it_is_whole() -> None:
    run, stream = a_run(rounds=2), RecordStream()
    list(stream.feed(msgspec.msgpack.encode(run.header)))
    data = msgspec.msgpack.encode(run.rounds[0])
    for at in range(len(data) - 1):
        assert list(stream.feed(data[at : at + 1])) == []
    assert list(stream.feed(data[-1:])) == [run.rounds[0]]
    assert not stream.ended
    assert list(stream.feed(msgspec.msgpack.encode(run.end))) == [run.end]
    assert stream.ended


def test_damage_is_raised_behind_the_records_before_it() -> None:
    run, stream = a_run(rounds=1), RecordStream()
    header, round_ = (msgspec.msgpack.encode(record) for record in (run.header, run.rounds[0]))
    arriving = stream.feed(header + round_ + bytes(100))
    assert [next(arriving), next(arriving)] == [run.header, run.rounds[0]]
    with pytest.raises(TraceError, match="zero bytes") as caught:
        next(arriving)
    assert caught.value.byte == len(header + round_)


def test_a_stream_of_something_else_is_refused() -> None:
    with pytest.raises(TraceError, match="no header"):
        list(RecordStream().feed(msgspec.msgpack.encode(a_run().prefill)))


class Clock:
    """Time that passes only while somebody waits."""

    def __init__(self) -> None:
        self.now = 0.0

    def wait(self, seconds: float) -> None:
        self.now += seconds

    def read(self) -> float:
        return self.now


def test_silence_is_said_once_until_something_comes_again(tmp_path: Path) -> None:
    run, clock = a_run(rounds=2), Clock()
    with TraceWriter(tmp_path / "run", index=False) as writer:
        writer.write(run.header)
        watched = follow(tmp_path / "run", quiet_after=2.0, clock=clock.read, wait=clock.wait)
        assert next(watched) == run.header
        silence = next(watched)
        assert isinstance(silence, Quiet)
        assert silence.seconds == pytest.approx(2.0, abs=0.15)
        assert silence.pending == 0
        writer.write(run.rounds[0])
        assert next(watched) == run.rounds[0]
        assert isinstance(next(watched), Quiet)
        writer.write(run.end)
        assert list(watched)[-1] == run.end


def test_a_pipe_is_followed_until_it_is_closed(tmp_path: Path) -> None:
    data = write_run(tmp_path / "run", a_run(rounds=4), index=False).read_bytes()
    reading, writing = os.pipe()

    def write() -> None:
        with os.fdopen(writing, "wb", buffering=0) as pipe:
            pipe.write(data[:500])
            pipe.write(data[500:])

    writer = threading.Thread(target=write)
    writer.start()
    with os.fdopen(reading, "rb") as pipe:
        seen = list(follow(pipe))
    writer.join()
    assert isinstance(seen[-1], End)
    assert sum(isinstance(record, Round) for record in seen) == 4


def test_a_pipe_closed_too_early_says_what_was_left_unfinished(tmp_path: Path) -> None:
    data = write_run(tmp_path / "run", a_run(rounds=4), index=False).read_bytes()
    last = list(follow(io.BytesIO(data[:-60])))[-1]
    assert isinstance(last, Closed)
    assert last.torn is not None
    assert "middle of a record" in last.torn.reason


def test_a_file_that_is_cut_while_it_is_followed_is_an_error(tmp_path: Path) -> None:
    path = write_run(tmp_path / "run", a_run(rounds=4))
    path.write_bytes(path.read_bytes()[:800])
    watched = follow(path)
    next(watched)
    path.write_bytes(b"")
    with pytest.raises(TraceError, match="cut or replaced"):
        list(watched)
