"""Folders that are no base for speculation: each is refused with a sentence that says why and what to do."""

import dataclasses
import errno
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import onnx
import pytest
from onnx import TensorProto

from engine.errors import ModelError, Refused
from engine.folders.model import open_folder
from engine.unloadable import explained
from tests.folders.tiny_folder import CONTEXT, LAYERS, VOCAB, Make, genai, optimum, write_tokenizer

Spoil = Callable[[Path], None]


@pytest.mark.parametrize("layout", ["genai", "optimum"])
@pytest.mark.parametrize(
    ("make", "says"),
    [
        (Make(last_row="told"), "gives logits of the last row only, and cannot verify a draft so: export it with"),
        (Make(last_row="hidden"), "gives logits of the last row only|tried with two tokens and does not run"),
        (Make(last_row="flat"), r"logits has shape \[batch_size, 257\], expected one of batch, length and vocabulary"),
        (Make(logits=False, hidden=True), "gives hidden states and no logits: export it with its head"),
        (Make(embeds=True), "takes embeddings in place of token ids"),
        (Make(width=1), "its passes have one row, and a round verifies k"),
        (Make(batch=4), "input_ids has a fixed batch of 4"),
        (Make(output=TensorProto.BFLOAT16), r"logits is tensor\(bfloat16\): export the model with outputs of float"),
        (Make(output=TensorProto.DOUBLE), r"logits is tensor\(double\): export the model with outputs of float"),
    ],
    ids=[
        "last row",
        "last row, though not told",
        "last row, without a length",
        "no head",
        "embeddings",
        "one row",
        "fixed batch",
        "bfloat16",
        "double",
    ],
)
def test_a_graph_that_cannot_do_what_a_base_must(tmp_path: Path, layout: str, make: Make, says: str) -> None:
    make = dataclasses.replace(make, genai=layout == "genai")
    folder = genai(tmp_path, make) if make.genai else optimum(tmp_path, make)
    with pytest.raises(ModelError, match=says):
        open_folder(folder).load()


def test_a_graph_whose_rows_see_those_behind_them(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="a pass of two tokens does not give the logits that the two give one after"):
        open_folder(optimum(tmp_path, Make(masked=False))).load()


@pytest.mark.parametrize(
    ("widths", "says"),
    [
        ((1,), r"a round verifies k \+ 1 rows in one pass, and --widths has no wider pass than 1"),
        ((CONTEXT + 1, 1000), f"no pass of {CONTEXT + 1} rows fits the context of {CONTEXT} positions"),
    ],
)
def test_widths_that_are_not_for_the_model(tmp_path: Path, widths: tuple[int, ...], says: str) -> None:
    with pytest.raises(Refused, match=says):
        open_folder(optimum(tmp_path)).load(widths=widths)


@pytest.mark.parametrize(("old", "new"), [("input_ids", "tokens"), ("logits", "scores")])
def test_a_graph_whose_names_nothing_tells(tmp_path: Path, old: str, new: str) -> None:
    folder = optimum(tmp_path)
    model = onnx.load(str(folder / "model.onnx"))
    model.graph.node.append(onnx.helper.make_node("Identity", ["logits"], [new]))
    given = onnx.helper.make_tensor_value_info(new, TensorProto.FLOAT, ["b", "n", VOCAB])
    wanted = onnx.helper.make_tensor_value_info(new, TensorProto.INT64, ["b", "n"])
    if old == "logits":
        (there,) = (each for each in model.graph.output if each.name == old)
        there.CopyFrom(given)
    else:
        (there,) = (each for each in model.graph.input if each.name == old)
        there.CopyFrom(wanted)
        model.graph.node.pop()
        model.graph.node.insert(0, onnx.helper.make_node("Identity", [new], [old]))
    onnx.save(model, str(folder / "model.onnx"))
    with pytest.raises(ModelError, match=f"it has no (in|out)put {old}, and nothing says which it is of {new}, "):
        open_folder(folder).load()


def test_a_graph_with_a_damaged_name(tmp_path: Path) -> None:
    folder = optimum(tmp_path)
    content = (folder / "model.onnx").read_bytes()
    (folder / "model.onnx").write_bytes(content.replace(b"past_key_values.0.key", b"past_key_values\xff0.key"))
    with pytest.raises(ModelError, match=r"model\.onnx: (a name in it is no text, so that it is damaged|not an ONNX)"):
        open_folder(folder).load()


def test_a_graph_without_a_cache(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"takes no past keys and values, .*text-generation-with-past"):
        open_folder(optimum(tmp_path, Make(past=False))).load()


def test_keys_and_values_of_a_fixed_length(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"past_key_values\.0\.key has the fixed shape \[batch_size, 2, 64, 16\]"):
        open_folder(optimum(tmp_path, Make(capacity=64))).load()


@pytest.mark.parametrize(
    ("spoil", "says"),
    [
        (lambda folder: (folder / "model.onnx").unlink(), r"genai_config\.json names the graph model\.onnx, which is"),
        (lambda folder: (folder / "model.onnx.data").unlink(), r"its weights are in model\.onnx\.data, which is not"),
        (lambda folder: _cut(folder / "model.onnx.data"), "the file of its weights ends after 1000 bytes, before c"),
        (lambda folder: _cut(folder / "model.onnx"), "not an ONNX model, or cut short: fetch it again"),
        (lambda folder: (folder / "model.onnx").write_bytes(b""), "the file is empty: fetch it again"),
        (
            lambda folder: (folder / "model.onnx").write_bytes(b"version https://git-lfs.github.com/spec/v1\n"),
            "a pointer of Git LFS and not the file itself",
        ),
        (
            lambda folder: (folder / "tokenizer.json").unlink(),
            r"tokenizer\.json: no such tokenizer file: put the model's own",
        ),
        (
            lambda folder: _cut(folder / "tokenizer.json"),
            r"tokenizer\.json: not a tokenizer file, or cut short .*: fetch it",
        ),
        (
            lambda folder: _cut(folder / "genai_config.json", 50),
            r"genai_config\.json: not JSON, or cut short .*: fetch it again",
        ),
        (
            lambda folder: (folder / "genai_config.json").write_text("[" * 100_000, encoding="utf-8"),
            r"genai_config\.json: not JSON, or cut short",
        ),
        (
            lambda folder: (folder / "genai_config.json").write_text("{}", encoding="utf-16"),
            r"genai_config\.json: it is not text in UTF-8: save it so",
        ),
        (
            lambda folder: _configure(folder, filename="onnx/model.onnx"),
            r"genai_config\.json names the graph onnx/model\.onnx, which is not there",
        ),
        (lambda folder: _configure(folder, filename="m" * 300), "m: it cannot be read: file name too long"),
        (lambda folder: _configure(folder, pipeline=[{}]), "a pipeline of several graphs"),
        (lambda folder: _configure(folder, filename="../model.onnx"), "it has to be a file inside the folder"),
        (
            lambda folder: (folder / "genai_config.json").unlink(),
            r"its layout is unknown: neither genai_config\.json .* nor config\.json .* is beside model\.onnx: put",
        ),
    ],
    ids=[
        "no graph",
        "no weights",
        "weights cut short",
        "graph cut short",
        "graph empty",
        "graph not fetched",
        "no tokenizer",
        "tokenizer cut short",
        "configuration cut short",
        "configuration too deep",
        "configuration in UTF-16",
        "graph in another place",
        "graph whose name is too long",
        "pipeline",
        "graph elsewhere",
        "no configuration",
    ],
)
def test_a_folder_with_a_file_missing_or_damaged(tmp_path: Path, spoil: Spoil, says: str) -> None:
    folder = genai(tmp_path)
    spoil(folder)
    with pytest.raises(ModelError, match=says):
        open_folder(folder).load()


@pytest.mark.parametrize(
    ("files", "says"),
    [
        ([], r"there is no graph \(\*\.onnx\), neither there nor in onnx/"),
        (["model.gguf"], r"a GGUF file and no graph: make one of it with `specstep models add FILE\.gguf`"),
        (["config.json", "model.safetensors"], "weights of transformers and no graph: export them"),
    ],
)
def test_a_folder_of_another_kind(tmp_path: Path, files: list[str], says: str) -> None:
    for name in files:
        (tmp_path / name).write_text("{}", encoding="utf-8")
    with pytest.raises(ModelError, match=says):
        open_folder(tmp_path)


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("mine.Q4_K_M.gguf", r"a GGUF file and no graph: make one of it with `specstep models add mine\.Q4_K_M\.gguf`"),
        ("weights.bin", "a file that is no graph: give a folder"),
    ],
)
def test_a_file_that_is_no_graph(tmp_path: Path, name: str, says: str) -> None:
    (tmp_path / name).touch()
    with pytest.raises(ModelError, match=says):
        open_folder(tmp_path / name)


@pytest.mark.parametrize("name", ["model.onnx", "model.onnx.data", "genai_config.json", "tokenizer.json"])
def test_a_file_that_may_not_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """Whoever runs the tests may be one who may read everything: the system is made to say no."""
    folder = genai(tmp_path)

    def locked(way: Callable[..., Any]) -> Callable[..., Any]:
        def opened(path: Path, *arguments: Any, **named: Any) -> Any:
            if path.name == name:
                raise PermissionError(errno.EACCES, "Permission denied", str(path))
            return way(path, *arguments, **named)

        return opened

    for way in ("open", "read_text"):
        monkeypatch.setattr(Path, way, locked(getattr(Path, way)))
    if name == "model.onnx.data":
        said = f"[ONNXRuntimeError] : 6 : RUNTIME_EXCEPTION : SystemError : {errno.EACCES}"
        assert explained(folder / "model.onnx", said).endswith("weights cannot be read: permission denied")
        return
    with pytest.raises(ModelError, match=rf"{re.escape(name)}: it cannot be read: permission denied"):
        open_folder(folder).load()


def test_missing_weights_are_told_as_each_onnxruntime_says_it() -> None:
    for said in (
        '[ONNXRuntimeError] : 1 : FAIL : External data path does not exist: "/x/model.onnx.data" (initializer)',
        "filesystem error: cannot get file size: No such file or directory [/x/model.onnx.data]",
    ):
        assert "its weights are in model.onnx.data, which is not beside it" in explained(Path("model.onnx"), said)


def test_a_folder_that_may_not_be_entered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = optimum(tmp_path)

    def locked(path: Path) -> bool:
        raise PermissionError(errno.EACCES, "Permission denied", str(path))

    monkeypatch.setattr(Path, "is_file", locked)
    with pytest.raises(ModelError, match="it cannot be read: permission denied"):
        open_folder(folder)


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="nowhere: no such folder"):
        open_folder(tmp_path / "nowhere")
    folder = optimum(tmp_path)
    with pytest.raises(ModelError, match=r"model_q4\.onnx: no such graph; .* has model\.onnx"):
        open_folder(folder / "onnx" / "model_q4.onnx")


@pytest.mark.parametrize("extra", [2, 400])
def test_a_tokenizer_with_more_tokens_than_the_model(tmp_path: Path, extra: int) -> None:
    folder = optimum(tmp_path)
    write_tokenizer(folder, merges=extra)
    last = VOCAB + extra - 1
    with pytest.raises(ModelError, match=f"its tokens go up to {last}, the model has {VOCAB}: they are not of the"):
        open_folder(folder).load()


def test_a_tokenizer_with_far_fewer_tokens_than_the_model(tmp_path: Path) -> None:
    folder = optimum(tmp_path, Make(vocab=3 * VOCAB), vocab_size=3 * VOCAB)
    with pytest.raises(ModelError, match=f"its tokens go up to {VOCAB - 1}, the model has {3 * VOCAB}"):
        open_folder(folder).load()


def test_a_graph_and_a_configuration_of_different_models(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=f"gives logits of {VOCAB} tokens, its configuration says 999"):
        open_folder(optimum(tmp_path, vocab_size=999)).load()


def test_a_present_that_is_not_given_back(tmp_path: Path) -> None:
    folder = optimum(tmp_path)
    (folder / "genai_config.json").write_text(
        json.dumps(
            {
                "model": {
                    "vocab_size": VOCAB,
                    "decoder": {
                        "inputs": {"past_key_names": "past_key_values.%d.key"},
                        "outputs": {"present_key_names": "gone.%d.key"},
                        "num_hidden_layers": LAYERS,
                    },
                }
            }
        ),
        encoding="utf-8",
    )
    with pytest.raises(ModelError, match=r"the graph has no gone\.0\.key"):
        open_folder(folder).load()


def test_a_graph_that_wants_what_nobody_has(tmp_path: Path) -> None:
    folder = optimum(tmp_path)
    model = onnx.load(str(folder / "model.onnx"))
    model.graph.input.append(onnx.helper.make_tensor_value_info("pixel_values", onnx.TensorProto.FLOAT, [1, 3]))
    onnx.save(model, str(folder / "model.onnx"))
    with pytest.raises(ModelError, match="the graph wants pixel_values, which a base has no value for"):
        open_folder(folder).load()


def _cut(path: Path, keep: int = 1000) -> None:
    path.write_bytes(path.read_bytes()[:keep])


def _configure(folder: Path, **decoder: object) -> None:
    path = folder / "genai_config.json"
    whole = json.loads(path.read_text(encoding="utf-8"))
    whole["model"]["decoder"] |= decoder
    path.write_text(json.dumps(whole), encoding="utf-8")
