"""Files that hold totals only: a summary, and no invented round."""

import math
from pathlib import Path

import pytest

from engine.errors import Refused
from engine.records import BaseInfo, End, Header
from engine.stats import Stats
from engine.trace import importers
from engine.trace.importers.request import Totals
from engine.trace.reader import open_trace
from engine.trace.writer import TraceWriter
from tests.cli.commands import specstep

SAMPLES = Path(__file__).parent / "samples"


@pytest.mark.parametrize(
    ("format_", "sample"),
    [
        ("sglang", "sglang-response.json"),
        ("sglang", "sglang-finish.log"),
        ("aiperf", "aiperf-aggregate.json"),
        ("ort-genai", "genai-final.json"),
        ("llama-server", "llama-totals.log"),
    ],
)
def test_totals_become_a_trace_without_rounds(format_: str, sample: str, tmp_path: Path) -> None:
    path = tmp_path / "run.msgpack"
    found = importers.read(format_, SAMPLES / sample)
    importers.write(importers.choose(found, None), found.problems, format_, path)
    trace = open_trace(path)
    assert (len(trace), trace.header.detail) == (0, "counts")
    assert trace.end is not None
    assert trace.end.stats["draft_acceptance_rate"] == 0.5
    assert "import.summary" in [event.code for event in trace.events()]


def test_rates_are_recomputed_and_the_reported_ones_kept_beside_them() -> None:
    request = importers.choose(importers.read("sglang", SAMPLES / "sglang-response.json"), None)
    assert request.reported is not None
    assert request.reported["spec_accept_rate"] == 0.36
    assert request.reason == "max_tokens"


def test_an_evaluated_rate_needs_the_judged_drafts(tmp_path: Path) -> None:
    path = tmp_path / "run.msgpack"
    found = importers.read("ort-genai", SAMPLES / "genai-final.json")
    importers.write(importers.choose(found, None), (), "ort-genai", path)
    end = open_trace(path).end
    assert end is not None
    assert end.stats["evaluated_acceptance_rate"] == 0.75
    assert end.stats["tokens_per_round"] == pytest.approx(2.8)
    assert end.stats["draft_share"] == pytest.approx(9 / 15)


def test_the_figures_of_a_summary_are_those_of_its_file(tmp_path: Path) -> None:
    path = tmp_path / "run.msgpack"
    assert specstep("import", "vllm", SAMPLES / "vllm-summary.jsonl", "-o", path).code == 0
    figures = specstep("stats", path, "--json").json
    assert (figures["rounds"], figures["draft_acceptance_rate"]) == (8, pytest.approx(13 / 30))
    assert (figures["detail"], figures["plain_rounds"], figures["verified"]) == ("summary", None, None)
    assert "0.433" in specstep("stats", path).out
    assert specstep("export", path, "--to", "json", "-o", "-").json["stats"] == figures
    assert specstep("diff", path, path, "--json").json["left"]["figures"] == figures
    assert "<dd>0.433</dd>" in specstep("export", path, "--to", "html", "-o", "-").out


@pytest.mark.parametrize("value", ["\x1b[31m", [1], {"a": 1}, math.nan, -1, True, b"\xff"], ids=repr)
def test_what_a_summary_says_and_is_no_figure_is_not_known(value: object, tmp_path: Path) -> None:
    path, names = tmp_path / "run.msgpack", list(Stats().as_map())
    end = End(reason="stop", stats={**dict.fromkeys([*names, "more"], value), "detail": "summary"})
    with TraceWriter(path) as writer:
        writer.write(Header(version=1, minor=0, base=BaseInfo(name="base"), detail="counts"))
        writer.write(end)
    figures = specstep("stats", path, "--json").json
    assert list(figures) == names
    assert (figures["emitted"], figures["ms"], figures["per_position"]["unconditional"]) == (None, {}, [])
    for words in (("stats",), ("export", "--to", "html", "-o", "-"), ("export", "--to", "svg", "-o", "-")):
        assert specstep(*words, path).code == 0


def test_totals_of_several_requests_add_up(tmp_path: Path) -> None:
    path = tmp_path / "run.msgpack"
    found = importers.read("vllm", SAMPLES / "vllm-summary.jsonl")
    importers.write(importers.choose(found, None), (), "vllm", path)
    end = open_trace(path).end
    assert end is not None
    assert (end.stats["rounds"], end.stats["drafted"], end.stats["accepted"]) == (8, 30, 13)
    assert end.stats["per_position"]["unconditional"] == pytest.approx([5 / 8, 4 / 8, 2 / 8, 2 / 8])
    assert importers.choose(found, "two").totals == found.requests[1].totals


def test_averages_of_a_log_are_quoted_and_give_no_counts() -> None:
    request = importers.choose(importers.read("sglang", SAMPLES / "sglang.log"), None)
    assert request.totals == Totals()
    assert request.reported is not None
    assert request.reported["accept_len"] == {"min": 1.5, "median": pytest.approx(2.015), "max": 2.53}


def test_several_requests_with_rounds_must_be_chosen_from(tmp_path: Path) -> None:
    path = tmp_path / "two.jsonl"
    row = '{"id": "%s", "metrics": {"speculative_decoding": {"per_step_accepted": [1], "per_step_drafted": [2]}}}'
    path.write_text("\n".join(row % name for name in ("a", "b")))
    found = importers.read("vllm", path)
    with pytest.raises(Refused, match=r"2 requests.*--request from 'a', 'b'"):
        importers.choose(found, None)
    assert importers.choose(found, "b").name == "b"
    with pytest.raises(Refused, match="no request 'c'"):
        importers.choose(found, "c")
