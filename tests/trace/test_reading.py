"""Traces made by others read as they stand: whole, torn, without an end, with an index and without."""

import json
from pathlib import Path
from typing import Any

import msgpack
import pytest

from engine.errors import TraceError
from engine.records import Round
from engine.trace.reader import open_trace
from engine.trace.writer import TraceWriter
from tests.trace.makes import a_run, write_run

VECTORS = Path(__file__).parent.parent / "vectors" / "traces"
NAMES = sorted(path.stem for path in VECTORS.glob("*.msgpack"))


def maps(path: Path) -> list[dict[str, Any]]:
    """The maps in a file as another library finds them; it stops silently at a torn one."""
    with path.open("rb") as file:
        return [found for found in msgpack.Unpacker(file, strict_map_key=False) if isinstance(found, dict)]


def test_all_eleven_vectors_are_here() -> None:
    assert sorted(json.loads((VECTORS / "expected.json").read_text())) == NAMES
    assert len(NAMES) == 11


@pytest.mark.parametrize("name", NAMES)
def test_a_vector_reads_as_another_library_reads_it(name: str) -> None:
    path = VECTORS / f"{name}.msgpack"
    found = maps(path)
    rounds = [record for record in found if record["type"] == "round"]
    with open_trace(path) as trace:
        assert len(trace) == len(rounds)
        assert trace.header.prompt == tuple(found[0]["prompt"])
        assert trace.prefill is not None
        assert trace.prefill.next == next(record["next"] for record in found if record["type"] == "prefill")
        assert trace.counts.tolist() == [len(round_["emitted"]) for round_ in rounds]
        for at, expected in enumerate(rounds):
            round_ = trace.round(at)
            for key in ("index", "form", "pos", "t1", "limit", "take", "next", "consumed", "reason", "ms"):
                assert getattr(round_, key) == expected.get(key)
            assert list(round_.emitted or ()) == expected["emitted"]
        pieces = {
            token: piece for record in found if record["type"] == "tokens" for token, piece in record["pieces"].items()
        }
        assert {token: trace.piece(token) for token in pieces} == pieces
        assert trace.piece(10**6) is None
        assert [record.fields for record in trace.raw_records()] == found
        assert trace.end_missing == ("end" not in {record["type"] for record in found})
        assert (trace.torn is not None) == (name == "torn-mid-record")
        assert trace.indexed == (name in ("clean-fallback", "clean-one-pass"))


def test_a_torn_trace_names_the_byte_and_the_record() -> None:
    trace = open_trace(VECTORS / "torn-mid-record.msgpack")
    assert trace.torn is not None
    assert trace.torn.record == len(maps(trace.path)) == len(list(trace.records()))
    assert trace.torn.byte == sum(len(record.data) for record in trace.raw_records()) < trace.path.stat().st_size
    assert "middle of a record" in trace.torn.reason


def test_what_is_written_is_read_back(tmp_path: Path) -> None:
    run = a_run(rounds=300)
    path = write_run(tmp_path / "run.msgpack", run)
    trace = open_trace(path)
    assert trace.indexed
    assert (trace.header, trace.prefill, trace.end) == (run.header, run.prefill, run.end)
    assert tuple(trace.round(at) for at in range(len(trace))) == run.rounds
    assert trace.events() == run.events
    assert not trace.live
    assert trace.torn is None
    typed = [record for record in trace.records() if isinstance(record, Round)]
    assert tuple(typed) == run.rounds


def test_a_round_outside_the_trace_is_an_index_error(tmp_path: Path) -> None:
    trace = open_trace(write_run(tmp_path / "run.msgpack", a_run(rounds=3)))
    for outside in (-1, 3):
        with pytest.raises(IndexError):
            trace.round(outside)


def test_a_closed_trace_says_so(tmp_path: Path) -> None:
    with open_trace(write_run(tmp_path / "run", a_run(rounds=3))) as trace:
        pass
    with pytest.raises(TraceError, match="closed"):
        trace.round(0)


def test_no_file_a_folder_and_an_empty_file_are_clear_errors(tmp_path: Path) -> None:
    (tmp_path / "empty").touch()
    (tmp_path / "text").write_text("hello")
    for name, what in (
        ("none", "no such file"),
        (".", "not a regular file"),
        ("empty", "empty"),
        ("text", "not a trace"),
    ):
        with pytest.raises(TraceError, match=what):
            open_trace(tmp_path / name)


def test_a_higher_version_is_refused_and_a_higher_minor_is_not(tmp_path: Path) -> None:
    path = tmp_path / "later.msgpack"
    header = {"type": "header", "format": "specstep", "version": 1, "minor": 9, "base": {"name": "b", "vocab_size": 5}}
    path.write_bytes(msgpack.packb(header))
    assert open_trace(path).header.minor == 9
    path.write_bytes(msgpack.packb(header | {"version": 2, "base": "whatever it will be"}))
    with pytest.raises(TraceError, match="version 2") as caught:
        open_trace(path)
    assert caught.value.byte == 0


def test_a_growing_trace_is_taken_in_by_refresh(tmp_path: Path) -> None:
    run = a_run(rounds=70)
    path = tmp_path / "growing.msgpack"
    with TraceWriter(path) as writer:
        writer.write(run.header)
        trace = open_trace(path, follow=True)
        assert trace.live
        writer.write(run.prefill)
        for count, round_ in enumerate(run.rounds, 1):
            writer.write(round_)
            assert trace.refresh() == 1
            assert len(trace) == count
            assert trace.round(count - 1) == round_
        writer.write(run.end)
        assert trace.refresh() == 0
    assert trace.end == run.end
    assert trace.prefill == run.prefill
    assert not trace.live
