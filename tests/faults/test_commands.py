"""``specstep faults`` and ``specstep record --fault NAME``."""

from pathlib import Path

from engine.faults.gallery import FAULTS
from engine.trace.audit import report
from engine.trace.reader import Trace
from tests.cli.commands import TOY, specstep


def test_the_list_names_every_fault_with_a_sentence_and_what_finds_it() -> None:
    listed = specstep("faults")
    assert listed.code == 0
    lines = listed.out.splitlines()
    assert [line.split()[0] for line in lines[::2]] == [fault.name for fault in FAULTS]
    for fault, first, second in zip(FAULTS, lines[::2], lines[1::2], strict=True):
        assert first.endswith(fault.sentence)
        assert "found by: " in second
        assert all(rule in second for rule in fault.rules)


def test_the_list_as_json() -> None:
    entries = specstep("faults", "--json").json
    assert [entry["name"] for entry in entries] == [fault.name for fault in FAULTS]
    assert entries[0] == {
        "name": "counts-everything",
        "sentence": FAULTS[0].sentence,
        "rules": ["A4"],
        "beside": None,
    }


def test_a_fault_brings_the_options_that_show_it(tmp_path: Path) -> None:
    path = tmp_path / "run.msgpack"
    assert specstep("record", "--fault", "stop-inside", "-o", path).code == 0
    with Trace(path) as trace:
        assert trace.header.base.name == "toy"
        assert trace.header.options["k"] == 4
        assert trace.header.options["stop_tokens"] == [230]
        assert trace.header.run["fault"] == "stop-inside"
    found = specstep("audit", path)
    assert found.code == 1
    assert found.out.startswith("A8 ")


def test_an_option_that_is_given_comes_before_that_of_the_fault(tmp_path: Path) -> None:
    path = tmp_path / "run.msgpack"
    words = ("--max-tokens", "30", "--k", "2", "--prompt", "another")
    assert specstep("record", *TOY, *words, "--fault", "counts-everything", "-o", path).code == 0
    with Trace(path) as trace:
        assert (trace.header.options["k"], trace.header.options["max_tokens"]) == (2, 30)
        assert bytes(trace.header.prompt or ()) == b"another"
        assert {finding.rule for finding in report(trace).findings} == {"A4"}


def test_a_prompt_file_may_take_the_place_of_the_faults_prompt(tmp_path: Path) -> None:
    path, prompt = tmp_path / "run.msgpack", tmp_path / "prompt.txt"
    prompt.write_text("from a file", encoding="utf-8")
    words = ("--fault", "duplicate-at-boundary", "--prompt-file", str(prompt))
    assert specstep("record", *TOY, *words, "-o", path).code == 0
    with Trace(path) as trace:
        assert bytes(trace.header.prompt or ()) == b"from a file"


def test_a_torn_file_is_made_and_said_to_be_torn(tmp_path: Path) -> None:
    path = tmp_path / "run.msgpack"
    assert specstep("record", *TOY, "--fault", "torn-trace", "-o", path).code == 0
    assert path.stat().st_mode & 0o777 == 0o600
    assert specstep("audit", path).code == 3


def test_a_torn_file_that_cannot_be_made_is_an_error(tmp_path: Path) -> None:
    made = specstep("record", *TOY, "--fault", "torn-trace", "-o", tmp_path / "no" / "run.msgpack")
    assert made.code == 2
    assert "no file can be made there" in made.err


def test_an_unknown_fault_is_a_usage_error_with_the_nearest_name(tmp_path: Path) -> None:
    made = specstep("record", "--fault", "nan_row", "-o", tmp_path / "run.msgpack")
    assert made.code == 2
    assert made.err == "specstep: there is no fault 'nan_row', did you mean nan-row? (specstep faults lists them)\n"


def test_a_fault_that_the_run_cannot_have_is_a_usage_error(tmp_path: Path) -> None:
    made = specstep("record", *TOY, "--fault", "tap-off-by-one", "-o", tmp_path / "run.msgpack")
    assert made.code == 2
    assert "reads no taps" in made.err


def test_the_folder_of_recordings_must_be_one_that_can_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    made = specstep("faults", "--record", tmp_path / "file")
    assert made.code == 2
    assert "the folder cannot be made" in made.err
