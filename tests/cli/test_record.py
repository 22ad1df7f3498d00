"""``specstep record``: a run without a screen."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from engine.options import Options
from engine.trace.reader import open_trace
from tests.cli.commands import ROOT, TOY, process, recorded, specstep
from tests.limits import HANG


def test_it_writes_a_trace_and_says_on_stdout_what_it_amounts_to(tmp_path: Path) -> None:
    path = tmp_path / "run.msgpack"
    made = specstep("record", *TOY, "--prompt", "hello", "--max-tokens", "40", "-o", path)
    assert (made.code, made.err) == (0, "")
    assert made.out.startswith(f"{path}: 40 tokens in 14 rounds, ended: max_tokens")
    with open_trace(path) as trace:
        assert trace.header.prompt == tuple(b"hello")
        assert trace.end is not None
        assert trace.end.emitted == 40


def test_every_flag_of_a_run_reaches_the_header(tmp_path: Path) -> None:
    path = tmp_path / "run.msgpack"
    flags = [
        *("--k", "5", "--form", "two-pass", "--max-tokens", "9", "--tau", "0.5"),
        *("--fallback-below", "1.5", "--fallback-window", "4", "--temperature", "0.7", "--top-k", "20"),
        *("--top-p", "0.9", "--sampler", "gumbel", "--seed", "11", "--plain-width", "2", "--stop", "z", "--stop", "7"),
    ]
    assert specstep("record", *TOY, "--prompt", "x", "-o", path, *flags).code == 0
    with open_trace(path) as trace:
        assert Options.from_map(trace.header.options) == Options(
            form="two-pass",
            k=5,
            max_tokens=9,
            tau=0.5,
            fallback_below=1.5,
            fallback_window=4,
            temperature=0.7,
            top_k=20,
            top_p=0.9,
            sampler="gumbel",
            seed=11,
            plain_width=2,
            stop_tokens=(7, 122),
        )


def test_the_environment_gives_defaults_and_a_flag_wins(tmp_path: Path) -> None:
    path = tmp_path / "run.msgpack"
    knobs = {"DFLASH2_K": "6", "DFLASH2_FALLBACK": "1.25", "DFLASH2_FALLBACK_ROUNDS": "5"}
    assert specstep("record", *TOY, "-o", path, "--k", "2", env=knobs).code == 0
    with open_trace(path) as trace:
        options = Options.from_map(trace.header.options)
        assert (options.k, options.fallback_below, options.fallback_window) == (2, 1.25, 5)


def test_a_temperature_alone_means_rejection_sampling(tmp_path: Path) -> None:
    path = recorded(tmp_path / "run.msgpack", "--temperature", "0.8")
    with open_trace(path) as trace:
        assert trace.header.options["sampler"] == "rejection"


def test_a_bar_of_auto_is_the_measured_break_even(tmp_path: Path) -> None:
    path = recorded(tmp_path / "run.msgpack", "--fallback", "auto")
    with open_trace(path) as trace:
        assert trace.header.options["fallback_below"] > 0
        assert "break-even" in trace.header.run["bar"]


def test_the_prompt_may_come_from_a_file_or_from_stdin(tmp_path: Path) -> None:
    (tmp_path / "prompt.txt").write_text("süß", encoding="utf-8")
    sources: dict[str, Path | str] = {"file": tmp_path / "prompt.txt", "stdin": "-"}
    for name, source in sources.items():
        path = tmp_path / f"{name}.msgpack"
        assert specstep("record", *TOY, "--prompt-file", source, "-o", path, stdin="süß").code == 0
        with open_trace(path) as trace:
            assert trace.header.prompt == tuple("süß".encode())


def test_text_none_keeps_prompt_and_pieces_out_of_the_file(tmp_path: Path) -> None:
    path = recorded(tmp_path / "run.msgpack", "--text", "none")
    assert b"hello" not in path.read_bytes()
    with open_trace(path) as trace:
        assert trace.header.prompt is None
        assert trace.piece(104) is None


@pytest.mark.parametrize(
    ("flags", "says"),
    [
        (["--k", "0"], "k is 0"),
        (["--fallback", "often"], "'often': give a number of tokens a round, or auto"),
        (["--drafter", "eagle"], "no drafter 'eagle'"),
        (["--drafter", "lookup:n"], "is not key=value"),
        (["--prompt", ""], "the prompt is empty"),
        (["--prompt", "a", "--prompt-file", "b"], "not both"),
        (["--prompt-file", "nowhere.txt"], "nowhere.txt: the prompt cannot be read: no such file"),
        (["--stop", "two"], "not one token"),
        (["--text", "some"], "--text is 'some'"),
        (["--model", "nowhere"], "no such folder"),
        (["--temperature", "0.5", "--sampler", "greedy"], "greedy is temperature 0"),
    ],
)
def test_what_cannot_work_is_one_line_on_stderr_and_status_two(tmp_path: Path, flags: list[str], says: str) -> None:
    path = tmp_path / "run.msgpack"
    prompt = [] if "--prompt-file" in flags or "--prompt" in flags else ["--prompt", "x"]
    made = specstep("record", *TOY, *prompt, "-o", path, *flags)
    assert (made.code, made.out) == (2, "")
    assert says in made.err
    assert made.err.count("\n") == 1
    assert not path.exists()


def test_a_prompt_file_that_is_not_text_is_refused(tmp_path: Path) -> None:
    (tmp_path / "prompt.bin").write_bytes(b"ab\xff")
    made = specstep("record", *TOY, "--prompt-file", tmp_path / "prompt.bin", "-o", tmp_path / "run.msgpack")
    assert (made.code, "not UTF-8 text (byte 2)" in made.err) == (2, True)


def test_a_trace_that_can_be_written_nowhere_is_a_usage_error(tmp_path: Path) -> None:
    made = specstep("record", *TOY, "-o", tmp_path / "nowhere" / "run.msgpack")
    assert (made.code, made.out) == (2, "")
    assert "no file can be made there" in made.err


def test_without_a_name_the_trace_is_named_after_the_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert specstep("record", *TOY).code == 0
    (path,) = tmp_path.iterdir()
    assert path.name.startswith("specstep-")
    assert path.suffix == ".msgpack"


def test_to_stdout_goes_the_trace_and_nothing_else(tmp_path: Path) -> None:
    made = process("record", *TOY, "--prompt", "hello", "--max-tokens", "40", "-o", "-")
    (tmp_path / "run.msgpack").write_bytes(made.stdout)
    assert made.returncode == 0
    assert made.stderr.startswith(b"40 tokens in 14 rounds")
    with open_trace(tmp_path / "run.msgpack") as trace:
        assert trace.end is not None
        assert trace.torn is None


def test_a_reader_that_goes_away_ends_the_recording_and_not_the_run() -> None:
    read, write = os.pipe()
    os.close(read)
    made = process("record", *TOY, "-o", "-", capture_output=False, stdout=write, stderr=subprocess.PIPE)
    os.close(write)
    assert made.returncode == 3
    assert made.stderr.count(b"\n") == 1
    assert b"the reader of the pipe has gone" in made.stderr


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_disk_is_one_clear_line() -> None:
    with open("/dev/full", "wb") as full:
        made = process("record", *TOY, "-o", "-", capture_output=False, stdout=full, stderr=subprocess.PIPE)
    assert made.returncode == 3
    assert made.stderr.count(b"\n") == 1
    assert b"no space left on device" in made.stderr


def test_interrupted_it_ends_the_trace_as_aborted_with_status_130(tmp_path: Path) -> None:
    path = tmp_path / "run.msgpack"
    command = [sys.executable, "-m", "engine", "record", *TOY, "--max-tokens", "2000000", "-o", str(path)]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as running:
        deadline = time.monotonic() + HANG
        while time.monotonic() < deadline and not (path.exists() and path.stat().st_size > 20_000):
            time.sleep(0.05)
        running.send_signal(signal.SIGINT)
        out, err = running.communicate(timeout=HANG)
    assert (running.returncode, err) == (130, b"")
    assert b"ended: aborted" in out
    with open_trace(path) as trace:
        assert trace.end is not None
        assert (trace.end.reason, trace.end.rounds, trace.torn) == ("aborted", len(trace), None)
