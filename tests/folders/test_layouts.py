"""What is read of a folder: its layout, which graph is the model, where a text ends, what is put around a prompt."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from engine.errors import ModelError, Refused
from engine.folders.layout import model_folder
from engine.folders.model import open_folder
from tests.folders.tiny_folder import CONTEXT, END, LAYERS, genai, optimum, write_tokenizer


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("made")
    optimum(folder / "optimum")
    genai(folder / "genai")
    return folder


@pytest.fixture
def folder(made: Path, tmp_path: Path) -> Path:
    shutil.copytree(made / "optimum", tmp_path / "tiny")
    return tmp_path / "tiny"


@pytest.fixture
def genai_folder(made: Path, tmp_path: Path) -> Path:
    shutil.copytree(made / "genai", tmp_path / "tiny-genai")
    return tmp_path / "tiny-genai"


def change(path: Path, **values: Any) -> None:
    """Put values into a JSON file, a map merged into the map that is there; ``None`` takes one out."""
    whole = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    for key, value in values.items():
        if isinstance(value, dict) and key in whole:
            whole[key] |= value
        else:
            whole[key] = value
    path.write_text(json.dumps({key: value for key, value in whole.items() if value is not None}), encoding="utf-8")


def test_the_two_layouts_are_told_apart_by_their_files(folder: Path, genai_folder: Path) -> None:
    one, other = model_folder(folder), model_folder(genai_folder)
    assert (one.layout, other.layout) == ("Optimum", "onnxruntime-genai")
    for found in (one, other):
        facts = found.facts
        assert (facts.context_length, facts.layers, facts.stop_tokens) == (CONTEXT, LAYERS, (END,))
    assert other.bytes == sum((genai_folder / name).stat().st_size for name in ("model.onnx", "model.onnx.data"))


@pytest.mark.parametrize(
    ("graphs", "taken"),
    [
        (["model.onnx", "model_q4.onnx", "onnx/model.onnx"], "model.onnx"),
        (["onnx/model.onnx", "onnx/model_fp16.onnx", "onnx/model_q4.onnx"], "onnx/model.onnx"),
        (["onnx/model_q4.onnx", "onnx/model_fp16.onnx", "onnx/model_quantized.onnx"], "onnx/model_fp16.onnx"),
        (["onnx/model_q4.onnx", "onnx/model_int8.onnx", "onnx/model_q4f16.onnx"], "onnx/model_int8.onnx"),
        (["decoder_model.onnx", "decoder_with_past_model.onnx"], "decoder_with_past_model.onnx"),
        (["llama.onnx"], "llama.onnx"),
    ],
)
def test_of_several_graphs_the_least_quantised_is_taken_and_the_others_are_named(
    folder: Path, graphs: list[str], taken: str
) -> None:
    (folder / "onnx").mkdir()
    (folder / "model.onnx").rename(folder / "kept")
    for name in graphs:
        shutil.copy(folder / "kept", folder / name)
    found = model_folder(folder)
    assert found.graph == folder / taken
    assert sorted(found.others) == sorted(set(graphs) - {taken})
    notes = open_folder(folder).notes
    if len(graphs) > 1:
        assert notes[0].startswith(f"{taken} was taken; there is also ")
    else:
        assert notes == ()


def test_a_graph_can_be_named_and_the_folder_around_it_is_found(folder: Path) -> None:
    (folder / "onnx").mkdir()
    shutil.copy(folder / "model.onnx", folder / "onnx" / "model_q4.onnx")
    found = model_folder(folder / "onnx" / "model_q4.onnx")
    assert (found.folder, found.name, found.others) == (folder, "tiny/model_q4", ("model.onnx",))
    assert model_folder(folder).name == "tiny"
    assert open_folder(folder / "onnx" / "model_q4.onnx").load().base.info.name == "tiny/model_q4"


def test_several_graphs_of_which_none_is_known_have_to_be_chosen_from(folder: Path) -> None:
    for name in ("one.onnx", "two.onnx"):
        shutil.copy(folder / "model.onnx", folder / name)
    (folder / "model.onnx").unlink()
    with pytest.raises(ModelError, match=r"several graphs, one\.onnx, two\.onnx: name one with --model-file"):
        model_folder(folder)
    assert model_folder(folder / "two.onnx").graph.name == "two.onnx"


@pytest.mark.parametrize(("stop", "ids"), [(7, (7,)), ([7, 9], (7, 9))], ids=["one", "several"])
def test_the_end_of_a_text_is_that_of_the_generation_config(
    folder: Path, genai_folder: Path, stop: Any, ids: tuple[int, ...]
) -> None:
    change(folder / "generation_config.json", eos_token_id=stop)
    change(genai_folder / "genai_config.json", model={"eos_token_id": stop})
    for where, name in ((folder, "generation_config.json"), (genai_folder, "genai_config.json")):
        found = open_folder(where)
        assert found.stop_tokens == ids
        told = ", ".join(map(str, ids))
        assert found.notes == (
            f"tokenizer_config.json ends a text at <|endoftext|> ({END}), {name} at token {told}: the latter is taken",
        )


def test_files_that_disagree_on_the_end_of_a_text_are_named(folder: Path) -> None:
    change(folder / "config.json", eos_token_id=3)
    assert open_folder(folder).notes == (
        f"config.json ends a text at token 3, generation_config.json at token {END}: the latter is taken",
    )


def test_where_nothing_else_says_it_the_tokenizer_says_where_a_text_ends(folder: Path) -> None:
    (folder / "generation_config.json").unlink()
    found = open_folder(folder)
    assert (found.stop_tokens, found.notes) == ((END,), ())
    change(folder / "tokenizer_config.json", eos_token=None)
    assert open_folder(folder).stop_tokens == ()


def test_what_the_tokenizer_puts_before_a_text_is_put_there_once(folder: Path) -> None:
    bare = open_folder(folder).encode("ab")
    assert len(bare) == 2
    write_tokenizer(folder, bos=True)
    assert open_folder(folder).encode("ab") == [END, *bare]
    change(folder / "tokenizer_config.json", add_bos_token=True, bos_token="<|endoftext|>")
    assert open_folder(folder).encode("ab") == [END, *bare]
    write_tokenizer(folder)
    change(folder / "tokenizer_config.json", add_bos_token=True, bos_token={"content": "<|endoftext|>"})
    assert open_folder(folder).encode("ab") == [END, *bare]


def text_of(folder: Path, prompt: str, system: str | None = None) -> str:
    model = open_folder(folder)
    return model.tokenizer.decode(model.chat(prompt, system))


def test_a_chat_is_put_into_the_template_of_the_tokenizer_or_of_a_file_of_its_own(folder: Path) -> None:
    assert text_of(folder, "hi", "be brief") == "<system>be brief\n<user>hi\n<assistant>"
    assert text_of(folder, "hi") == "<user>hi\n<assistant>"
    (folder / "chat_template.jinja").write_text(
        "{{ eos_token }}{% for m in messages %}{% if m.role == 'system' %}{% continue %}{% endif %}{{ m | tojson }}"
        "{% endfor %}",
        encoding="utf-8",
    )
    assert text_of(folder, "<é>", "x") == '<|endoftext|>{"role": "user", "content": "<é>"}'


def test_of_several_templates_the_default_one_is_used(folder: Path) -> None:
    named = [{"name": "tools", "template": "no"}, {"name": "default", "template": "{{ messages[0].content }}!"}]
    change(folder / "tokenizer_config.json", chat_template=named)
    assert text_of(folder, "hi") == "hi!"


@pytest.mark.parametrize(
    ("template", "says"),
    [
        ("{{ raise_exception('System role not supported') }}", "refuses this: System role not supported"),
        ("{{ messages.append(1) }}", "refuses this"),
        ("{{ ''.__class__.__mro__ }}", "refuses this: access to attribute '__class__'"),
        ("{{ messages[5].content }}", "refuses this"),
        ("{% for i in range(10**9) %}{% endfor %}", "refuses this: Range too big"),
        ("{{ 1 // 0 }}", "refuses this: .* by zero"),
    ],
    ids=[
        "it says so itself",
        "it changes what it is given",
        "it reaches out of its sandbox",
        "it is wrong",
        "it is long",
        "it divides",
    ],
)
def test_a_template_that_will_not_is_refused(folder: Path, template: str, says: str) -> None:
    change(folder / "tokenizer_config.json", chat_template=template)
    with pytest.raises(Refused, match=says):
        open_folder(folder).chat("hi")


def test_a_model_without_a_template_has_no_chat(folder: Path) -> None:
    change(folder / "tokenizer_config.json", chat_template=None)
    with pytest.raises(Refused, match="tiny has no chat template"):
        open_folder(folder).chat("hi")


def test_a_template_that_cannot_be_read_is_a_model_error(folder: Path) -> None:
    change(folder / "tokenizer_config.json", chat_template="{% for %}")
    with pytest.raises(ModelError, match="not a chat template"):
        open_folder(folder)
    (folder / "tokenizer_config.json").write_text("[1", encoding="utf-8")
    with pytest.raises(ModelError, match=r"tokenizer_config\.json: not JSON, or cut short"):
        open_folder(folder)
