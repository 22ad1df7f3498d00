"""What can be exported of the screen, by the end of a file's name, and written without anything lost."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

from engine.branch import save as save_trace
from engine.commands.json_text import as_lines
from engine.errors import Refused
from engine.export import chunks, save
from engine.export.visible import Joiner, visible
from engine.records import RoundSource
from engine.trace.reader import Trace, open_trace

HINT = "The end of the name says what: .svg this screen, .html a report of the run, .txt its text, .json this round."
ENDS = (".svg", ".html", ".txt", ".json")


def target_of(text: str) -> Path:
    """The file that is meant by what was typed.

    Raises:
        Refused: it says no form, or is there already.
    """
    path = Path(text.strip()).expanduser()
    if path.suffix.lower() not in ENDS:
        raise Refused(f"{path}: let the name end in one of {', '.join(ENDS)}")
    if path.exists() or path.is_symlink():
        raise Refused(f"{path} is there already: give another name")
    if not path.parent.is_dir():
        raise Refused(f"{path.parent}: no such folder")
    return path


def write(path: Path, source: RoundSource, index: int, picture: str) -> None:
    """Export to ``path`` what its end asks for; ``index`` is the round at the cursor, ``picture`` the screen as SVG.

    A trace is read from its file once more: this may run beside whoever reads it.

    Raises:
        TraceError: it cannot be written whole, or a round cannot be read. Nothing is left then.
    """
    if isinstance(source, Trace):
        with open_trace(source.path) as trace:
            _write(path, trace, index, picture)
    else:
        _write(path, source, index, picture)


def _write(path: Path, source: RoundSource, index: int, picture: str) -> None:
    match path.suffix.lower():
        case ".svg":
            save(path, [picture])
        case ".json":
            save(path, [as_lines(source.round(index)), "\n"])
        case ".txt":
            save(path, text_of(source, index + 1))
        case _:
            _report(path, source)


def text_of(source: RoundSource, rounds: int) -> Iterator[str]:
    """The prompt and what the first ``rounds`` rounds emitted; what steers a terminal is spelled out."""
    joiner = Joiner()
    for token in source.header.prompt or ():
        yield _plain(joiner.feed(token, source.piece(token)))
    for index in range(rounds):
        for token in source.round(index).emitted or ():
            yield _plain(joiner.feed(token, source.piece(token)))
    yield joiner.rest() + "\n"


def _plain(text: str) -> str:
    return visible(text).replace("↵\n", "\n").replace("⇥", "\t")


def _report(path: Path, source: RoundSource) -> None:
    if isinstance(source, Trace):
        save(path, chunks("html", source))
        return
    with tempfile.TemporaryDirectory() as folder:
        made = Path(folder) / "run.msgpack"
        save_trace(source, made)
        with open_trace(made) as trace:
            save(path, chunks("html", trace))
