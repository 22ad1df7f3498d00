"""``specstep import`` as a program: what it prints, what it writes, how it ends when a file is not as it should be."""

import json
from pathlib import Path

import pytest

from engine.commands.exits import Exit
from engine.errors import TraceError
from engine.trace.audit import audit
from engine.trace.importers import FORMATS, read
from engine.trace.reader import open_trace
from tests.cli.commands import Finished, specstep

SAMPLES = Path(__file__).parent / "samples"
GOOD = {
    "vllm": ("vllm-detailed.json", 5),
    "dflash-mlx": ("dflash-cycles.jsonl", 6),
    "llama-server": ("llama-verbose.log", 7),
    "sglang": ("sglang-response.json", 0),
    "aiperf": ("aiperf-records.jsonl", 5),
    "ort-genai": ("genai-snapshots.jsonl", 6),
}


def run(*arguments: str | Path) -> Finished:
    return specstep("import", *arguments)


def ends(result: Finished, status: Exit, *words: str) -> None:
    """One line on stderr with these words, no traceback."""
    assert result.code == status, result
    assert result.err.count("\n") == 1, result.err
    for word in words:
        assert word in result.err


@pytest.mark.parametrize("format_", FORMATS)
def test_a_trace_comes_out_that_the_audit_has_nothing_against(format_: str, tmp_path: Path) -> None:
    sample, rounds = GOOD[format_]
    path = tmp_path / "run.msgpack"
    result = run(format_, SAMPLES / sample, "-o", path)
    assert result.code == 0, result
    trace = open_trace(path)
    assert (len(trace), trace.header.detail, trace.header.run["imported"]) == (rounds, "counts", format_)
    assert trace.end is not None
    assert audit(trace.records(), trace.torn) == []
    assert all(trace.round(index).drafts is None for index in range(rounds))
    assert str(SAMPLES) not in path.read_bytes().decode(errors="replace")


def test_a_bad_line_is_named_on_stderr_and_in_the_trace_and_the_rest_is_taken(tmp_path: Path) -> None:
    source, path = tmp_path / "cycle_events.jsonl", tmp_path / "run.msgpack"
    rows = (SAMPLES / "dflash-cycles.jsonl").read_bytes().splitlines()
    rows[2] = rows[2][:40]
    rows[3] = b"\xff\xfe" + rows[3]
    rows[4] = rows[4].replace(b'"acceptance_len":2', b'"acceptance_len":7')
    source.write_bytes(b"\n".join(rows))
    result = run("dflash-mlx", source, "-o", path)
    assert result.code == Exit.INCOMPLETE
    trace = open_trace(path)
    assert [round_.take for round_ in map(trace.round, range(len(trace)))] == [4, 2, 0]
    said = [event.message for event in trace.events() if event.code == "import.unreadable"]
    assert [message.split(":")[0] for message in said] == ["line 3", "line 4", "line 5"]
    for line, reason in (("line 3", "not JSON"), ("line 4", "not UTF-8"), ("line 5", "accepted 7 of a block of 3")):
        assert any(line in row and reason in row for row in result.err.splitlines()), result.err


def test_the_end_of_a_cut_log_is_told(tmp_path: Path) -> None:
    source, path = tmp_path / "server.log", tmp_path / "run.msgpack"
    rows = (SAMPLES / "llama-verbose.log").read_text().splitlines()
    source.write_text("\n".join((*rows[:5], rows[5][:-32])))
    result = run("llama-server", source, "-o", path)
    ends(result, Exit.INCOMPLETE, "line 6", "cut accept line")
    assert len(open_trace(path)) == 3


@pytest.mark.parametrize("format_", FORMATS)
@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", ("the file is empty",)),
        (b"   \n\n", ()),
        (b'{"metrics": {"speculative_decoding"', ()),
        (b"\xff\x00\x81" * 50, ()),
        (b"\x89PNG\r\n\x1a\n\x00\x00", ()),
        (b"[" * 100_000, ()),
        (b'{"hello": "world"}', ()),
        (b"just some text\nof no format\n", ()),
    ],
    ids=["empty", "blank", "cut", "binary", "picture", "deep", "other-json", "text"],
)
def test_a_file_with_nothing_in_it_is_unreadable_in_one_sentence(
    format_: str, content: bytes, words: tuple[str, ...], tmp_path: Path
) -> None:
    source, path = tmp_path / "file", tmp_path / "run.msgpack"
    source.write_bytes(content)
    ends(run(format_, source, "-o", path), Exit.UNREADABLE, str(source), *words)
    assert not path.exists()


def test_a_truncated_document_is_named_by_line_and_column(tmp_path: Path) -> None:
    source = tmp_path / "response.json"
    source.write_text((SAMPLES / "vllm-detailed.json").read_text()[:500])
    ends(run("vllm", source, "-o", tmp_path / "x"), Exit.UNREADABLE, "no JSON", "line 13")


def test_the_wrong_format_names_the_right_one(tmp_path: Path) -> None:
    result = run("vllm", SAMPLES / "dflash-cycles.jsonl", "-o", tmp_path / "x")
    ends(result, Exit.UNREADABLE, "nothing of vllm", "looks like dflash-mlx")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("tensorrt", SAMPLES / "sglang.log"), ("'tensorrt'", "vllm, dflash-mlx")),
        (("sglang", SAMPLES / "sglang.log", "--request", "x"), ("no request 'x'",)),
    ],
)
def test_a_wrong_argument_is_usage(arguments: tuple[str | Path, ...], words: tuple[str, ...], tmp_path: Path) -> None:
    ends(run(*arguments, "-o", tmp_path / "x"), Exit.USAGE, *words)


def test_the_output_may_not_be_the_input_nor_lie_nowhere(tmp_path: Path) -> None:
    source = tmp_path / "sglang.log"
    source.write_text((SAMPLES / "sglang.log").read_text())
    ends(run("sglang", source, "-o", source), Exit.USAGE, "the file to read")
    ends(run("sglang", source, "-o", tmp_path), Exit.USAGE, "no file can be made")
    ends(run("sglang", source, "-o", tmp_path / "no" / "x"), Exit.USAGE, "no file can be made")
    assert source.stat().st_size > 0


def test_a_missing_file_and_a_folder_are_unreadable(tmp_path: Path) -> None:
    ends(run("vllm", tmp_path / "none", "-o", tmp_path / "x"), Exit.UNREADABLE, "no such file")
    ends(run("vllm", tmp_path, "-o", tmp_path / "x"), Exit.UNREADABLE, "is a directory")


def test_a_full_disk_is_told(tmp_path: Path) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("there is no /dev/full")
    ends(run("vllm", SAMPLES / "vllm-detailed.json", "-o", "/dev/full"), Exit.INCOMPLETE, "no space left")


def test_a_log_in_utf16_is_read(tmp_path: Path) -> None:
    source = tmp_path / "server.log"
    source.write_text((SAMPLES / "llama-verbose.log").read_text(), encoding="utf-16")
    assert run("llama-server", source, "-o", tmp_path / "x").code == 0
    assert len(open_trace(tmp_path / "x")) == 7


def test_values_that_are_no_counts_are_refused_line_by_line(tmp_path: Path) -> None:
    source = tmp_path / "responses.jsonl"
    bad: list[dict[str, object]] = [
        {"per_step_accepted": [1, 2], "per_step_drafted": [3]},
        {"per_step_accepted": [4], "per_step_drafted": [3]},
        {"per_step_accepted": [True], "per_step_drafted": [3]},
        {"per_step_accepted": "x", "per_step_drafted": [3]},
        {"num_spec_steps": -1},
        {"num_spec_steps": 1.5},
        {"acceptance_histogram": {"a": 1}},
    ]
    good = {"per_step_accepted": [2], "per_step_drafted": [3]}
    source.write_text("\n".join(json.dumps({"metrics": {"speculative_decoding": row}}) for row in (*bad, good)))
    result = run("vllm", source, "-o", tmp_path / "x")
    assert result.code == Exit.INCOMPLETE
    assert [row.split(", ")[1].split(":")[0] for row in result.err.splitlines()] == [
        f"line {number}" for number in range(1, 8)
    ]
    assert len(open_trace(tmp_path / "x")) == 1


@pytest.mark.parametrize("format_", FORMATS)
def test_a_file_of_another_engine_is_recognised(format_: str) -> None:
    sample = SAMPLES / GOOD[format_][0]
    refused = [asked for asked in FORMATS if asked != format_ and not reads(asked, sample)]
    assert refused
    for asked in refused:
        with pytest.raises(TraceError, match=f"; it looks like {format_}$"):
            read(asked, sample)


def reads(format_: str, path: Path) -> bool:
    try:
        return bool(read(format_, path).requests)
    except TraceError:
        return False


def test_a_log_taken_for_json_is_recognised_too(tmp_path: Path) -> None:
    ends(
        run("vllm", SAMPLES / "sglang.log", "-o", tmp_path / "run"), Exit.UNREADABLE, "no JSON", "it looks like sglang"
    )


SPEC = {"per_step_accepted": [1, 2], "per_step_drafted": [2, 2]}
HUGE = 10**30


@pytest.mark.parametrize(
    ("format_", "text", "says"),
    [
        ("vllm", json.dumps({"choices": 5, **SPEC}), ""),
        ("vllm", json.dumps({**SPEC, "num_spec_tokens": HUGE}), "num_spec_tokens is a number beyond all counts"),
        ("vllm", json.dumps({**SPEC, "per_step_drafted": [2, 2**31]}), "a round of 2147483648 drafts"),
        ("vllm", json.dumps({**SPEC, "mean_acceptance_length": HUGE, "draft_acceptance_rate": [[[1]]]}), ""),
        ("vllm", json.dumps({"metrics": {"time_to_first_token_ms": 10**400}, **SPEC}), ""),
        ("vllm", json.dumps({"id": "\ud800", "model": "\ud800", **SPEC}), ""),
        ("vllm", '{"per_step_accepted": [' + "9" * 5000 + "]}", "a number has too many digits"),
        ("sglang", json.dumps({"meta_info": {"spec_verify_ct": 1}, "choices": 5}), ""),
        ("sglang", '{"meta_info": {"spec_verify_ct": ' + "9" * 5000 + "}}", "meta_info cannot be read"),
        ("sglang", "Decode batch. accept len: 2.5.1, accept rate: 0.5", ""),
        ("llama-server", "slot | task 1 | accepted 1/2147483648 draft tokens", "1 of 2147483648 drafts"),
        ("llama-server", "slot | task 1 | accepted " + "9" * 5000 + "/2 draft tokens", "a cut accept line"),
        ("llama-server", "draft acceptance rate = 0.5.1 ( 1 accepted / 2 generated)", "nothing of llama-server"),
    ],
    ids=range(13),
)
def test_values_that_no_engine_writes_are_read_or_named(format_: str, text: str, says: str, tmp_path: Path) -> None:
    source, target = tmp_path / "source", tmp_path / "made"
    source.write_text(text)
    result = run(format_, source, "-o", target)
    if says:
        ends(result, Exit.UNREADABLE, says)
    else:
        assert result.code == Exit.OK
        assert specstep("stats", target, "--json").json["detail"] in ("counts", "summary")
