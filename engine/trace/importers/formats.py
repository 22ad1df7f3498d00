"""The formats by name."""

from collections.abc import Callable
from pathlib import Path

from engine.errors import Refused, TraceError
from engine.trace.importers import aiperf, dflash_mlx, llama_server, ort_genai, sglang, vllm
from engine.trace.importers.request import Found

FORMATS: dict[str, Callable[[Path], Found]] = {
    "vllm": vllm.read,
    "dflash-mlx": dflash_mlx.read,
    "llama-server": llama_server.read,
    "sglang": sglang.read,
    "aiperf": aiperf.read,
    "ort-genai": ort_genai.read,
}


def read(name: str, path: Path) -> Found:
    """The requests of the file at ``path``.

    Raises:
        Refused: no such format.
        TraceError: the file cannot be read, or nothing in it is of that format.
    """
    if name not in FORMATS:
        raise Refused(f"format {name!r} is not known: use one of {', '.join(FORMATS)}")
    try:
        found = FORMATS[name](path)
    except TraceError as error:
        raise TraceError(f"{error}{_hint(name, path)}", error.byte) from error
    found.problems.sort()
    if found.requests:
        return found
    if found.problems:
        raise TraceError(f"{path}: nothing of {name} can be read: {found.problems[0]}")
    if path.stat().st_size == 0:
        raise TraceError(f"{path}: the file is empty")
    what = f"{path}: nothing of {name} is in it: no line has what it writes of speculation"
    raise TraceError(f"{what}{_hint(name, path)}")


def _hint(name: str, path: Path) -> str:
    """Which of the other formats it is, if one of them finds something in it."""
    others = [other for other in FORMATS if other != name and _fits(other, path)]
    return f"; it looks like {others[0]}" if others else ""


def _fits(name: str, path: Path) -> bool:
    try:
        return bool(FORMATS[name](path).requests)
    except TraceError:
        return False
