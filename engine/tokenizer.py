"""Text to token ids and back, and the exact bytes that each id stands for."""

import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from tokenizers import Tokenizer as Library

from engine.errors import ModelError, Refused
from engine.unloadable import text_of

_BYTE_TOKEN = re.compile(r"<0x([0-9A-Fa-f]{2})>")
_WORD_START = "\u2581"


class Tokenizer:
    """A ``tokenizer.json`` of the ``tokenizers`` library: byte-level BPE, or SentencePiece's with byte tokens.

    Raises:
        ModelError: the file is missing or is not one.
    """

    def __init__(self, path: Path) -> None:
        if not path.is_file():
            raise ModelError(f"{path}: no such tokenizer file: {_instead(path.parent)}")
        self._library = _parsed(path)
        # A file may say to how many tokens a text was cut or filled when its model was trained.
        self._library.no_truncation()
        self._library.no_padding()
        added = self._library.get_added_tokens_decoder()
        self._added = {id_: token.content for id_, token in added.items()}
        self._special = frozenset(id_ for id_, token in added.items() if token.special)
        self._byte_level = "ByteLevel(" in f"{self._library.pre_tokenizer} {self._library.decoder}"
        self._pieces: dict[int, bytes] = {}

    @property
    def vocab_size(self) -> int:
        """How many ids there are, the added ones too."""
        return int(self._library.get_vocab_size())

    @property
    def highest(self) -> int:
        """The highest id, which may lie beyond ``vocab_size`` where ids are left out."""
        return max(self._library.get_vocab(with_added_tokens=True).values(), default=-1)

    def beyond(self, size: int) -> list[int]:
        """The ids that a model of ``size`` tokens lacks, special tokens apart, which a text need not hold."""
        ids = self._library.get_vocab(with_added_tokens=True).values()
        return sorted(id_ for id_ in ids if id_ >= size and id_ not in self._special)

    def encode(self, text: str, *, framed: bool = False) -> list[int]:
        """Token ids; nothing is put before or behind them, unless ``framed``: then what the file says is.

        Raises:
            Refused: ``text`` holds what is no text, or what this vocabulary has no token for.
        """
        try:
            text.encode()
        except UnicodeEncodeError as error:
            raise Refused(f"the text is not in UTF-8: its character {error.start + 1} is none") from error
        try:
            return list(self._library.encode(text, add_special_tokens=framed).ids)
        except Exception as error:
            if type(error) is not Exception:
                raise
            raise Refused(f"the text cannot be put into tokens of this model: {error}") from error

    def id_of(self, token: str) -> int | None:
        """The id of a token by its text in the vocabulary."""
        return self._library.token_to_id(token)

    def decode(self, tokens: Sequence[int]) -> str:
        """The text of ``tokens``, special ones included; bytes that make no character become U+FFFD."""
        return b"".join(map(self.piece, tokens)).decode("utf-8", errors="replace")

    def piece(self, token: int) -> bytes:
        """The bytes that ``token`` stands for, empty for an id outside the vocabulary."""
        if (known := self._pieces.get(token)) is None:
            known = self._pieces[token] = self._bytes_of(token)
        return known

    def _bytes_of(self, token: int) -> bytes:
        if token in self._added:
            return self._added[token].encode()
        text = self._library.id_to_token(token) if token >= 0 else None
        if text is None:
            return b""
        if self._byte_level:
            alphabet = byte_of_character()
            # A token that was put into such a vocabulary as a text is that text.
            return bytes(map(alphabet.__getitem__, text)) if alphabet.keys() >= set(text) else text.encode()
        if (byte := _BYTE_TOKEN.fullmatch(text)) is not None:
            return bytes([int(byte[1], 16)])
        return text.replace(_WORD_START, " ").encode()


@cache
def byte_of_character() -> dict[str, int]:
    """The byte that each character of a byte-level vocabulary stands for (the alphabet of GPT-2).

    Printable Latin-1 characters stand for themselves, the other 68 bytes are the characters from U+0100 on.
    """
    printable = {*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
    others = [byte for byte in range(256) if byte not in printable]
    return {chr(byte): byte for byte in printable} | {chr(0x100 + i): byte for i, byte in enumerate(others)}


def _instead(folder: Path) -> str:
    """What to do where there is no ``tokenizer.json``."""
    slow = next((name for name in ("tokenizer.model", "spiece.model", "vocab.json") if (folder / name).is_file()), None)
    if slow is None:
        return "put the model's own there, as its export does"
    return f"make it of {slow}, as `AutoTokenizer.from_pretrained(FOLDER).save_pretrained(FOLDER)` of transformers does"


def _parsed(path: Path) -> Library:
    text = text_of(path)
    try:
        return Library.from_str(text)
    except Exception as error:
        # The library has no type of its own: what it cannot parse is a plain Exception.
        if type(error) is not Exception:
            raise
        raise ModelError(f"{path}: not a tokenizer file, or cut short ({error}): fetch it again") from error
