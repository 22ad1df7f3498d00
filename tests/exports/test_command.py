"""``specstep export`` as a program."""

import json
from pathlib import Path

import pytest

from engine.commands.exits import Exit
from engine.export import FORMS
from tests.cli.commands import Finished, specstep
from tests.exports.makes import hostile

TRACES = Path(__file__).parents[1] / "vectors" / "traces"


def run(trace: Path, form: str, output: Path | str) -> Finished:
    return specstep("export", trace, "--to", form, "-o", output)


def ends(result: Finished, status: Exit, *words: str) -> None:
    """One line on stderr with these words, no traceback."""
    assert result.code == status, result
    assert result.err.count("\n") == 1, result.err
    for word in words:
        assert word in result.err


@pytest.mark.parametrize("form", FORMS)
def test_a_file_for_its_owner_alone_comes_out(form: str, tmp_path: Path) -> None:
    trace, path = hostile(tmp_path / "run.msgpack"), tmp_path / f"run.{form}"
    result = run(trace, form, path)
    assert (result.code, result.err) == (0, "")
    assert result.out == f"{path}: 5 rounds as {form}\n"
    assert path.stat().st_mode & 0o777 == 0o600
    assert sorted(entry.name for entry in tmp_path.iterdir()) == sorted(("run.msgpack", path.name))


def test_stdout_holds_the_export_and_nothing_else(tmp_path: Path) -> None:
    result = run(hostile(tmp_path / "run.msgpack"), "json", "-")
    assert (result.code, result.err) == (0, "")
    assert len(json.loads(result.out)["rounds"]) == 5


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", ["torn-mid-record", "torn-no-end"])
def test_an_incomplete_trace_is_exported_as_far_as_it_goes(name: str, form: str, tmp_path: Path) -> None:
    path = tmp_path / "out"
    ends(run(TRACES / f"{name}.msgpack", form, path), Exit.INCOMPLETE, name)
    assert path.stat().st_size > 0


@pytest.mark.parametrize("content", [b"", b"\x80", b"not a trace at all", b"\xff" * 100])
def test_what_is_no_trace_is_unreadable_and_leaves_nothing(content: bytes, tmp_path: Path) -> None:
    source, path = tmp_path / "source", tmp_path / "out"
    source.write_bytes(content)
    ends(run(source, "html", path), Exit.UNREADABLE, "trace")
    assert not path.exists()


def test_wrong_arguments_are_usage(tmp_path: Path) -> None:
    trace = hostile(tmp_path / "run.msgpack")
    ends(run(trace, "pdf", tmp_path / "out"), Exit.USAGE, "'pdf'", "json, csv, perfetto, html, svg")
    ends(run(trace, "json", trace), Exit.USAGE, "the trace itself")
    ends(run(trace, "json", tmp_path / "no" / "out"), Exit.USAGE, "no file can be made")
    assert trace.stat().st_size > 500


def test_a_full_disk_is_told_and_an_older_file_stays(tmp_path: Path) -> None:
    trace = hostile(tmp_path / "run.msgpack")
    if not Path("/dev/full").exists():
        pytest.skip("there is no /dev/full")
    ends(run(trace, "html", "/dev/full"), Exit.INCOMPLETE, "no space left", "not whole")


def test_a_record_that_cannot_be_read_leaves_the_older_file(tmp_path: Path) -> None:
    trace, path = hostile(tmp_path / "run.msgpack"), tmp_path / "out.json"
    path.write_text("older")
    trace.write_bytes(trace.read_bytes().replace(b"\xa4take\x03", b"\xa4take\xc3"))
    ends(run(trace, "json", path), Exit.UNREADABLE, "round")
    assert path.read_text() == "older"
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["out.json", "run.msgpack"]
