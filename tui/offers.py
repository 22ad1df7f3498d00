"""What a run can be compared with: its own branches, the traces beside it, and the recordings that come along. Pure."""

from pathlib import Path
from typing import NamedTuple

import recordings
from engine.records import RoundSource
from tui.live import LiveSource

RECORDINGS = Path(recordings.__file__).parent
SUFFIX = ".msgpack"


class Offer(NamedTuple):
    """A source that is there, or a file to open; ``title`` names it, ``about`` says where it comes from."""

    title: str
    about: str
    source: RoundSource | None = None
    path: Path | None = None


def offers(source: RoundSource) -> list[Offer]:
    """Branches first, then files that begin with the same name, then the others."""
    found = [Offer(branch.name, told(branch), branch) for branch in branches(source) if branch is not source]
    own = path_of(source)
    folders = dict.fromkeys([*([own.parent] if own else []), RECORDINGS])
    files = [path for folder in folders for path in _traces(folder) if own is None or path.resolve() != own.resolve()]
    twins = [path for path in files if own is not None and _akin(path, own)]
    for path in [*twins, *(path for path in files if path not in twins)]:
        about = "a recording that comes with specstep" if path.parent == RECORDINGS else f"beside it, in {path.parent}"
        found.append(Offer(path.stem, about, path=path))
    return found


def path_of(source: RoundSource) -> Path | None:
    """The file of a trace."""
    path = getattr(source, "path", None)
    return path if isinstance(path, Path) else None


def name_of(source: RoundSource) -> str:
    """What a run is called: its branch, or its file."""
    if isinstance(source, LiveSource):
        return source.name
    path = path_of(source)
    return "the run" if path is None else path.stem


def branches(source: RoundSource) -> list[LiveSource]:
    """All branches of a live run, oldest first."""
    return source.branches if isinstance(source, LiveSource) else []


def told(branch: LiveSource) -> str:
    """A branch in words: where it came from and how far it is."""
    parent = branch.header.run.get("parent")
    off = "the first of this run" if parent is None else f"off {parent} at round {branch.forked_at}"
    count = len(branch)
    return f"{off}, {count} round{'' if count == 1 else 's'}"


def _akin(path: Path, own: Path) -> bool:
    return path.parent == own.parent and path.name.split(".")[0] == own.name.split(".")[0]


def _traces(folder: Path) -> list[Path]:
    try:
        return sorted(path for path in folder.iterdir() if path.name.endswith(SUFFIX) and path.is_file())
    except OSError:
        return []
