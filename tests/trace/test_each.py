"""All rounds of a trace with a few keys each, and what its records are, without reading more than that takes."""

from collections import Counter
from pathlib import Path

import msgspec
import pytest

from engine.errors import TraceError
from engine.stats import READ, Costs, Stats
from engine.trace.reader import open_trace
from engine.trace.writer import TraceWriter
from tests.trace.makes import a_run, write_run

ROOT = Path(__file__).parents[2]
TRACES = sorted([*ROOT.glob("recordings/**/*.msgpack"), *ROOT.glob("tests/vectors/traces/*.msgpack")])


@pytest.mark.parametrize("path", TRACES, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_each_round_comes_once_and_as_it_stands(path: Path) -> None:
    with open_trace(path, salvage=True) as trace:
        whole = [trace.round(index) for index in range(len(trace))]
        parts = list(trace.each(("form", "take", "emitted", "n_emitted", "ms")))
        assert [(part.form, part.take, part.count, part.ms) for part in parts] == [
            (round_.form, round_.take, round_.count, round_.ms) for round_ in whole
        ]
        assert Stats.of(trace.each(READ)).as_map() == Stats.of(whole).as_map()


@pytest.mark.parametrize("path", TRACES, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_types_are_those_of_the_maps(path: Path) -> None:
    with open_trace(path, salvage=True) as trace:
        assert list(trace.types()) == [str(raw.fields.get("type")) for raw in trace.raw_records()]


def test_a_type_that_is_no_text_is_named_as_it_stands(tmp_path: Path) -> None:
    path = tmp_path / "odd.msgpack"
    with TraceWriter(path) as writer:
        writer.write(a_run(1).header)
    path.write_bytes(path.read_bytes() + msgspec.msgpack.encode({"type": 7}) + msgspec.msgpack.encode({"kind": "x"}))
    with open_trace(path) as trace:
        assert Counter(trace.types()) == {"header": 1, "7": 1, "None": 1}


def test_rounds_before_one_that_cannot_be_read_come_out(tmp_path: Path) -> None:
    run = a_run(3)
    path = tmp_path / "odd.msgpack"
    with TraceWriter(path) as writer:
        for record in (run.header, run.prefill, *run.rounds):
            writer.write(record)
    bad = msgspec.msgpack.encode({"type": "round", "index": 3, "form": "plain", "take": "many"})
    path.write_bytes(path.read_bytes() + bad)
    with open_trace(path) as trace:
        rounds = trace.each(("form", "take"))
        assert [next(rounds).take for _ in range(3)] == [0, 1, 2]
        with pytest.raises(TraceError, match="take"):
            next(rounds)


def test_long_traces_are_read_in_parts(tmp_path: Path) -> None:
    path = write_run(tmp_path / "long.msgpack", a_run(1000))
    with open_trace(path) as trace:
        assert [round_.index for round_ in trace.each(("index",))] == list(range(1000))


@pytest.mark.parametrize("path", TRACES, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_costs_are_those_of_the_figures(path: Path) -> None:
    costs = Costs()
    with open_trace(path, salvage=True) as trace:
        stats = Stats.of(trace.each(READ))
        for round_ in trace.each(READ):
            costs.add(round_)
    assert (costs.plain_ms(), costs.round_ms()) == (stats.plain_ms(), stats.round_ms())
    assert costs.break_even() == stats.break_even()
