"""The commands over a folder with a model of one's own, in both layouts."""

import shutil
from pathlib import Path
from typing import Any

import pytest

from engine.trace.reader import open_trace
from tests.cli.commands import specstep
from tests.folders.tiny_folder import END, VOCAB, Make, genai, optimum, write_tokenizer

RUN = ("--prompt", "ab ab ab ab", "--max-tokens", "24", "--ignore-stops")


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("own")
    optimum(folder / "optimum")
    shutil.copy(folder / "optimum" / "model.onnx", folder / "optimum" / "model_q4.onnx")
    genai(folder / "genai", Make(genai=True, hidden=True))
    return folder


@pytest.mark.parametrize("layout", ["optimum", "genai"])
def test_what_a_model_can_do_is_told(folders: Path, layout: str) -> None:
    told = specstep("info", "--model", folders / layout)
    assert (told.code, told.err) == (0, "")
    lines = {line[:12].strip(): line[13:] for line in told.out.splitlines()}
    assert lines["model"] == f"{layout}, {VOCAB} tokens, 2 layers"
    assert lines["layout"].startswith("onnxruntime-genai" if layout == "genai" else "Optimum")
    assert lines["stops at"].startswith(f"<|endoftext|> ({END}), from ")
    assert lines["verify"] == "any number of rows in one pass"
    assert lines["hidden"].startswith("32 wide" if layout == "genai" else "not given")
    assert lines["runs on"].startswith("CPUExecutionProvider ")
    assert lines["drafters"] == "lookup, draft-model:FOLDER, none"
    assert ("note" in lines) == (layout == "optimum")


def test_the_same_as_json(folders: Path) -> None:
    told = specstep("info", "--model", folders / "genai", "--json")
    assert told.code == 0
    assert told.json["base"]["vocab_size"] == VOCAB
    assert told.json["model"]["can"]["hidden"] == 32
    assert told.json["device"]["provider"] == "CPUExecutionProvider"
    assert told.json["notes"] == []


def test_one_line_says_what_a_bundle_is_made_of(folders: Path) -> None:
    told = specstep("info", "--model", "bundled")
    assert told.code == 0
    assert "drafters     mtp, dflash, dflash2, lookup, draft-model:FOLDER, none" in told.out


@pytest.mark.parametrize("layout", ["optimum", "genai"])
def test_a_run_says_in_its_header_what_it_is_a_run_of(folders: Path, tmp_path: Path, layout: str) -> None:
    path = tmp_path / "run.msgpack"
    made = specstep("record", "--model", folders / layout, *RUN, "-o", path)
    assert made.code == 0, made.err
    with open_trace(path) as trace:
        header: Any = trace.header
        assert header.base.name == layout
        assert header.drafter.kind == "lookup"
        assert header.run["model"]["file"] == "model.onnx"
        assert header.run["model"]["can"]["truncate"] == "at any position"
        assert header.device["provider"] == "CPUExecutionProvider"
        assert "chat" not in header.run
        assert str(folders) not in str(header)
        said = [event.message for event in trace.events()]
        assert said == (["model.onnx was taken; there is also model_q4.onnx"] if layout == "optimum" else [])
    audited = specstep("audit", path)
    assert audited.code == 0, audited.out


def test_a_graph_is_chosen_by_name(folders: Path, tmp_path: Path) -> None:
    path = tmp_path / "run.msgpack"
    made = specstep("record", "--model", folders / "optimum", "--model-file", "model_q4.onnx", *RUN, "-o", path)
    assert made.code == 0, made.err
    with open_trace(path) as trace:
        assert trace.header.base.name == "optimum/model_q4"


def test_a_chat_is_what_the_template_makes_of_the_prompt(folders: Path, tmp_path: Path) -> None:
    path = tmp_path / "run.msgpack"
    made = specstep("record", "--model", folders / "genai", "--chat", "--system", "be brief", *RUN, "-o", path)
    assert made.code == 0, made.err
    with open_trace(path) as trace:
        text = b"".join(trace.piece(token) or b"" for token in trace.header.prompt or ())
        assert text == b"<system>be brief\n<user>ab ab ab ab\n<assistant>"
        assert trace.header.run["chat"] is True


def test_the_probe_finds_lookup_and_a_draft_model_exact(folders: Path) -> None:
    drafters = f"lookup,draft-model:{folders / 'genai'}"
    probed = specstep(
        "probe", "--model", folders / "optimum", "--drafter", drafters, "--plain-width", "2", "--repeat", "1",
        *RUN, "--json",
    )  # fmt: skip
    assert probed.code == 0, probed.err
    assert probed.json["exact"] is True
    assert {way["drafter"].partition(":")[0] for way in probed.json["ways"]} == {"lookup", "draft-model"}


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--drafter", "mtp"], "optimum has no drafter 'mtp' of its own: use lookup, draft-model:FOLDER or none"),
        (["--system", "x"], "--system is what a chat template puts before the prompt: give --chat too"),
        (["--model-file", "model.bin"], "give a graph inside the folder, as in onnx/model_q4.onnx"),
        (["--model-file", "model_q8.onnx"], "no such graph; "),
        (["--max-tokens", "999"], "do not fit the base's context of 128"),
    ],
)
def test_what_cannot_be_is_refused(folders: Path, tmp_path: Path, arguments: list[str], says: str) -> None:
    made = specstep("record", "--model", folders / "optimum", "--prompt", "x", "-o", tmp_path / "run", *arguments)
    assert (made.code, made.out) == (2, "")
    assert says in made.err
    assert made.err.count("\n") == 1
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("model", ["bundled", "toy"])
def test_a_model_without_a_chat_template_has_no_chat(tmp_path: Path, model: str) -> None:
    made = specstep("record", "--model", model, "--chat", "--prompt", "x", "-o", tmp_path / "run")
    assert made.code == 2
    assert "has no chat template: give the prompt without --chat" in made.err


def test_a_graph_can_only_be_chosen_in_a_folder(tmp_path: Path) -> None:
    made = specstep("record", "--model", "toy", "--model-file", "model.onnx", "-o", tmp_path / "run")
    assert made.code == 2
    assert "it needs --model FOLDER to choose in" in made.err


def test_a_draft_model_with_another_tokenizer_is_refused(folders: Path, tmp_path: Path) -> None:
    other = optimum(tmp_path / "other")
    text = (other / "tokenizer.json").read_text(encoding="utf-8")
    (other / "tokenizer.json").write_text(text.replace('"a":', '"\\u0000":').replace('"b":', '"a":').replace(
        '"\\u0000":', '"b":'), encoding="utf-8")  # fmt: skip
    made = specstep(
        "record", "--model", folders / "genai", "--drafter", f"draft-model:{other}", *RUN, "-o", tmp_path / "run"
    )
    assert made.code == 2
    assert "has another tokenizer than the base" in made.err


def test_a_draft_model_with_another_vocabulary_is_refused(folders: Path, tmp_path: Path) -> None:
    other = optimum(tmp_path / "other", Make(vocab=VOCAB + 3), vocab_size=VOCAB + 3)
    write_tokenizer(other)
    made = specstep(
        "record", "--model", folders / "genai", "--drafter", f"draft-model:{other}", *RUN, "-o", tmp_path / "run"
    )
    assert made.code == 2
    assert f"the drafter's vocabulary is {VOCAB + 3}, the base's {VOCAB}: they must be the same" in made.err
