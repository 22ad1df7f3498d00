"""The traces that were opened last: a short list in a file, newest first; empty whatever is wrong with the file."""

import json
import os
from contextlib import suppress
from pathlib import Path

LIMIT = 20


def remembered(file: Path) -> list[Path]:
    """The traces in the list, whether they are still there or not."""
    try:
        entries = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return []
    if not isinstance(entries, list):
        return []
    return [Path(entry) for entry in entries if isinstance(entry, str) and entry and "\0" not in entry][:LIMIT]


def remember(file: Path, trace: Path) -> None:
    """Put a trace first. A list that cannot be written is left as it is."""
    trace = trace.resolve()
    others = [path for path in remembered(file) if path != trace]
    with suppress(OSError):
        file.parent.mkdir(parents=True, exist_ok=True)
        new = file.with_name(f"{file.name}.{os.getpid()}")
        new.write_text(json.dumps([str(path) for path in (trace, *others)][:LIMIT], indent=1), encoding="utf-8")
        new.replace(file)
