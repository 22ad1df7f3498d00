"""The tokenizer of a GGUF file cuts, merges, begins and ends as the file says."""

import itertools
from pathlib import Path
from typing import Any

import pytest
from gguf import GGUFWriter
from hypothesis import given
from hypothesis import strategies as st

from engine.errors import ModelError
from engine.models.own.container import GgufFile
from engine.models.own.splits import SPLITS
from engine.models.own.vocabulary import Vocabulary, vocabulary_of
from engine.tokenizer import Tokenizer
from tests.own.tiny_gguf import ALPHABET, END, KINDS, MERGES, START, TOOL, WORDS, add

PIECES = {"▁": -9.0, "h": -10.0, "i": -11.0, "t": -12.0, "e": -13.0, "hi": -2.0, "▁hi": -3.0, "▁t": -1.0, "th": -0.5}
PIECES |= {"the": -4.0, "▁the": -5.0, "▁▁": -6.0}
SPM_WORDS = ["<unk>", "<s>", "</s>", *(f"<0x{byte:02X}>" for byte in range(256)), *PIECES, "<end_of_turn>"]
SPM_KINDS = [2, 3, 3, *[6] * 256, *[1] * len(PIECES), 3]
SPM: dict[str, Any] = {
    "tokenizer.ggml.model": "llama",
    "tokenizer.ggml.tokens": SPM_WORDS,
    "tokenizer.ggml.token_type": SPM_KINDS,
    "tokenizer.ggml.scores": [0.0] * 259 + list(PIECES.values()) + [0.0],
    "tokenizer.ggml.bos_token_id": 1,
    "tokenizer.ggml.eos_token_id": 2,
}
BYTES: dict[str, Any] = {
    "tokenizer.ggml.model": "gpt2",
    "tokenizer.ggml.pre": "smollm",
    "tokenizer.ggml.tokens": WORDS,
    "tokenizer.ggml.token_type": KINDS,
    "tokenizer.ggml.merges": MERGES,
    "tokenizer.ggml.bos_token_id": START,
    "tokenizer.ggml.eos_token_id": START,
}


def read(path: Path, fields: dict[str, Any]) -> Vocabulary:
    """The tokenizer of a file that holds nothing else."""
    writer = GGUFWriter(path / "vocabulary.gguf", "llama")
    for key, value in fields.items():
        add(writer, key, value)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return vocabulary_of(GgufFile(path / "vocabulary.gguf"))


def pieces(vocabulary: Vocabulary, text: str) -> list[str | None]:
    ids = vocabulary.library.encode(text, add_special_tokens=False).ids
    return [vocabulary.library.id_to_token(token) for token in ids]


def test_a_byte_level_text_is_cut_and_merged(tmp_path: Path) -> None:
    made = read(tmp_path, BYTES)

    assert pieces(made, "hello world") == ["hello", "Ġw", "o", "r", "l", "d"]
    assert made.library.get_vocab_size() == len(WORDS)


def test_digits_are_kept_apart_where_the_file_says_so_though_there_is_a_merge_for_them(tmp_path: Path) -> None:
    assert pieces(read(tmp_path, BYTES), "12") == ["1", "2"]
    assert pieces(read(tmp_path, BYTES | {"tokenizer.ggml.pre": "gpt-2"}), "12") == ["12"]


def test_special_tokens_are_one_token_in_a_text_and_nothing_is_put_around_it(tmp_path: Path) -> None:
    made = read(tmp_path, BYTES)

    ids = made.library.encode("<|im_start|>he<|tool|><|im_end|>").ids

    assert ids == [START, WORDS.index("he"), TOOL, END]


def test_a_prompt_begins_as_the_file_says_and_not_as_its_kind_would(tmp_path: Path) -> None:
    assert read(tmp_path, BYTES).start_token is None
    assert read(tmp_path, BYTES | {"tokenizer.ggml.add_bos_token": True}).start_token == START
    assert read(tmp_path, BYTES | {"tokenizer.ggml.pre": "llama-bpe"}).start_token == START
    silent = {"tokenizer.ggml.pre": "llama-bpe", "tokenizer.ggml.add_bos_token": False}
    assert read(tmp_path, BYTES | silent).start_token is None
    assert read(tmp_path, SPM).start_token == 1


def test_every_token_that_ends_a_turn_stops_a_run_besides_the_one_that_the_file_names(tmp_path: Path) -> None:
    assert read(tmp_path, BYTES).stop_tokens == (START, END)
    assert read(tmp_path, SPM).stop_tokens == (2, SPM_WORDS.index("<end_of_turn>"))


def test_a_piece_that_is_a_token_is_not_merged_where_that_is_the_way(tmp_path: Path) -> None:
    fields = BYTES | {"tokenizer.ggml.merges": ["l l"], "tokenizer.ggml.add_bos_token": False}

    assert pieces(read(tmp_path, fields), "hello") == ["h", "e", "ll", "o"]
    assert pieces(read(tmp_path, fields | {"tokenizer.ggml.pre": "llama-bpe"}), "hello") == ["hello"]


def test_a_composed_form_comes_first_where_the_tokenizer_of_that_name_has_it(tmp_path: Path) -> None:
    apart = "e\N{COMBINING ACUTE ACCENT}"

    assert len(pieces(read(tmp_path, BYTES | {"tokenizer.ggml.pre": "qwen2"}), apart)) == len("é".encode())
    assert len(pieces(read(tmp_path, BYTES), apart)) == len(apart.encode())


@pytest.mark.parametrize(
    ("name", "text", "cut"),
    [
        ("gpt-2", "it's 2024 ok", ["it", "'s", "Ġ2024", "Ġok"]),
        ("smollm", "in 2024", ["in", "Ġ", "2", "0", "2", "4"]),
        ("llama-bpe", "IT'S 12345", ["IT", "'S", "Ġ", "123", "45"]),
        ("qwen2", "a 123", ["a", "Ġ", "1", "2", "3"]),
        ("tekken", "HelloWorld 12", ["Hello", "World", "Ġ", "1", "2"]),
        ("gpt-4o", "HelloWorld's 1234", ["Hello", "World's", "Ġ", "123", "4"]),
        ("falcon", "a,b 1234", ["a", ",", "b", "Ġ", "123", "4"]),
        ("deepseek-coder", "a\n12", ["a", "Ċ", "1", "2"]),
        ("default", "a+b 1234", ["a", "+", "b", "Ġ", "123", "4"]),
    ],
)
def test_each_way_cuts_a_text_as_its_tokenizer_does(name: str, text: str, cut: list[str]) -> None:
    made = SPLITS[name].pre_tokenizer().pre_tokenize_str(text)

    assert [piece for piece, _ in made] == cut


@pytest.fixture(scope="module")
def sentence_piece(tmp_path_factory: pytest.TempPathFactory) -> Tokenizer:
    folder = tmp_path_factory.mktemp("spm")
    made = read(folder, SPM)
    (folder / "tokenizer.json").write_text(made.library.to_str(), encoding="utf-8")
    return Tokenizer(folder / "tokenizer.json")


def best_first(text: str) -> list[str]:
    """SentencePiece's rule, word for word: merge the pair of neighbours with the best score, the leftmost of equals."""
    parts = [*("▁" + text.replace(" ", "▁"))]
    while True:
        scored = [(PIECES[a + b], -i) for i, (a, b) in enumerate(itertools.pairwise(parts)) if a + b in PIECES]
        if not scored:
            break
        at = -max(scored)[1]
        parts[at : at + 2] = [parts[at] + parts[at + 1]]
    return [byte for part in parts for byte in ([part] if part in PIECES else [f"<0x{b:02X}>" for b in part.encode()])]


@given(text=st.text(alphabet="hite xé\n", min_size=1))
def test_sentence_piece_merges_the_best_score_first_and_falls_back_to_bytes(
    sentence_piece: Tokenizer, text: str
) -> None:
    tokens = sentence_piece.encode(text)

    assert [SPM_WORDS[token] for token in tokens] == best_first(text)
    assert b"".join(map(sentence_piece.piece, tokens)) == b" " + text.encode()


def test_sentence_piece_puts_no_space_before_a_text_where_the_file_says_so(tmp_path: Path) -> None:
    assert pieces(read(tmp_path, SPM), "the") == ["▁the"]
    assert pieces(read(tmp_path, SPM | {"tokenizer.ggml.add_space_prefix": False}), "the") == ["the"]


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"tokenizer.ggml.model": "bert"}, "its tokenizer is of the kind 'bert'"),
        ({"tokenizer.ggml.pre": "made-up"}, "its text is cut in the way 'made-up', which is not one of"),
        ({"tokenizer.ggml.merges": ["he"]}, "'he' among its merges is no pair"),
        ({"tokenizer.ggml.merges": ["h zz"]}, "its merges do not fit its tokens"),
        ({"tokenizer.ggml.merges": None}, "it does not say tokenizer.ggml.merges"),
        ({"tokenizer.ggml.tokens": None}, "it does not say tokenizer.ggml.tokens"),
        ({"tokenizer.ggml.tokens": [*WORDS[:-1], "hello"]}, "token 'hello' is 2 times in its vocabulary"),
        ({"tokenizer.ggml.token_type": KINDS[:-1]}, f"it has {len(KINDS) - 1} types for {len(KINDS)} tokens"),
        ({"tokenizer.ggml.eos_token_id": 9999}, "tokenizer.ggml.eos_token_id is 9999, but there are"),
        ({"tokenizer.ggml.add_bos_token": True, "tokenizer.ggml.bos_token_id": None}, "it does not say which"),
        ({"tokenizer.ggml.eos_token_id": "two"}, "tokenizer.ggml.eos_token_id is 'two', not of the type int"),
    ],
)
def test_a_tokenizer_that_cannot_be_made_is_refused_with_the_reason(
    tmp_path: Path, fields: dict[str, Any], message: str
) -> None:
    with pytest.raises(ModelError, match=message):
        read(tmp_path, BYTES | fields)


def test_scores_have_to_be_there_for_every_piece(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="it has 3 scores for"):
        read(tmp_path, SPM | {"tokenizer.ggml.scores": [0.0] * 3})


def test_every_byte_has_a_token_of_its_own() -> None:
    assert len(ALPHABET) == 256
