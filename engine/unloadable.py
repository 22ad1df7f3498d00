"""Why a file of a model cannot be loaded, in words that say what to do."""

import os
import re
from pathlib import Path

from engine.errors import ModelError

_POINTER = b"version https://git-lfs"
_EXTERNAL_MISSING = re.compile(
    r'External data path does not exist: "([^"]*)"|cannot get file size: No such file or directory \[([^\]]*)'
)
_EXTERNAL_SHORT = re.compile(r"External initializer: (.*?) offset: .* file_length: (\d+) are out of bounds")
_SYSTEM = re.compile(r"SystemError : (\d+)")
_NOT_A_GRAPH = ("Protobuf parsing failed", "No graph was found in the protobuf")


def problem_of(path: Path) -> str | None:
    """What can be seen before anything is loaded: no file, one that is locked or empty, one that stands for another."""
    try:
        if not path.is_file():
            return f"{path}: no such model file"
        with path.open("rb") as file:
            start = file.read(len(_POINTER))
    except OSError as error:
        return f"{path}: it cannot be read: {reason(error)}"
    if not start:
        return f"{path}: the file is empty: fetch it again"
    if start == _POINTER:
        return _pointer(path)
    return None


def explained(path: Path, message: str) -> str:
    """What onnxruntime said of ``path``, where it is known with what it means."""
    if found := _EXTERNAL_MISSING.search(message):
        name = Path(found[1] or found[2]).name
        return f"{path}: its weights are in {name}, which is not beside it: put both into one folder, names unchanged"
    if found := _EXTERNAL_SHORT.search(message):
        return f"{path}: the file of its weights ends after {found[2]} bytes, before {found[1]}: fetch it again"
    if found := _SYSTEM.search(message):
        return f"{path}: it or the file of its weights cannot be read: {os.strerror(int(found[1])).lower()}"
    if any(each in message for each in _NOT_A_GRAPH):
        return f"{path}: not an ONNX model, or cut short: fetch it again"
    return f"{path}: onnxruntime cannot load it: {message}"


def text_of(path: Path) -> str:
    """A text file of a model, without the mark that some editors put before a text.

    Raises:
        ModelError: it cannot be read, is no text, or stands for another file.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise ModelError(f"{path}: it cannot be read: {reason(error)}") from error
    except UnicodeDecodeError as error:
        raise ModelError(f"{path}: it is not text in UTF-8: save it so, or fetch it again") from error
    if text.startswith(_POINTER.decode()):
        raise ModelError(_pointer(path))
    return text


def reason(error: OSError) -> str:
    """What the system says of a file, within a sentence."""
    return (error.strerror or str(error)).lower()


def within(folder: Path, error: Exception) -> str:
    """What is said of a file in a folder, for a trace: without the way to the folder."""
    return str(error).replace(f"{folder}{os.sep}", "")


def _pointer(path: Path) -> str:
    return f"{path}: a pointer of Git LFS and not the file itself: fetch that, as with `git lfs pull`"
