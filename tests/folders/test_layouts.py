"""What is read of a folder: its layout, which graph is the model, where a text ends, what is put around a prompt."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from engine.errors import ModelError, Refused
from engine.folders.layout import model_folder
from engine.folders.model import open_folder
from tests.folders.tiny_folder import CONTEXT, END, HEADS, LAYERS, SIZE, genai, optimum, write_tokenizer


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
        (
            "{% for i in range(9999) %}{% for j in range(9999) %}{% endfor %}{% endfor %}",
            "refuses this: it does not come to an end within 1,000,000 steps",
        ),
        ("{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}", "refuses this: maximum recursion depth exceeded"),
    ],
    ids=[
        "it says so itself",
        "it changes what it is given",
        "it reaches out of its sandbox",
        "it is wrong",
        "it is long",
        "it divides",
        "it goes on and on",
        "it calls itself",
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


def test_a_model_whose_template_is_none_runs_without_a_chat(folder: Path) -> None:
    change(folder / "tokenizer_config.json", chat_template="{% for %}")
    model = open_folder(folder)
    (note,) = model.notes
    assert note.startswith("there is no chat: tokenizer_config.json: not a chat template: ")
    with pytest.raises(Refused, match="tiny has no chat template"):
        model.chat("hi")
    (folder / "tokenizer_config.json").write_text("[1", encoding="utf-8")
    with pytest.raises(ModelError, match=r"tokenizer_config\.json: not JSON, or cut short"):
        open_folder(folder)


@pytest.mark.parametrize(
    ("template", "text"),
    [
        ("{% if tools is not none %}{{ tools | length }} tools{% endif %}{{ messages[0].content }}", "hi"),
        ("{% for m in messages %}{% generation %}{{ m.content }}{% endgeneration %}!{% endfor %}", "hi!"),
        ("{{ messages[0] | tojson(separators=(',', ':'), sort_keys=True) }}", '{"content":"hi","role":"user"}'),
        ("\ufeff{{ messages[0].content }}", "hi"),
    ],
    ids=["asks for tools", "marks what to learn", "its own JSON", "a mark before it"],
)
def test_a_template_is_given_what_transformers_gives_it(folder: Path, template: str, text: str) -> None:
    (folder / "chat_template.jinja").write_text(template, encoding="utf-8")
    assert text_of(folder, "hi") == text


@pytest.mark.parametrize("name", ["config.json", "generation_config.json", "tokenizer_config.json", "tokenizer.json"])
def test_a_mark_before_a_file_is_not_read_as_part_of_it(folder: Path, name: str) -> None:
    wanted = open_folder(folder)
    (folder / name).write_bytes(b"\xef\xbb\xbf" + (folder / name).read_bytes())
    found = open_folder(folder)
    assert (found.where.facts, found.stop_tokens, found.notes) == (wanted.where.facts, wanted.stop_tokens, ())


@pytest.mark.parametrize(
    ("stop", "taken", "said"),
    [
        (-1, (END,), ()),
        ([END, END, 7], (END, 7), ()),
        (9_999, (END,), ("generation_config.json ends a text at token 9999, which the tokenizer does not have",)),
    ],
    ids=["none at all", "one twice", "one that is not there"],
)
def test_an_end_that_no_text_can_have_is_left_out(folder: Path, stop: Any, taken: tuple[int, ...], said: Any) -> None:
    change(folder / "generation_config.json", eos_token_id=stop)
    found = open_folder(folder)
    assert (found.stop_tokens, found.notes) == (taken, said)


def test_a_size_of_heads_that_is_not_said_follows_from_what_is(genai_folder: Path) -> None:
    decoder = {"hidden_size": HEADS * SIZE, "num_attention_heads": HEADS, "head_size": None}
    change(genai_folder / "genai_config.json", model=_merged(genai_folder, **decoder))
    assert open_folder(genai_folder).where.facts.head_dim == SIZE


def test_a_name_in_the_configuration_that_the_graph_does_not_have_is_no_reason_not_to_run(genai_folder: Path) -> None:
    names = {
        "inputs": {"input_ids": "tokens", "attention_mask": "m", "position_ids": "p", "past_key_names": "k_%d"},
        "outputs": {"logits": "scores", "hidden_states": "h", "present_key_names": "k_%d_out"},
    }
    change(genai_folder / "genai_config.json", model=_merged(genai_folder, **names))
    assert open_folder(genai_folder).load().abilities.cache == "one buffer, written in place"


def _merged(folder: Path, **decoder: Any) -> dict[str, Any]:
    whole = json.loads((folder / "genai_config.json").read_text(encoding="utf-8"))
    return {"decoder": whole["model"]["decoder"] | decoder}


def test_special_tokens_that_the_model_lacks_are_no_reason_not_to_run(folder: Path) -> None:
    write_tokenizer(folder, special=2)
    model = open_folder(folder)
    assert model.notes == ("the model lacks the last 2 of its tokenizer's special tokens: no prompt can have them",)
    model.load()


def test_links_are_followed_and_what_they_miss_is_not_counted(folder: Path, tmp_path: Path) -> None:
    linked = tmp_path / "snapshot"
    linked.mkdir()
    for path in folder.iterdir():
        (linked / path.name).symlink_to(path)
    (linked / "model.onnx.old").symlink_to("gone")
    model = open_folder(linked)
    assert model.account(model.load())["bytes"] == (folder / "model.onnx").stat().st_size


def test_a_folder_may_be_called_as_a_graph_is_and_a_graph_as_a_pattern(folder: Path) -> None:
    called = folder.rename(folder.with_name("tiny.onnx"))
    (called / "model.onnx").rename(called / "model[1].onnx")
    found = model_folder(called)
    assert (found.graph.name, found.bytes > 0) == ("model[1].onnx", True)
