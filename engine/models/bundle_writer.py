"""Writes a bundle: graphs of the given weights, the weight file they share, and the manifest."""

import dataclasses
import hashlib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from engine.models.bundled import FORMAT, MANIFEST, TOKENIZER, BaseEntry, DrafterEntry, File, Manifest
from engine.models.graph import Graph, Weights
from engine.models.graph_decoder import Sizes, base_graph
from engine.models.graph_dflash import Block, dflash2_graph, dflash_graph
from engine.models.graph_mtp import mtp_graph
from engine.models.weights import Storage, WeightFile

WEIGHTS = "weights.bin"
_SHARED = ("embed_tokens.weight", "lm_head.weight")
"""Weights of the base that its drafters read too."""


@dataclasses.dataclass(frozen=True)
class Networks:
    """The weights of a base and of the drafters there are, by the names of ``recipe/qwen3.py`` and its drafters."""

    base: Weights
    mtp: Weights | None = None
    dflash: Weights | None = None
    dflash2: Weights | None = None


@dataclasses.dataclass(frozen=True)
class Layout:
    """What a bundle holds beside the sizes of its base; ``block`` and ``block_sizes`` are of DFlash and DFlash 2."""

    name: str
    context_length: int
    taps: tuple[int, ...]
    start_token: int | None
    stop_tokens: tuple[int, ...]
    block: Block | None = None
    block_sizes: Sizes | None = None
    storage: Storage = Storage.INT8
    source: dict[str, Any] = dataclasses.field(default_factory=dict)


def write_bundle(folder: Path, networks: Networks, sizes: Sizes, layout: Layout, tokenizer: bytes) -> Manifest:
    """Write all files of a bundle into ``folder``, which is made if it is not there."""
    folder.mkdir(parents=True, exist_ok=True)
    drafters: dict[str, DrafterEntry] = {}
    block, block_sizes = layout.block or Block(0, 0, 0), layout.block_sizes or sizes
    with WeightFile(folder / WEIGHTS) as file:

        def write(name: str, weights: Weights, build: Callable[[Graph], None]) -> str:
            graph = Graph(name, weights, file, layout.storage, integer=name.startswith("dflash"))
            build(graph)
            return graph.save(folder / f"{name}.onnx")

        digest = write("base", networks.base, lambda graph: base_graph(graph, sizes, layout.taps))
        builds: dict[str, tuple[Weights | None, Callable[[Graph], None]]] = {
            "mtp": (networks.mtp, lambda graph: mtp_graph(graph, sizes)),
            "dflash": (networks.dflash, lambda graph: dflash_graph(graph, block_sizes, block)),
            "dflash2": (networks.dflash2, lambda graph: dflash2_graph(graph, block_sizes, block)),
        }
        for kind, (weights, build) in builds.items():
            if weights is None:
                continue
            written = write(kind, _Drafters(networks.base, kind, weights), build)
            reads_taps = kind != "mtp"
            drafters[kind] = DrafterEntry(
                f"{kind}.onnx",
                written,
                digest,
                block.rows if reads_taps else None,
                layout.taps if reads_taps else None,
            )
    base = BaseEntry("base.onnx", sizes.num_hidden_layers, digest)
    (folder / TOKENIZER).write_bytes(tokenizer)
    names = [base.graph, *(entry.graph for entry in drafters.values()), WEIGHTS, TOKENIZER]
    manifest = Manifest(
        format=FORMAT,
        name=layout.name,
        dtype=f"{layout.storage} weights, float32 arithmetic",
        vocab_size=sizes.vocab_size,
        context_length=layout.context_length,
        start_token=layout.start_token,
        stop_tokens=layout.stop_tokens,
        base=base,
        drafters=drafters,
        files={name: _file(folder / name) for name in names},
        shape=_shape(sizes),
        source=layout.source,
    )
    (folder / MANIFEST).write_bytes(msgspec.json.format(msgspec.json.encode(manifest)) + b"\n")
    return manifest


class _Drafters(Mapping[str, NDArray[np.float32]]):
    """A drafter's weights under its kind, and those of the base that it reads too; read when they are asked for."""

    def __init__(self, base: Weights, kind: str, own: Weights) -> None:
        self._base, self._prefix, self._own = base, f"{kind}.", own

    def __getitem__(self, name: str) -> NDArray[np.float32]:
        return self._base[name] if name in _SHARED else self._own[name.removeprefix(self._prefix)]

    def __contains__(self, name: object) -> bool:
        if name in _SHARED:
            return name in self._base
        return isinstance(name, str) and name.startswith(self._prefix) and name[len(self._prefix) :] in self._own

    def __iter__(self) -> Iterator[str]:
        return iter([*(name for name in _SHARED if name in self._base), *(self._prefix + name for name in self._own)])

    def __len__(self) -> int:
        return sum(1 for _ in self)


def _shape(sizes: Sizes) -> dict[str, Any]:
    return {name: value for name, value in dataclasses.asdict(sizes).items() if value is not None}


def _file(path: Path) -> File:
    with path.open("rb") as file:
        return File(path.stat().st_size, hashlib.file_digest(file, "sha256").hexdigest())
