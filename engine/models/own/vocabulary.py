"""The tokenizer in a GGUF file, as one of the ``tokenizers`` library, and what begins and ends a text.

What a file says of itself counts here, and nothing is guessed from its architecture: which tokens are special, whether
a prompt begins with a start token, how a text is cut before it is merged, and every token that ends a turn.
"""

from collections import Counter
from typing import Any, NamedTuple

from tokenizers import AddedToken, Tokenizer, decoders, models, normalizers

from engine.errors import ModelError
from engine.models.own.container import GgufFile
from engine.models.own.splits import SPLITS

_KEY = "tokenizer.ggml"
NORMAL, UNKNOWN, CONTROL, USER = 1, 2, 3, 4
"""Types of tokens, as in the file. The others are bytes and places without a token."""

_ENDS = (
    "</s>",
    "<|im_end|>",
    "<|eot_id|>",
    "<|eom_id|>",
    "<|end|>",
    "<|end_of_text|>",
    "<|endoftext|>",
    "<end_of_turn>",
    "<EOT>",
    "<｜end▁of▁sentence｜>",
)
"""Special tokens that end a text or a turn wherever they are found: files often name but one of a model's."""

_WORD_START = "▁"


class Vocabulary(NamedTuple):
    """A tokenizer, and the ids that begin a prompt and end a run; ``names`` are texts for a chat template."""

    library: Tokenizer
    start_token: int | None
    stop_tokens: tuple[int, ...]
    names: dict[str, str]


class _Words(NamedTuple):
    """The tokens in the order of their ids, and the type of each."""

    texts: list[str]
    kinds: list[int]

    def of(self, *kinds: int) -> list[str]:
        return [text for text, kind in zip(self.texts, self.kinds, strict=True) if kind in kinds]


def vocabulary_of(file: GgufFile) -> Vocabulary:
    """Read the tokenizer.

    Raises:
        ModelError: there is none, or none of a kind that can be made here.
    """
    words = _words(file)
    kind = file.need(f"{_KEY}.model", str)
    match kind:
        case "gpt2":
            library, begins = _byte_level(file, words)
        case "llama":
            library, begins = _sentence_piece(file, words), True
        case _:
            raise ModelError(
                f"{file.path}: its tokenizer is of the kind {kind!r}; gpt2 (byte-level BPE) and llama (SentencePiece) "
                "can be read"
            )
    library.add_special_tokens([AddedToken(text, normalized=False) for text in words.of(UNKNOWN, CONTROL)])
    library.add_tokens([AddedToken(text, normalized=False) for text in words.of(USER)])
    start = _id(file, "bos", words)
    begins = file.get(f"{_KEY}.add_bos_token", bool, begins)
    if begins and start is None:
        raise ModelError(f"{file.path}: its prompts begin with a start token, but it does not say which")
    stops = {token for name in ("eos", "eot", "eom") if (token := _id(file, name, words)) is not None}
    stops |= {i for i, text in enumerate(words.texts) if text in _ENDS and words.kinds[i] in (UNKNOWN, CONTROL)}
    ids = {f"{name}_token": _id(file, name, words) for name in ("bos", "eos")}
    names = {name: words.texts[token] for name, token in ids.items() if token is not None}
    return Vocabulary(library, start if begins else None, tuple(sorted(stops)), names)


def _byte_level(file: GgufFile, words: _Words) -> tuple[Tokenizer, bool]:
    """A tokenizer over bytes, and whether its prompts begin with a start token where the file does not say."""
    name = file.get(f"{_KEY}.pre", str, "")
    split = SPLITS.get(name)
    if split is None:
        known = ", ".join(sorted(name for name in SPLITS if name))
        raise ModelError(f"{file.path}: its text is cut in the way {name!r}, which is not one of {known}")
    merges = [_pair(file, merge) for merge in file.need(f"{_KEY}.merges", list)]
    vocab = {text: i for i, text in enumerate(words.texts)}
    library = Tokenizer(_model(file, models.BPE, vocab=vocab, merges=merges, ignore_merges=split.whole))
    library.pre_tokenizer = split.pre_tokenizer()
    if (normalizer := split.normalizer()) is not None:
        library.normalizer = normalizer
    library.decoder = decoders.ByteLevel()
    return library, split.begins


def _sentence_piece(file: GgufFile, words: _Words) -> Tokenizer:
    """SentencePiece's BPE: pieces with scores, of which the best merge comes first, and bytes for what has no piece."""
    scores = file.need(f"{_KEY}.scores", list)
    if len(scores) != len(words.texts):
        raise ModelError(f"{file.path}: it has {len(scores)} scores for {len(words.texts)} tokens")
    vocab = {text: i for i, text in enumerate(words.texts)}
    pieces = set(words.of(NORMAL))
    merges = [
        (text[:cut], text[cut:])
        for text in sorted(words.of(NORMAL), key=lambda text: -scores[vocab[text]])
        for cut in range(1, len(text))
        if text[:cut] in pieces and text[cut:] in pieces
    ]
    unknown = next(iter(words.of(UNKNOWN)), None)
    library = Tokenizer(
        _model(file, models.BPE, vocab=vocab, merges=merges, unk_token=unknown, fuse_unk=True, byte_fallback=True)
    )
    spaces = normalizers.Replace(" ", _WORD_START)
    if file.get(f"{_KEY}.add_space_prefix", bool, True):
        library.normalizer = normalizers.Sequence([normalizers.Prepend(_WORD_START), spaces])
    else:
        library.normalizer = spaces
    library.decoder = decoders.Sequence([decoders.Replace(_WORD_START, " "), decoders.ByteFallback(), decoders.Fuse()])
    return library


def _words(file: GgufFile) -> _Words:
    texts = file.need(f"{_KEY}.tokens", list)
    kinds = file.get(f"{_KEY}.token_type", list, [NORMAL] * len(texts))
    if len(kinds) != len(texts):
        raise ModelError(f"{file.path}: it has {len(kinds)} types for {len(texts)} tokens")
    texts = [text or f"[EMPTY_{i}]" for i, text in enumerate(texts)]
    (twice, count), *_ = Counter(texts).most_common(1) or [("", 0)]
    if count != 1:
        raise ModelError(f"{file.path}: token {twice!r} is {count} times in its vocabulary, and has to be there once")
    return _Words(texts, kinds)


def _pair(file: GgufFile, merge: str) -> tuple[str, str]:
    at = merge.find(" ", 1)
    if at < 0:
        raise ModelError(f"{file.path}: {merge!r} among its merges is no pair")
    return merge[:at], merge[at + 1 :]


def _model(file: GgufFile, make: type[models.BPE], **parts: Any) -> models.BPE:
    try:
        return make(**parts)
    except Exception as error:
        # The library has no type of its own: what it cannot build is a plain Exception.
        if type(error) is not Exception:
            raise
        raise ModelError(f"{file.path}: its merges do not fit its tokens: {error}") from error


def _id(file: GgufFile, name: str, words: _Words) -> int | None:
    key = f"{_KEY}.{name}_token_id"
    token = file.get(key, int, -1)
    if token >= len(words.texts):
        raise ModelError(f"{file.path}: {key} is {token}, but there are {len(words.texts)} tokens")
    return token if token >= 0 else None
