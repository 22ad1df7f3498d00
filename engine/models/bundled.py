"""The models that come with the project: a folder with a manifest, graphs, one weight file and a tokenizer."""

import dataclasses
import hashlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from engine.base.onnx import OnnxBase
from engine.compiled import of_graph
from engine.drafters.dflash import DFlash2Drafter, DFlashDrafter
from engine.drafters.drafter import Drafter
from engine.drafters.mtp import MtpDrafter
from engine.errors import ModelError
from engine.records import BaseInfo, DrafterInfo
from engine.session import Session
from engine.stages import stage
from engine.tokenizer import Tokenizer

BUNDLED = Path(__file__).parent / "bundle"
MANIFEST, TOKENIZER, CHAT_TEMPLATE = "bundle.json", "tokenizer.json", "chat_template.jinja"
FORMAT = 1
_PIECE = 1 << 20

OpenSession = Callable[..., Session]
"""Makes the session of a graph, as ``Session`` does."""


class File(msgspec.Struct, frozen=True):
    """A file of the bundle, to find a damaged one."""

    bytes: int
    sha256: str


class BaseEntry(msgspec.Struct, frozen=True):
    """The base; ``sha256`` is over its graph and the weights that the graph reads, whatever else shares their file."""

    graph: str
    layers: int
    sha256: str


class DrafterEntry(msgspec.Struct, frozen=True):
    """A drafter, made for the base whose digest is ``base_sha256`` and of no use on another."""

    graph: str
    sha256: str
    base_sha256: str
    block_size: int | None = None
    taps: tuple[int, ...] | None = None


class Manifest(msgspec.Struct, frozen=True):
    """``bundle.json``. ``start_token`` opens every prompt, where there is one.

    ``shape`` is the networks' sizes and ``source`` what they were made of, both for the record.
    """

    format: int
    name: str
    dtype: str
    vocab_size: int
    context_length: int
    start_token: int | None
    stop_tokens: tuple[int, ...]
    base: BaseEntry
    drafters: dict[str, DrafterEntry]
    files: dict[str, File]
    shape: dict[str, Any] = {}
    source: dict[str, Any] = {}


@dataclasses.dataclass(frozen=True)
class Bundle:
    """A bundle whose manifest was read and whose files were checked."""

    folder: Path
    manifest: Manifest

    def tokenizer(self) -> Tokenizer:
        """The base's tokenizer.

        Raises:
            ModelError: its vocabulary is not the base's.
        """
        tokenizer = Tokenizer(self.folder / TOKENIZER)
        if tokenizer.vocab_size != self.manifest.vocab_size:
            raise ModelError(
                f"{self.folder}: the tokenizer has {tokenizer.vocab_size} tokens, the base {self.manifest.vocab_size}"
            )
        return tokenizer

    def account(self) -> dict[str, Any]:
        """What a trace's header says of a model of one's own; nothing of one that comes with the project."""
        manifest = self.manifest
        source = manifest.source
        if not source:
            return {}
        hidden = manifest.shape.get("hidden_size", 0)
        stops = zip(source.get("stop_texts", ()), manifest.stop_tokens, strict=False)
        return {
            "layout": "bundle",
            "kind": source.get("architecture"),
            "file": source.get("file"),
            "bytes": sum(file.bytes for file in manifest.files.values()),
            "context": manifest.context_length,
            "stops": ", ".join(f"{text} ({id_})" for text, id_ in stops)
            or "none known: a run goes on to its last token",
            "chat": (self.folder / CHAT_TEMPLATE).is_file(),
            "can": {
                "verify": "any number of rows in one pass",
                "truncate": "at any position",
                "hidden": hidden,
                "taps": hidden * len(source.get("taps", ())) or None,
                "cache": "one buffer, cut by its length",
            },
        }


def open_bundle(folder: Path | None = None) -> Bundle:
    """Read and check a bundle, by default the one that comes with the project.

    Raises:
        ModelError: a file is missing, cut short or changed, or the manifest is not one.
    """
    folder = folder or BUNDLED
    path = folder / MANIFEST
    if not path.is_file():
        raise ModelError(f"{folder}: no {MANIFEST} there, so this is no model bundle")
    try:
        manifest = msgspec.json.decode(path.read_bytes(), type=Manifest)
    except msgspec.DecodeError as error:
        raise ModelError(f"{path}: not a bundle's manifest: {error}") from error
    if manifest.format != FORMAT:
        raise ModelError(f"{path}: its format is {manifest.format}, this version reads {FORMAT}")
    advance = stage(f"checking the files of {manifest.name}", sum(file.bytes for file in manifest.files.values()))
    checked = 0
    for name, expected in manifest.files.items():
        for size in _checked(folder / name, expected):
            checked += size
            advance(checked)
    return Bundle(folder, manifest)


def load_base(
    bundle: Bundle,
    *,
    threads: int = 1,
    plain_width: int = 1,
    widths: Sequence[int] = (),
    session: OpenSession = Session,
) -> OnnxBase:
    """The bundle's base, empty. ``widths`` are the rows that a pass may have, if not any.

    Raises:
        ModelError: onnxruntime cannot load it, or it is not what the manifest says.
    """
    manifest = bundle.manifest
    opened = _session(bundle, manifest.base.graph, threads, session)
    info = BaseInfo(
        name=manifest.name,
        vocab_size=manifest.vocab_size,
        sha256=manifest.base.sha256,
        layers=manifest.base.layers,
        state="attention",
        dtype=manifest.dtype,
    )
    fitting = of_graph(widths, opened.fixed("input_ids", 1), opened.name)
    return OnnxBase(opened, info, manifest.context_length, plain_width, widths=fitting)


def load_drafter(
    bundle: Bundle,
    kind: str,
    *,
    threads: int = 1,
    widths: Sequence[int] = (),
    session: OpenSession = Session,
) -> Drafter:
    """One of the bundle's drafters, empty.

    Raises:
        ModelError: the bundle has none of that kind, or it was made for another base.
    """
    manifest = bundle.manifest
    entry = manifest.drafters.get(kind)
    if entry is None:
        own = ", ".join(sorted(manifest.drafters)) or "none of its own"
        raise ModelError(
            f"{bundle.folder}: no drafter {kind!r} in this bundle, it has {own}; every base can have lookup, "
            "draft-model:FOLDER, synthetic or none"
        )
    if entry.base_sha256 != manifest.base.sha256:
        raise ModelError(f"{bundle.folder}: drafter {kind} was made for another base than the one in this bundle")
    info = DrafterInfo(
        kind=kind, name=f"{manifest.name}-{kind}", sha256=entry.sha256, block_size=entry.block_size, taps=entry.taps
    )
    opened = _session(bundle, entry.graph, threads, session)
    drafters: dict[str, Callable[..., Drafter]] = {
        "mtp": MtpDrafter,
        "dflash": DFlashDrafter,
        "dflash2": DFlash2Drafter,
    }
    if kind not in drafters:
        raise ModelError(f"{bundle.folder}: drafter {kind!r} is of a kind that this version cannot run")
    grows = "input_ids" if kind == "mtp" else "taps"
    fitting = of_graph(widths, opened.fixed(grows, 1), opened.name)
    return drafters[kind](opened, info, manifest.context_length, widths=fitting)


def _session(bundle: Bundle, graph: str, threads: int, session: OpenSession) -> Session:
    opened = session(bundle.folder / graph, threads=threads)
    vocab_size = opened.size("logits")
    if vocab_size != bundle.manifest.vocab_size:
        raise ModelError(
            f"{bundle.folder / graph}: its vocabulary is {vocab_size}, the manifest says {bundle.manifest.vocab_size}"
        )
    return opened


def _checked(path: Path, expected: File) -> Iterator[int]:
    """Check a file, piece by piece: the bytes of each."""
    if not path.is_file():
        raise ModelError(f"{path}: missing from the bundle: install it again")
    size = path.stat().st_size
    if size != expected.bytes:
        raise ModelError(f"{path}: {size} bytes where {expected.bytes} are expected: install the bundle again")
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while piece := file.read(_PIECE):
            digest.update(piece)
            yield len(piece)
    if digest.hexdigest() != expected.sha256:
        raise ModelError(f"{path}: its content is not what the manifest says: install the bundle again")
