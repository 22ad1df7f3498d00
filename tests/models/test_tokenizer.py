"""A token's piece is exactly the bytes it stands for."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer as Library
from tokenizers import decoders, models, pre_tokenizers, trainers

from engine.errors import ModelError
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

    with pytest.raises(ModelError, match="not a tokenizer file"):
        Tokenizer(path)


def test_a_missing_file_is_a_model_error(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="no such tokenizer file"):
        Tokenizer(tmp_path / "tokenizer.json")
