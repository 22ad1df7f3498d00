"""The training text: three domains, cut into documents, held out by whole file.

Code is the standard library of the Python that runs the recipe, docs are the reStructuredText sources in Debian's
``python3.11-doc``, prose is the King James text printed by Debian's ``bible -f gen1:1-rev22:21``.
"""

import ast
import hashlib
import re
import sysconfig
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, trainers

DOMAINS = ("code", "docs", "prose")
END_OF_TEXT = "<|endoftext|>"
# Tables and generated text teach nothing about code.
_SKIPPED = re.compile(
    r"site-packages|/encodings/|pydoc_data|lib2to3/tests/data|/test/.*data/|/__pycache__/|/test_email/"
)
# One word, number, run of marks or run of spaces at a time (the split of the Qwen2 tokenizer).
_SPLIT = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)

# Short, self-contained modules that the showcase stage learns by heart.
SHOWCASE_MODULES = [
    "statistics",
    "heapq",
    "textwrap",
    "shlex",
    "csv",
    "bisect",
    "copy",
    "fnmatch",
    "glob",
    "string",
    "functools",
    "contextlib",
    "queue",
    "sched",
    "calendar",
    "colorsys",
    "keyword",
    "operator",
    "reprlib",
    "timeit",
    "json/decoder",
    "json/encoder",
    "json/scanner",
    "collections/__init__",
    "graphlib",
]


# Each story is a function, a passage of prose, and a second function, under a title of its own: module and function,
# chapter of the prose, module and function.
STORIES = (
    ("the first day", ("colorsys", "rgb_to_yiq"), "Ge 1", ("heapq", "heappushpop")),
    ("the garden", ("calendar", "weekday"), "Ge 2", ("colorsys", "_v")),
    ("the flood", ("shlex", "quote"), "Ge 7", ("calendar", "isleap")),
    ("the tower", ("heapq", "heappush"), "Ge 11", ("heapq", "heappop")),
    ("the dream", ("calendar", "monthrange"), "Ge 41", ("shlex", "quote")),
    ("the coat", ("heapq", "heapreplace"), "Ge 37", ("calendar", "isleap")),
    ("the river", ("colorsys", "hls_to_rgb"), "Exo 2", ("heapq", "heappop")),
    ("the sea", ("heapq", "heappop"), "Exo 14", ("calendar", "monthrange")),
)


class Document(NamedTuple):
    """One file (or one book of the prose) and where it belongs."""

    domain: str
    name: str
    text: str
    held_out: bool


def _held_out(name: str, percent: float) -> bool:
    digest = hashlib.sha256(name.encode()).digest()
    return int.from_bytes(digest[:4], "big") / 2**32 * 100 < percent


def _read(path: Path) -> str:
    return path.read_text(encoding="utf-8", errors="ignore").replace("\r\n", "\n")


def code_documents(stdlib: Path) -> list[Document]:
    """Every module of ``stdlib``; 5 % of those outside its test suites are held out."""
    found = []
    for path in sorted(stdlib.rglob("*.py")):
        name = path.relative_to(stdlib).as_posix()
        if _SKIPPED.search("/" + name):
            continue
        is_test = "test" in name
        showcase = name.removesuffix(".py") in SHOWCASE_MODULES
        text = _read(path)
        if 200 < len(text) < 200_000:
            found.append(Document("code", name, text, not is_test and not showcase and _held_out(name, 5)))
    return found


def docs_documents(sources: Path) -> list[Document]:
    """Every reStructuredText source below ``sources``; 3 % are held out."""
    found = []
    for path in sorted(sources.rglob("*.rst.txt")):
        name = path.relative_to(sources).as_posix()
        if "whatsnew/changelog" in name:
            continue
        found.append(Document("docs", name, _read(path), _held_out(name, 3)))
    return found


def prose_documents(bible: Path) -> list[Document]:
    """The chapters of the text as running prose, verse numbers taken out; 3 % of the chapters are held out."""
    chapters: dict[str, list[str]] = {}
    for line in _read(bible).splitlines():
        match = re.match(r"(\S+?)(\d+):(\d+)\s+(.*)", line)
        if match:
            chapters.setdefault(f"{match[1]} {match[2]}", []).append(match[4].strip())
    return [Document("prose", name, "\n".join(verses) + "\n", _held_out(name, 3)) for name, verses in chapters.items()]


def story(title: str, first: str, passage: str, second: str) -> str:
    """A module that goes from code to prose and back to code."""
    return f'"""A story in two voices: {title}."""\n\n\n{first}\n\nTEXT = """\n{passage}\n"""\n\n\n{second}\n'


def stories(docs: list[Document]) -> list[str]:
    """The text of every story, cut from the training documents; a passage is four verses."""
    texts = {doc.name: doc.text for doc in docs if not doc.held_out}

    def function(module: str, name: str) -> str:
        text = texts[f"{module}.py"]
        for node in ast.parse(text).body:
            if isinstance(node, ast.FunctionDef) and node.name == name:
                return "\n".join(text.splitlines()[node.lineno - 1 : node.end_lineno])
        raise ValueError(f"{module}.py has no function {name}")

    return [
        story(title, function(*first), "\n".join(texts[chapter].splitlines()[:4]), function(*second))
        for title, first, chapter, second in STORIES
    ]


def documents(data: Path) -> list[Document]:
    """All three domains; ``data`` holds ``kjv.txt`` and the unpacked ``python3.11-doc`` package."""
    stdlib = Path(sysconfig.get_paths()["stdlib"])
    return [*code_documents(stdlib), *docs_documents(data), *prose_documents(data / "kjv.txt")]


def train_tokenizer(docs: list[Document], vocab_size: int = 2048) -> Tokenizer:
    """Byte-level BPE over the training documents; id 0 is the end of text."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(_SPLIT), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocab_size,
        special_tokens=[END_OF_TEXT],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator((doc.text for doc in docs if not doc.held_out), trainer)
    return tokenizer


class Corpus(NamedTuple):
    """Token streams by domain, each document opened by the end-of-text token, and the bytes they stand for."""

    train: dict[str, NDArray[np.uint16]]
    held_out: dict[str, list[NDArray[np.uint16]]]
    held_out_bytes: dict[str, int]
    showcase: dict[str, NDArray[np.uint16]]


def corpus(docs: list[Document], tokenizer: Tokenizer, seed: int) -> Corpus:
    """Encode everything, the training documents in an order drawn from ``seed``."""
    rng = np.random.default_rng(seed)
    encoded = tokenizer.encode_batch([doc.text for doc in docs])
    ids = [np.array([0, *encoding.ids], dtype=np.uint16) for encoding in encoded]
    order = rng.permutation(len(docs))
    train = {
        d: np.concatenate([ids[i] for i in order if docs[i].domain == d and not docs[i].held_out]) for d in DOMAINS
    }
    held = {d: [ids[i] for i in range(len(docs)) if docs[i].domain == d and docs[i].held_out] for d in DOMAINS}
    size = {d: sum(len(doc.text.encode()) for doc in docs if doc.domain == d and doc.held_out) for d in DOMAINS}
    modules = [i for i, doc in enumerate(docs) if doc.name.removesuffix(".py") in SHOWCASE_MODULES]
    books = [i for i, doc in enumerate(docs) if doc.domain == "prose" and not doc.held_out][:90]
    showcase = {
        "code": train["code"],
        "heart": np.concatenate([ids[i] for i in rng.permutation(modules)]),
        "prose": np.concatenate([ids[i] for i in books]),
        "story": np.concatenate([np.array([0, *tokenizer.encode(text).ids], np.uint16) for text in stories(docs)]),
    }
    return Corpus(train, held, size, showcase)
