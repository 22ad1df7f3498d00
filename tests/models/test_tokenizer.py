"""A token's piece is exactly the bytes it stands for."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer as Library
from tokenizers import decoders, models, pre_tokenizers, trainers

from engine.errors import ModelError, Refused
from engine.tokenizer import Tokenizer


@pytest.fixture(scope="module")
def byte_level(tmp_path_factory: pytest.TempPathFactory) -> Tokenizer:
    library = Library(models.BPE())
    library.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    library.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=300,
        special_tokens=["<|end|>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    library.train_from_iterator(["def round(self):\n    return self.round\n"] * 3, trainer)
    path = tmp_path_factory.mktemp("tokenizer") / "tokenizer.json"
    library.save(str(path))
    return Tokenizer(path)


@given(text=st.text())
def test_the_pieces_of_a_text_are_its_bytes(byte_level: Tokenizer, text: str) -> None:
    tokens = byte_level.encode(text)

    assert b"".join(map(byte_level.piece, tokens)) == text.encode()
    assert byte_level.decode(tokens) == text


def test_a_split_character_shows_as_a_replacement_and_not_as_an_error(byte_level: Tokenizer) -> None:
    tokens = byte_level.encode("é")

    assert [byte_level.piece(token) for token in tokens] == [b"\xc3", b"\xa9"]
    assert byte_level.decode(tokens[:1]) == "\ufffd"


def test_a_special_token_is_its_own_text_and_an_unknown_id_is_nothing(byte_level: Tokenizer) -> None:
    assert byte_level.piece(0) == b"<|end|>"
    assert byte_level.piece(byte_level.vocab_size) == b""


def test_sentencepiece_spaces_and_byte_tokens_become_bytes(tmp_path: Path) -> None:
    vocab = {"<unk>": 0, "<0x0A>": 1, "\u2581the": 2, "end": 3}
    library = Library(models.BPE(vocab=vocab, merges=[], unk_token="<unk>", byte_fallback=True))
    path = tmp_path / "tokenizer.json"
    library.save(str(path))

    tokenizer = Tokenizer(path)

    assert [tokenizer.piece(token) for token in (1, 2, 3)] == [b"\n", b" the", b"end"]


@pytest.mark.parametrize("content", [b"", b"{}", b"\xff\xfe", json.dumps({"model": 3}).encode()])
def test_what_is_no_tokenizer_is_a_model_error(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "tokenizer.json"
    path.write_bytes(content)

    with pytest.raises(ModelError, match=r"tokenizer\.json: (not a tokenizer file|it is not text in UTF-8)"):
        Tokenizer(path)


def saved(path: Path, library: Library) -> Tokenizer:
    library.save(str(path / "tokenizer.json"))
    return Tokenizer(path / "tokenizer.json")


def of_bytes(**more: int) -> Library:
    """Every byte, and more tokens."""
    vocab = {character: i for i, character in enumerate(sorted(pre_tokenizers.ByteLevel.alphabet()))}
    library = Library(models.BPE(vocab=vocab | more, merges=[]))
    library.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    library.decoder = decoders.ByteLevel()
    return library


def test_a_text_is_neither_cut_nor_filled_up_though_the_file_says_so(tmp_path: Path) -> None:
    library = of_bytes()
    library.enable_truncation(3)
    library.enable_padding(length=16)
    tokenizer = saved(tmp_path, library)

    assert tokenizer.decode(tokenizer.encode("more than three")) == "more than three"


def test_a_token_of_bytes_that_is_spelt_as_a_text_is_that_text(tmp_path: Path) -> None:
    tokenizer = saved(tmp_path, of_bytes(**{"two words\u4e00": 256}))

    assert tokenizer.piece(256) == "two words\u4e00".encode()


def test_tokens_are_bytes_by_the_parts_of_a_tokenizer_and_not_by_its_words(tmp_path: Path) -> None:
    tokenizer = saved(tmp_path, Library(models.BPE(vocab={"ByteLevel": 0, "\u2581\u0120": 1}, merges=[])))

    assert [tokenizer.piece(token) for token in (0, 1)] == [b"ByteLevel", " \u0120".encode()]


def test_no_token_has_a_negative_id(tmp_path: Path) -> None:
    assert saved(tmp_path, of_bytes()).piece(-1) == b""


def test_a_text_that_no_tokens_stand_for_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Refused, match="the text is not in UTF-8: its character 3 is none"):
        saved(tmp_path, of_bytes()).encode("ab\udcff")
    words = Library(models.WordLevel({"a": 0}, unk_token="[UNK]"))
    with pytest.raises(Refused, match="the text cannot be put into tokens of this model"):
        saved(tmp_path, words).encode("b")


def test_a_pointer_in_its_place_is_told_from_a_damaged_file(tmp_path: Path) -> None:
    path = tmp_path / "tokenizer.json"
    path.write_text("version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 5\n")
    with pytest.raises(ModelError, match="a pointer of Git LFS and not the file itself"):
        Tokenizer(path)


def test_a_mark_before_a_text_is_not_read_as_part_of_it(tmp_path: Path) -> None:
    of_bytes().save(str(tmp_path / "tokenizer.json"))
    path = tmp_path / "tokenizer.json"
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    assert Tokenizer(path).vocab_size == 256


def test_a_missing_file_is_a_model_error(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="no such tokenizer file: put the model's own there"):
        Tokenizer(tmp_path / "tokenizer.json")
    (tmp_path / "tokenizer.model").touch()
    with pytest.raises(ModelError, match=r"no such tokenizer file: make it of tokenizer\.model, as `AutoTokenizer"):
        Tokenizer(tmp_path / "tokenizer.json")
