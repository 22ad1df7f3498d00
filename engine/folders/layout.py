"""Which layout a folder has, and which of its graphs is the model."""

import glob
import re
from pathlib import Path
from typing import NamedTuple

from engine.errors import ModelError
from engine.folders.config import CONFIG, GENAI, Facts, genai_facts, genai_graph, optimum_facts

ONNXRUNTIME_GENAI, OPTIMUM = "onnxruntime-genai", "Optimum"
TOKENIZER = "tokenizer.json"

_STEMS = ("model", "decoder_with_past_model", "decoder_model_merged", "decoder_model")
_KINDS = (
    ("", "fp32", "float32"),
    ("fp16", "float16", "bf16"),
    ("int8", "uint8", "q8", "quantized", "8bit"),
    ("q4f16",),
    ("q4", "int4", "uint4", "bnb4", "4bit"),
)
_NAME = re.compile(rf"({'|'.join(_STEMS[::-1])})(?:[_-](\w+))?")


class ModelFolder(NamedTuple):
    """A folder of one model. ``others`` are graphs in it that were not taken, by their paths in it."""

    folder: Path
    layout: str
    graph: Path
    others: tuple[str, ...]
    facts: Facts

    @property
    def name(self) -> str:
        """The folder's name, with that of the graph where there are several to choose from."""
        folder = self.folder.resolve().name
        return folder if self.graph.stem == "model" else f"{folder}/{self.graph.stem}"

    @property
    def tokenizer(self) -> Path:
        """Beside the graph, or in the folder."""
        beside = self.graph.parent / TOKENIZER
        return beside if beside.is_file() else self.folder / TOKENIZER

    @property
    def bytes(self) -> int:
        """The size of the graph and of the files of weights that have its name."""
        beside = self.graph.parent.glob(f"{glob.escape(self.graph.name)}*")
        return sum(path.stat().st_size for path in beside if path.is_file())


def model_folder(path: Path) -> ModelFolder:
    """Look at a folder, or at the folder around the graph that ``path`` is.

    Without a graph named, that of ``genai_config.json`` is taken, else ``model.onnx``, else the least quantised; one in
    the folder itself before one in ``onnx/``.

    Raises:
        ModelError: there is nothing there that can be a model, with what is there and what to do.
    """
    if path.suffix == ".onnx" and not path.is_dir():
        if not path.is_file():
            there = ", ".join(graphs_in(_around(path))) or "none"
            raise ModelError(f"{path}: no such graph; {_around(path)} has {there}")
        folder, chosen = _around(path), path
    else:
        folder, chosen = path, None
    graphs = graphs_in(folder)
    if (folder / GENAI).is_file():
        layout, facts = ONNXRUNTIME_GENAI, genai_facts(folder)
        graph = chosen or folder / genai_graph(folder)
        if not graph.is_file():
            raise ModelError(
                f"{folder}: {GENAI} names the graph {graph.relative_to(folder).as_posix()}, which is not there"
            )
    elif not graphs:
        raise ModelError(_nothing(folder))
    elif (folder / CONFIG).is_file():
        layout, facts = OPTIMUM, optimum_facts(folder)
        graph = chosen or folder / _best(folder, graphs)
    else:
        raise ModelError(
            f"{folder}: its layout is unknown: neither {GENAI} (onnxruntime-genai) nor {CONFIG} (Optimum) is beside "
            f"{graphs[0]}: put the one of its export there"
        )
    taken = {graph.relative_to(folder).as_posix(), *(drafter.file for drafter in facts.drafters.values())}
    return ModelFolder(folder, layout, graph, tuple(name for name in graphs if name not in taken), facts)


def graphs_in(folder: Path) -> list[str]:
    """The graphs in a folder and in ``onnx/`` below, by their paths in it."""
    paths = [*sorted(folder.glob("*.onnx")), *sorted(folder.glob("onnx/*.onnx"))]
    return [path.relative_to(folder).as_posix() for path in paths]


def _around(graph: Path) -> Path:
    folder = graph.parent
    configured = any((folder / name).is_file() for name in (GENAI, CONFIG))
    return folder.parent if folder.name == "onnx" and not configured else folder


def _best(folder: Path, graphs: list[str]) -> str:
    ranked = sorted((rank, name) for name in graphs if (rank := _rank(name)) is not None)
    if ranked:
        return ranked[0][1]
    if len(graphs) == 1:
        return graphs[0]
    raise ModelError(f"{folder}: it has several graphs, {', '.join(graphs)}: name one with --model-file")


def _rank(name: str) -> tuple[int, int, int] | None:
    """The lower the better: the kind of graph, how little it is quantised, how near it is."""
    found = _NAME.fullmatch(Path(name).stem)
    if found is None:
        return None
    quantised = next((i for i, kinds in enumerate(_KINDS) if (found[2] or "").lower() in kinds), len(_KINDS))
    return _STEMS.index(found[1]), quantised, name.count("/")


def _nothing(folder: Path) -> str:
    if folder.suffix.lower() == ".gguf" and folder.is_file():
        return f"{folder}: a GGUF file and no graph: make one of it with `specstep models add {folder.name}`"
    if folder.is_file():
        return f"{folder}: a file that is no graph: give a folder with a model in ONNX, or its graph (*.onnx)"
    if not folder.is_dir():
        return (
            f"{folder}: no such folder, and no model was added by that name (specstep models list); give a folder "
            "with a model in ONNX, 'bundled' or 'toy'"
        )
    if any(folder.glob("*.gguf")):
        return f"{folder}: there is a GGUF file and no graph: make one of it with `specstep models add FILE.gguf`"
    if any(folder.glob("*.safetensors")) or any(folder.glob("pytorch_model*.bin")):
        return (
            f"{folder}: there are weights of transformers and no graph: export them, as with `optimum-cli export onnx "
            f"--task text-generation-with-past --model {folder.name} OUT`"
        )
    return f"{folder}: there is no graph (*.onnx), neither there nor in onnx/"
