"""Files that list rounds: each format yields the same five, in one convention."""

from pathlib import Path

import pytest

from engine.records import Round
from engine.stats import Stats
from engine.trace import importers
from engine.trace.importers import Request

SAMPLES = Path(__file__).parent / "samples"
FIVE = [(4, 4), (4, 0), (4, 1), (2, 2), (4, 2)]


def the_request(format_: str, sample: str) -> Request:
    return importers.choose(importers.read(format_, SAMPLES / sample), None)


def drafted(request: Request) -> list[Round]:
    return [round_ for round_ in request.rounds if round_.form != "plain"]


@pytest.mark.parametrize(
    ("format_", "sample"),
    [
        ("vllm", "vllm-detailed.json"),
        ("vllm", "vllm-stream.txt"),
        ("dflash-mlx", "dflash-cycles.jsonl"),
        ("llama-server", "llama-verbose.log"),
        ("llama-server", "llama-stamped.log"),
        ("aiperf", "aiperf-records.jsonl"),
        ("ort-genai", "genai-snapshots.jsonl"),
    ],
)
def test_every_format_that_lists_rounds_gives_the_same_five(format_: str, sample: str) -> None:
    request = the_request(format_, sample)
    assert [(round_.n_drafts, round_.take) for round_ in drafted(request)] == FIVE
    stats = Stats.of(request.rounds)
    figures = stats.as_map(detail="counts")
    assert (figures["draft_acceptance_rate"], figures["tokens_per_round"]) == pytest.approx((0.5, 2.8))
    assert stats.by_position.unconditional == pytest.approx((0.8, 0.6, 0.2, 0.2))


def test_the_correction_is_no_part_of_the_round_that_made_it() -> None:
    request = the_request("vllm", "vllm-detailed.json")
    assert [round_.n_emitted for round_ in request.rounds] == [5, 1, 2, 3, 3]
    # vLLM gave out 15 tokens: the prefill's, 9 drafts, 5 corrections. The last correction is in no round here.
    assert sum(round_.count for round_ in request.rounds) == 14


def test_a_request_cut_inside_its_last_step_emits_less_there() -> None:
    request = the_request("vllm", "vllm-stream.txt")
    assert sum(round_.count for round_ in request.rounds) == 14
    body = (SAMPLES / "vllm-detailed.json").read_text()
    cut = body.replace('"completion_tokens": 15', '"completion_tokens": 13').replace("length", "stop", 1)
    assert last_of(cut) == (2, 2, "stop")
    assert last_of(body.replace('"completion_tokens": 15', '"completion_tokens": 13')) == (2, 2, "budget")


@pytest.mark.parametrize(
    "prefix",
    [
        "",
        "[100] ",
        "2026-05-14 22:40:00.708 | ",
        "0.06.895.980 D ",
        "May 21 07:23:00 box run[59]: ",
        "\x1b[32m[MOE]\x1b[0m ",
    ],
)
def test_what_stands_before_a_line_of_llama_server_does_not_matter(prefix: str, tmp_path: Path) -> None:
    path = tmp_path / "server.log"
    rows = (SAMPLES / "llama-verbose.log").read_text().splitlines()
    path.write_text("\r\n".join(prefix + row for row in rows))
    request = importers.choose(importers.read("llama-server", path), None)
    assert [(round_.n_drafts, round_.take) for round_ in drafted(request)] == FIVE
    assert (request.name, request.prompt_tokens, request.reason) == ("task 7", 100, "stop")


def test_two_tasks_of_a_log_are_told_apart(tmp_path: Path) -> None:
    path = tmp_path / "server.log"
    one = (SAMPLES / "llama-verbose.log").read_text().splitlines()
    other = (SAMPLES / "llama-zero-drafts.log").read_text().splitlines()
    path.write_text("\n".join(row for pair in zip(one[2:5], other, strict=True) for row in pair))
    found = importers.read("llama-server", path)
    assert [(request.name, len(request.rounds)) for request in found.requests] == [("task 7", 3), ("task 0", 3)]


def last_of(body: str) -> tuple[int, int | None, str | None]:
    import tempfile  # noqa: PLC0415

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "response.json"
        path.write_text(body)
        last = importers.choose(importers.read("vllm", path), None).rounds[-1]
    return last.take, last.n_emitted, last.cut


def test_steps_that_the_file_does_not_list_are_told_and_not_invented(tmp_path: Path) -> None:
    path = tmp_path / "response.json"
    body = (SAMPLES / "vllm-detailed.json").read_text()
    path.write_text(body.replace('"completion_tokens": 15', '"completion_tokens": 40'))
    request = importers.choose(importers.read("vllm", path), None)
    assert len(request.rounds) == 5
    assert [note.code for note in request.notes] == ["import.plain-steps"]
    assert "25 of 40" in request.notes[0].message


def test_totals_that_contradict_the_steps_are_a_warning(tmp_path: Path) -> None:
    path = tmp_path / "response.json"
    path.write_text(
        (SAMPLES / "vllm-detailed.json").read_text().replace('"num_draft_tokens": 18', '"num_draft_tokens": 20')
    )
    request = importers.choose(importers.read("vllm", path), None)
    assert [(note.level, note.message) for note in request.notes] == [
        ("warning", "num_draft_tokens is 20, its steps give 18")
    ]


def test_a_block_of_dflash_counts_its_anchor_and_a_narrow_verify_is_kept() -> None:
    request = the_request("dflash-mlx", "dflash-cycles.jsonl")
    assert (request.k, request.drafter and request.drafter.block_size) == (4, 5)
    assert [round_.verified for round_ in request.rounds] == [None, 2, None, None, None, None]
    assert request.rounds[0].ms == pytest.approx(
        {"draft": 0.9, "verify": 4.0, "accept": 0.05, "rollback": 0.1, "other": 0.05}
    )
    last = request.rounds[-1]
    assert (last.form, last.count, (last.ms or {})["step"]) == ("plain", 1, 2.0)


def test_the_positions_of_a_llama_server_log_tell_the_steps_between_its_lines() -> None:
    request = the_request("llama-server", "llama-verbose.log")
    assert [round_.form == "plain" for round_ in request.rounds] == [False, False, False, True, True, False, False]
    assert [round_.pos for round_ in request.rounds] == [100, 105, 106, 108, 109, 110, 113]
    assert request.rounds[-1].consumed == 116
    assert (request.reason, request.prompt_tokens, request.ttft_ms) == ("stop", 100, 58.87)


def test_time_stamps_give_the_time_of_rounds_that_stand_alone() -> None:
    request = the_request("llama-server", "llama-stamped.log")
    times = [None if round_.ms is None else round_.ms["other"] for round_ in request.rounds]
    assert times == [pytest.approx(30.5), pytest.approx(20.0), pytest.approx(20.0), None, None, None, pytest.approx(20)]
    assert request.drafter is not None
    assert request.drafter.kind == "mtp"


def test_a_build_that_logs_no_draft_counts_gives_tokens_a_round_and_no_rate() -> None:
    request = the_request("llama-server", "llama-zero-drafts.log")
    figures = Stats.of(request.rounds).as_map(detail="counts")
    assert figures["tokens_per_round"] == pytest.approx(18 / 3)
    assert figures["draft_acceptance_rate"] is None
    assert [note.code for note in request.notes] == ["import.drafts-unknown"]


def test_a_replay_after_a_checkpoint_is_not_counted_as_acceptance() -> None:
    request = the_request("llama-server", "llama-replayed.log")
    assert [(round_.form, round_.n_drafts, round_.take) for round_ in request.rounds] == [
        ("one-pass", 4, 2),
        ("plain", 0, 0),
        ("one-pass", 4, 4),
    ]
    assert [round_.consumed for round_ in request.rounds] == [53, 54, 59]
    assert [note.code for note in request.notes] == ["import.replayed"]


def test_snapshots_of_counters_give_rounds_and_their_times() -> None:
    request = the_request("ort-genai", "genai-snapshots.jsonl")
    assert [round_.form for round_ in request.rounds].index("plain") == 3
    assert request.rounds[4].ms == pytest.approx({"draft": 0.5, "verify": 5.0})


def test_snapshots_too_far_apart_give_totals(tmp_path: Path) -> None:
    path = tmp_path / "stats.jsonl"
    rows = (SAMPLES / "genai-snapshots.jsonl").read_text().splitlines()
    path.write_text("\n".join((rows[0], rows[3])))
    request = importers.choose(importers.read("ort-genai", path), None)
    assert not request.rounds
    assert request.totals is not None
    assert (request.totals.rounds, request.totals.judged) == (3, 7)
