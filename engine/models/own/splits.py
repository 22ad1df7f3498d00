"""How byte-level BPE vocabularies cut a text before they merge, by the name that a GGUF file gives the way.

The names are llama.cpp's. A file has the name only, so each pattern is that of the tokenizer the name stands for.
"""

from typing import NamedTuple

from tokenizers import Regex, normalizers, pre_tokenizers
from tokenizers.normalizers import Normalizer
from tokenizers.pre_tokenizers import PreTokenizer

_GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
_SUFFIX = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)"
_TAIL = r"\s*[\r\n]+|\s+(?!\S)|\s+"
_CL100K = _SUFFIX + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|" + _TAIL
_QWEN2 = _SUFFIX + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|" + _TAIL
_UPPER, _LOWER = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]", r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"
_WORDS = rf"[^\r\n\p{{L}}\p{{N}}]?{_UPPER}*{_LOWER}+{{suffix}}|[^\r\n\p{{L}}\p{{N}}]?{_UPPER}+{_LOWER}*{{suffix}}"
_REST = r"| ?[^\s\p{L}\p{N}]+[\r\n/]*|" + _TAIL
_TEKKEN = _WORDS.replace("{suffix}", "") + r"|\p{N}" + _REST
_O200K = _WORDS.replace("{suffix}", f"{_SUFFIX}?") + r"|\p{N}{1,3}" + _REST


class Split(NamedTuple):
    """The patterns in their order, each over what the ones before left whole.

    ``whole``: a piece that is a token as it stands is not merged. ``composed``: the text is put into NFC first.
    ``begins``: a prompt begins with the start token unless the file says otherwise.
    """

    patterns: tuple[str, ...]
    whole: bool = False
    composed: bool = False
    begins: bool = False

    def pre_tokenizer(self) -> PreTokenizer:
        """The patterns, and then every byte as a character."""
        cuts: list[PreTokenizer] = [pre_tokenizers.Split(Regex(pattern), "isolated") for pattern in self.patterns]
        return pre_tokenizers.Sequence([*cuts, pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])

    def normalizer(self) -> Normalizer | None:
        return normalizers.NFC() if self.composed else None


_DIGITS = Split((r"\p{N}", _GPT2))
_FALCON = r"[\p{P}\$\+<=>\^~\|`]+"
_SPLITS = {
    ("gpt-2", "mpt", "olmo", "phi-2", "mellum", "exaone4", "trillion"): Split((_GPT2,)),
    ("smollm", "starcoder", "refact", "command-r", "codeshell", "exaone", "minerva-7b"): _DIGITS,
    ("llama3", "llama-v3", "llama-bpe", "falcon3", "pixtral"): Split((_CL100K,), whole=True, begins=True),
    ("dbrx", "smaug-bpe"): Split((_CL100K,)),
    ("qwen2", "deepseek-r1-qwen", "megrez"): Split((_QWEN2,), composed=True),
    ("stablelm2",): Split((_QWEN2,)),
    ("tekken",): Split((_TEKKEN,), whole=True, begins=True),
    ("gpt-4o", "llama4"): Split((_O200K,)),
    ("falcon",): Split((_FALCON, _GPT2, "[0-9][0-9][0-9]")),
    ("deepseek-coder",): Split((r"[\r\n]", r"\s?\p{L}+", r"\s?\p{P}+", "[一-龥ࠀ-一가-퟿]+", r"\p{N}")),
    ("default", ""): Split((_FALCON.replace("`", ""), _GPT2, r"\p{N}+", "[0-9][0-9][0-9]")),
}
SPLITS = {name: split for names, split in _SPLITS.items() for name in names}
