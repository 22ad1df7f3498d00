"""Traces made out of traces keep what they must and lose what they should."""

import os
from pathlib import Path
from typing import Any

import msgpack
import pytest

from engine.errors import TraceError
from engine.trace.checks import verify_checks
from engine.trace.reader import open_trace
from engine.trace.rewrite import recover, redact, reindex
from tests.trace.makes import a_run, write_run

LATER = {"type": "later", "value": {1: b"\xff", "text": "kept"}}


def with_later(path: Path, rounds: int = 300) -> Path:
    """A trace with a record and keys of a later version, and without an index."""
    made: list[bytes] = []
    for raw in open_trace(write_run(path, a_run(rounds=rounds), index=False)).raw_records():
        made.append(msgpack.packb(raw.fields | {"tomorrow": [1, 2.5]}))
        if raw.fields["type"] == "prefill":
            made.append(msgpack.packb(LATER))
    path.write_bytes(b"".join(made))
    return path


def fields(path: Path) -> list[dict[Any, Any]]:
    """Every record as a map, but for the sums of the checks, which follow the bytes, and the index."""
    kept = [dict(raw.fields) for raw in open_trace(path).raw_records() if raw.fields["type"] != "index"]
    for record in kept:
        if record["type"] == "check":
            record.pop("bytes"), record.pop("crc32")
    return kept


def test_an_index_is_made_anew_and_nothing_else_changes(tmp_path: Path) -> None:
    source = with_later(tmp_path / "source")
    assert not open_trace(source).indexed
    done = reindex(source, tmp_path / "target")
    trace = open_trace(tmp_path / "target")
    assert fields(tmp_path / "target") == fields(source)
    assert trace.indexed
    assert verify_checks(trace).damage == ()
    assert (done.rounds, done.size, done.lost) == (300, (tmp_path / "target").stat().st_size, None)


@pytest.mark.parametrize("text", ["ids", "none"])
def test_a_redacted_trace_has_no_text_and_all_its_numbers(tmp_path: Path, text: Any) -> None:
    source = with_later(tmp_path / "source")
    redact(source, tmp_path / "target", text)
    trace = open_trace(tmp_path / "target")
    expected = [record for record in fields(source) if record["type"] != "tokens"]
    if text == "none":
        del expected[0]["prompt"]
    assert fields(tmp_path / "target") == expected
    assert b" t5" not in (tmp_path / "target").read_bytes()
    assert trace.indexed
    assert verify_checks(trace).damage == ()
    assert (tmp_path / "target").stat().st_mode & 0o777 == 0o600


def test_a_trace_can_be_rewritten_in_place(tmp_path: Path) -> None:
    path = write_run(tmp_path / "run", a_run(rounds=300))
    before = open_trace(path)
    redact(path, path, "none")
    assert open_trace(path).header.prompt is None
    assert before.round(299) == open_trace(path).round(299)
    assert [file.name for file in tmp_path.iterdir()] == ["run"]


def test_what_a_link_points_at_is_rewritten_and_the_link_stays(tmp_path: Path) -> None:
    path = write_run(tmp_path / "run", a_run(rounds=3))
    link = tmp_path / "link"
    link.symlink_to(path)
    redact(link, link, "none")
    assert link.is_symlink()
    assert open_trace(path).header.prompt is None


def test_a_pipe_is_written_to_and_not_replaced(tmp_path: Path) -> None:
    path, pipe = write_run(tmp_path / "run", a_run(rounds=3)), tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDWR)
    done = reindex(path, pipe)
    made = os.read(reader, done.size + 1)
    os.close(reader)
    assert pipe.is_fifo()
    reindex(path, path)
    assert made == path.read_bytes()


def test_a_file_of_the_name_that_stood_in_for_it_is_left_alone(tmp_path: Path) -> None:
    path = write_run(tmp_path / "run", a_run(rounds=3))
    other = tmp_path / "run.part"
    other.write_text("mine")
    reindex(path, path)
    assert other.read_text() == "mine"


def test_a_torn_trace_is_recovered_and_says_so(tmp_path: Path) -> None:
    run = a_run(rounds=300)
    whole = write_run(tmp_path / "whole", run)
    at = next(raw.byte for raw in open_trace(whole).raw_records() if raw.fields.get("index") == 280)
    torn = tmp_path / "torn"
    torn.write_bytes(whole.read_bytes()[: at + 20])
    done = recover(torn, tmp_path / "saved")
    saved = open_trace(tmp_path / "saved")
    assert done.rounds == len(saved) == 280
    assert done.lost is not None
    assert f"byte {at}" in done.lost
    assert [saved.round(index) for index in range(280)] == list(run.rounds[:280])
    assert saved.end is not None
    assert (saved.end.reason, saved.end.rounds, saved.end.emitted) == ("aborted", 280, sum(saved.counts.tolist()))
    event = saved.events()[-1]
    assert (event.code, event.level, event.round) == ("recovered", "warning", 279)
    assert done.lost in event.message
    assert saved.indexed
    assert verify_checks(saved).damage == ()


def test_a_trace_without_an_end_gets_one_and_a_whole_one_only_an_index(tmp_path: Path) -> None:
    vectors = Path(__file__).parent.parent / "vectors" / "traces"
    done = recover(vectors / "torn-no-end.msgpack", tmp_path / "ended")
    ended = open_trace(tmp_path / "ended")
    assert ended.end is not None
    assert ended.end.reason == "aborted"
    assert done.lost is None
    assert "writer stopped" in ended.events()[0].message
    assert recover(vectors / "clean-fallback.msgpack", tmp_path / "same").lost is None
    assert fields(tmp_path / "same") == fields(vectors / "clean-fallback.msgpack")


def test_fell_back_at_of_a_recovered_trace_is_that_of_its_rounds(tmp_path: Path) -> None:
    whole = Path(__file__).parent.parent / "vectors" / "traces" / "clean-fallback.msgpack"
    torn = tmp_path / "torn"
    torn.write_bytes(whole.read_bytes()[:6000])
    recover(torn, tmp_path / "saved")
    end = open_trace(tmp_path / "saved").end
    assert end is not None
    assert end.fell_back_at == 6


def test_damage_between_records_ends_the_recovered_trace_there(tmp_path: Path) -> None:
    path = write_run(tmp_path / "run", a_run(rounds=300))
    data = bytearray(path.read_bytes())
    at = next(raw.byte for raw in open_trace(path).raw_records() if raw.fields.get("index") == 100)
    data[at] = 0xC1
    path.write_bytes(data)
    with pytest.raises(TraceError, match="recover the trace first"):
        redact(path, tmp_path / "redacted", "ids")
    assert not (tmp_path / "redacted").exists()
    assert recover(path, tmp_path / "saved").rounds == 100
    assert open_trace(tmp_path / "saved").events()[-1].round == 99


def test_a_trace_whose_index_is_torn_keeps_its_own_end(tmp_path: Path) -> None:
    run = a_run(rounds=10)
    path = write_run(tmp_path / "run", run)
    path.write_bytes(path.read_bytes()[:-30])
    done = recover(path, tmp_path / "saved")
    saved = open_trace(tmp_path / "saved")
    assert done.lost is not None
    assert saved.end == run.end
    assert [event.code for event in saved.events()] == ["mark", "recovered"]


def test_an_end_that_cannot_be_read_is_replaced(tmp_path: Path) -> None:
    path = write_run(tmp_path / "run", a_run(rounds=10), index=False)
    raws = list(open_trace(path).raw_records())
    path.write_bytes(b"".join(raw.data for raw in raws[:-1]) + msgpack.packb({"type": "end", "reason": 7}))
    with pytest.raises(TraceError, match=f"end record at byte {raws[-1].byte}"):
        open_trace(path)
    done = recover(path, tmp_path / "saved")
    saved = open_trace(tmp_path / "saved")
    assert done.lost is not None
    assert done.rounds == 10
    assert saved.end is not None
    assert saved.end.reason == "aborted"
