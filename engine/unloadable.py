"""Why a model file cannot be loaded, in words that say what to do."""

import re
from pathlib import Path

_POINTER = b"version https://git-lfs"
_EXTERNAL_MISSING = re.compile(r'External data path does not exist: "([^"]*)"')
_EXTERNAL_SHORT = re.compile(r"External initializer: (.*?) offset: .* file_length: (\d+) are out of bounds")
_NOT_A_GRAPH = ("Protobuf parsing failed", "No graph was found in the protobuf")


def problem_of(path: Path) -> str | None:
    """What can be seen before anything is loaded: no file, an empty one, one that stands for another."""
    if not path.is_file():
        return f"{path}: no such model file"
    with path.open("rb") as file:
        start = file.read(len(_POINTER))
    if not start:
        return f"{path}: the file is empty: fetch it again"
    if start == _POINTER:
        return f"{path}: a pointer of Git LFS and not the model: fetch the file itself, as with `git lfs pull`"
    return None


def explained(path: Path, message: str) -> str:
    """What onnxruntime said of ``path``, where it is known with what it means."""
    if found := _EXTERNAL_MISSING.search(message):
        name = Path(found[1]).name
        return f"{path}: its weights are in {name}, which is not beside it: put both into one folder, names unchanged"
    if found := _EXTERNAL_SHORT.search(message):
        return f"{path}: the file of its weights ends after {found[2]} bytes, before {found[1]}: fetch it again"
    if any(each in message for each in _NOT_A_GRAPH):
        return f"{path}: not an ONNX model, or cut short: fetch it again"
    return f"{path}: onnxruntime cannot load it: {message}"
