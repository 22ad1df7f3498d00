"""``specstep stats``, ``show`` and ``trace``: what is in a trace, as text or JSON."""

import json
from pathlib import Path

import msgpack
import pytest

from engine.trace.reader import open_trace
from tests.cli.commands import recorded, specstep

COMMANDS = [("stats",), ("audit",), ("show", "--round", "0"), ("trace", "info"), ("trace", "cat")]


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    return recorded(tmp_path / "run.msgpack")


@pytest.fixture
def torn(trace: Path) -> Path:
    path = trace.with_name("torn.msgpack")
    with open_trace(trace) as whole:
        fifth = list(whole.raw_records())[9].byte
    path.write_bytes(trace.read_bytes()[: fifth + 5])
    return path


def test_stats_as_json_has_the_public_names_and_the_runs_counts(trace: Path) -> None:
    figures = specstep("stats", trace, "--json").json
    assert (figures["emitted"], figures["rounds"], figures["plain_rounds"]) == (40, 14, 0)
    assert (figures["drafted"], figures["accepted"], figures["reason"]) == (41, 26, "max_tokens")
    assert figures["tokens_per_round"] == pytest.approx(40 / 14)
    assert figures["fell_back_at"] is None
    assert set(figures["per_position"]) == {"unconditional", "drafted_only", "conditional"}
    assert figures["ms"]["verify"].keys() == {"total", "median"}
    assert figures["repeated_8grams"] == 0.0


def test_an_export_has_the_same_figures() -> None:
    flip = Path(__file__).parents[2] / "recordings" / "flip.msgpack"
    figures = specstep("stats", flip, "--json").json
    assert figures["repeated_8grams"] > 0
    assert specstep("export", flip, "--to", "json", "-o", "-").json["stats"] == figures


def test_stats_as_text_is_a_line_for_each_figure(trace: Path) -> None:
    shown = specstep("stats", trace)
    assert shown.code == 0
    lines = {line[:26].strip(): line[26:].split() for line in shown.out.splitlines()}
    assert lines["tokens emitted"][:1] == ["40"]
    assert lines["fell back at"][:1] == ["never"]
    assert lines["tokens per round"][:1] == ["2.857"]
    assert lines["draft acceptance rate"][:1] == ["0.634"]
    assert len(lines["unconditional"]) >= 3


def test_an_audit_with_findings_is_status_one(trace: Path) -> None:
    fault = Path(__file__).parents[1] / "vectors" / "traces" / "fault-anchor-is-not-the-last-choice.msgpack"
    assert specstep("audit", trace).out == "no findings in 14 rounds\n"
    audited = specstep("audit", fault)
    assert (audited.code, audited.err) == (1, "")
    assert any(line.split()[:3] == ["A6", "round", "3"] for line in audited.out.splitlines())
    assert "A6" in json.dumps(specstep("audit", "--json", fault).json)


def test_show_as_json_is_the_record(trace: Path) -> None:
    shown = specstep("show", trace, "--round", "1", "--json").json
    with open_trace(trace) as source:
        raw = next(raw.fields for raw in source.raw_records() if raw.fields.get("index") == 1)
    assert shown == json.loads(json.dumps(raw))
    assert shown["type"] == "round"


def test_show_as_text_sets_drafts_beside_the_bases_choices(trace: Path) -> None:
    shown = specstep("show", trace, "--round", "1").out.splitlines()
    assert shown[0] == "round 1, one-pass, positions 9 to 11: 3 drafted, 1 accepted, 2 emitted"
    marks = [line.split()[0] for line in shown[1:7]]
    assert marks == ["→", "draft", "✓", "✗", "·", "next:"]


def test_no_control_character_of_a_token_reaches_the_terminal(tmp_path: Path) -> None:
    path = recorded(tmp_path / "run.msgpack", "--prompt", "\x1b[31m\x07\u202e")
    for index in range(10):
        shown = specstep("show", path, "--round", str(index)).out
        assert all(c.isprintable() or c == "\n" for c in shown)


def test_a_hostile_header_reaches_the_terminal_as_escapes(trace: Path) -> None:
    data = trace.read_bytes()
    with open_trace(trace) as source:
        first = next(source.raw_records())
    header = first.fields | {"created": "\x1b]0;title\x07", "writer": {"name": "\u202e"}}
    trace.write_bytes(msgpack.packb(header) + data[len(first.data) :])
    for command in ("info", "cat"):
        shown = specstep("trace", command, trace).out
        assert all(c.isprintable() or c == "\n" for c in shown)


def test_a_round_that_is_not_there_is_a_usage_error(trace: Path) -> None:
    shown = specstep("show", trace, "--round", "14")
    assert (shown.code, shown.out) == (2, "")
    assert "there is no round 14, it has rounds 0 to 13" in shown.err


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_a_whole_trace_is_status_zero_and_silent_on_stderr(trace: Path, command: tuple[str, ...]) -> None:
    shown = specstep(*command, trace)
    assert (shown.code, shown.err) == (0, "")
    assert shown.out


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_a_torn_trace_is_read_as_far_as_it_goes_with_status_three(torn: Path, command: tuple[str, ...]) -> None:
    shown = specstep(*command, torn)
    assert shown.code == 3
    assert shown.out
    assert shown.err.count("\n") == 1
    assert "the trace is torn" in shown.err


def test_a_trace_without_its_end_is_incomplete_too(trace: Path, tmp_path: Path) -> None:
    with open_trace(trace) as whole:
        before_end = next(raw.byte for raw in whole.raw_records() if raw.fields.get("type") == "end")
    cut = tmp_path / "cut.msgpack"
    cut.write_bytes(trace.read_bytes()[:before_end])
    shown = specstep("stats", cut, "--json")
    assert (shown.code, shown.json["emitted"], shown.json["reason"]) == (3, 40, None)
    assert "the trace has no end" in shown.err


@pytest.mark.parametrize("content", [b"", b"no trace at all", b"\x93\x01\x02\x03"], ids=["empty", "text", "an array"])
@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_what_is_no_trace_is_one_line_and_status_four(tmp_path: Path, content: bytes, command: tuple[str, ...]) -> None:
    path = tmp_path / "bad.msgpack"
    path.write_bytes(content)
    shown = specstep(*command, path)
    assert (shown.code, shown.out) == (4, "")
    assert shown.err.count("\n") == 1


def test_a_file_that_is_not_there_is_status_four(tmp_path: Path) -> None:
    shown = specstep("stats", tmp_path / "nowhere.msgpack")
    assert (shown.code, shown.out) == (4, "")
    assert "no such file" in shown.err


def test_cat_as_json_lines_is_every_record(trace: Path) -> None:
    lines = [json.loads(line) for line in specstep("trace", "cat", "--json", trace).out.splitlines()]
    with open_trace(trace) as source:
        types = [raw.fields["type"] for raw in source.raw_records()]
    assert [line["type"] for line in lines] == types
    assert types[0] == "header"
    assert types.count("round") == 14


def test_cat_writes_out_text_that_is_no_utf8_and_numbers_that_json_lacks(trace: Path) -> None:
    data = trace.read_bytes()
    odd = msgpack.packb({"type": "odd", "number": float("nan"), "raw": b"\x00\xff"})
    # A string of one byte that is no UTF-8, in the place of "x".
    odd = odd.replace(b"\xa3raw", b"\xa3r\xffw")
    with open_trace(trace) as source:
        first = next(source.raw_records())
    path = trace.with_name("odd.msgpack")
    path.write_bytes(data[: len(first.data)] + odd + data[len(first.data) :])
    lines = specstep("trace", "cat", "--json", path).out.splitlines()
    assert json.loads(lines[1]) == {"type": "odd", "number": None, "r\\xffw": "AP8="}


def test_info_as_json_says_what_the_file_holds(trace: Path) -> None:
    facts = specstep("trace", "info", "--json", trace).json
    assert facts["format"] == "specstep 1.0"
    assert facts["records"]["round"] == 14
    assert (facts["indexed"], facts["torn"], facts["end"]) == (True, None, "max_tokens")
    assert facts["bytes"] == trace.stat().st_size


def test_check_finds_a_flipped_bit(trace: Path) -> None:
    assert specstep("trace", "check", trace).code == 0
    data = bytearray(trace.read_bytes())
    at = data.index(b"verify") + len(b"verify") + 3
    data[at] ^= 0x10
    trace.write_bytes(bytes(data))
    found = specstep("trace", "check", trace)
    assert found.code == 1
    assert "are not those that the check" in found.out


def test_recover_completes_a_torn_trace(torn: Path, tmp_path: Path) -> None:
    mended = tmp_path / "mended.msgpack"
    made = specstep("trace", "recover", torn, "-o", mended)
    assert made.code == 0
    assert "lost: " in made.err
    assert specstep("stats", mended).code == 0


def test_redact_takes_text_and_prompt_out(trace: Path, tmp_path: Path) -> None:
    private = tmp_path / "private.msgpack"
    assert specstep("trace", "redact", trace, "-o", private, "--text", "none").code == 0
    with open_trace(private) as source:
        assert (source.header.prompt, source.piece(104), len(source)) == (None, None, 14)
    assert specstep("trace", "redact", trace, "--text", "some").code == 2


def test_index_gives_a_scanned_trace_an_index_in_its_place(trace: Path) -> None:
    with open_trace(trace) as source:
        at = next(raw.byte for raw in source.raw_records() if raw.fields.get("type") == "index")
    trace.write_bytes(trace.read_bytes()[:at])
    assert specstep("trace", "info", "--json", trace).json["indexed"] is False
    assert specstep("trace", "index", trace).code == 0
    assert specstep("trace", "info", "--json", trace).json["indexed"] is True


def test_the_schema_names_every_record() -> None:
    schema = specstep("trace", "schema").json
    assert {"Header", "Tokens", "Prefill", "Round", "Event", "Check", "End", "Index"} <= schema["$defs"].keys()


def test_what_is_no_trace_says_what_it_is(tmp_path: Path) -> None:
    path = tmp_path / "stream"
    path.write_bytes(msgpack.packb({"type": "hello", "protocol": 1}))
    refused = specstep("audit", path)
    assert (refused.code, "what an engine sent to a debugger is no trace" in refused.err) == (4, True)
    path.write_bytes(msgpack.packb({"type": "header", "version": 1, "minor": 0, "base": {"name": "mine"}}))
    refused = specstep("audit", path)
    assert (refused.code, "the header at byte 0 has no key format that says 'specstep'" in refused.err) == (4, True)
    path.write_bytes(msgpack.packb({"type": "round", "index": 0, "form": "plain"}))
    assert "no header at byte 0" in specstep("audit", path).err
