"""How long the stages of earlier openings took, by what was opened: a small file, and nothing where that is damaged."""

import json
import os
from contextlib import suppress
from pathlib import Path

LIMIT = 40

_Times = dict[str, float]


def key_of(model: str, provider: str, what: str) -> str:
    """What the times of a model are kept under: its name, or where it is, what runs it, and ``what`` opens it.

    A command and the screen do not go through the same stages.
    """
    place = model
    with suppress(OSError, RuntimeError, ValueError):  # it is no place, or one where nobody may look
        place = str(Path(model).resolve(strict=True))
    return f"{place} on {provider}, {what}"


def earlier(file: Path, key: str) -> _Times:
    """The seconds of each stage of the last opening under ``key``, in their order; empty if there was none."""
    return _read(file).get(key, {})


def keep(file: Path, key: str, times: _Times) -> None:
    """Note an opening for the next time. A file that cannot be written is left as it is."""
    others = {name: kept for name, kept in _read(file).items() if name != key}
    newest = dict([*others.items(), (key, {name: round(took, 3) for name, took in times.items()})][-LIMIT:])
    with suppress(OSError):
        file.parent.mkdir(parents=True, exist_ok=True)
        new = file.with_name(f"{file.name}.{os.getpid()}")
        new.write_text(json.dumps(newest, indent=1), encoding="utf-8")
        new.replace(file)


def _read(file: Path) -> dict[str, _Times]:
    try:
        entries = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    if not isinstance(entries, dict):
        return {}
    return {key: times for key, times in entries.items() if _are_times(times)}


def _are_times(times: object) -> bool:
    if not isinstance(times, dict):
        return False
    return all(isinstance(took, int | float) and 0 <= took < float("inf") for took in times.values())
