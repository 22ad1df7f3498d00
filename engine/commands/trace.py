"""``specstep trace``: look into a trace file as a file, and make another of it."""

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, BinaryIO, Literal, cast

import msgspec
import typer

from engine.commands import run_options as flag
from engine.commands.exits import Exit, complain
from engine.commands.facts import on_one_line
from engine.commands.json_text import as_line, as_lines
from engine.commands.outputs import is_stdout, trace_target
from engine.commands.reading import TracePath, finish, open_trace
from engine.commands.saying import printable, say
from engine.errors import Refused
from engine.records import AnyRecord

if TYPE_CHECKING:
    from engine.trace.reader import RawRecord
    from engine.trace.rewrite import Rewritten

LONGEST = 100

Output = Annotated[
    Path | None, typer.Option("--output", "-o", help="The new trace, - is stdout; by default the old one's place.")
]
Kept = Annotated[
    str, typer.Option("--text", help="ids: leave out what tokens stand for; none: leave out the prompt too.")
]

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    help="Look into a trace file, or make another of it.",
)


@app.command()
def info(trace: TracePath, as_json: flag.Json = False) -> None:
    """What the file holds: versions, models, options, records, and whether it is whole."""
    with open_trace(trace) as source:
        records = Counter(source.types())
        header = source.header
        facts: dict[str, Any] = {
            "format": f"{header.format} {header.version}.{header.minor}",
            "created": header.created,
            "writer": header.writer,
            "run": header.run,
            "device": header.device,
            "base": msgspec.to_builtins(header.base),
            "drafter": msgspec.to_builtins(header.drafter),
            "options": header.options,
            "detail": header.detail,
            "prompt_tokens": None if header.prompt is None else len(header.prompt),
            "bytes": trace.stat().st_size,
            "records": dict(records),
            "indexed": source.indexed,
            "torn": None if source.torn is None else str(source.torn),
            "end": None if source.end is None else source.end.reason,
        }
        say(as_lines(facts) if as_json else "\n".join(f"{key:<13} {on_one_line(v)}" for key, v in facts.items()))
        finish(source)


@app.command()
def cat(trace: TracePath, as_json: flag.Json = False) -> None:
    """Every record in the order of the file, one a line; with --json as it stands, unknown keys too (JSON Lines)."""
    with open_trace(trace) as source:
        for raw in source.raw_records():
            say(as_line(raw.fields) if as_json else _summary(raw))
        finish(source)


@app.command()
def check(trace: TracePath) -> None:
    """Hold the file's check sums against its bytes. Exit 1 if bytes were changed or the file is torn."""
    from engine.trace.checks import verify_checks  # noqa: PLC0415 (numpy: only to read a trace)

    with open_trace(trace) as source:
        checked = verify_checks(source)
    for damage in checked.damage:
        say(f"bytes {damage.start} to {damage.stop}: {damage.message}")
    say(f"{checked.checks} check records cover {checked.covered} bytes: {len(checked.damage)} places are damaged")
    if checked.damage:
        raise typer.Exit(Exit.NO)


@app.command()
def index(trace: TracePath, output: Output = None) -> None:
    """Copy a whole trace with a new index."""
    from engine.trace.rewrite import reindex  # noqa: PLC0415

    _report(reindex(trace, _target(trace, output)), output or trace)


@app.command()
def redact(trace: TracePath, output: Output = None, text: Kept = "ids") -> None:
    """Copy a trace without its text. Token ids of the rounds stay."""
    from engine.trace.rewrite import redact as rewrite  # noqa: PLC0415

    if text not in ("ids", "none"):
        raise Refused(f"--text is {text!r}: use ids or none")
    _report(rewrite(trace, _target(trace, output), cast(Literal["ids", "none"], text)), output or trace)


@app.command()
def recover(trace: TracePath, output: Output = None) -> None:
    """Copy a torn trace up to where it breaks, with the end and index that it lacks."""
    from engine.trace.rewrite import recover as rewrite  # noqa: PLC0415

    _report(rewrite(trace, _target(trace, output)), output or trace)


@app.command()
def schema() -> None:
    """The JSON Schema of the records, as cat --json writes them."""
    say(as_lines(msgspec.json.schema(AnyRecord)))


def _target(trace: Path, output: Path | None) -> Path | BinaryIO:
    return trace if output is None else trace_target(output)


def _report(made: "Rewritten", path: Path) -> None:
    if made.lost is not None:
        complain(f"lost: {made.lost}")
    say(f"{path}: {made.rounds} rounds, {made.size} bytes", err=is_stdout(path))


def _summary(raw: "RawRecord") -> str:
    fields = {key: value for key, value in raw.fields.items() if key != "type"}
    text = printable(as_line(fields))
    return (
        f"{raw.byte:>10}  {printable(raw.fields.get('type')):<8} {text[:LONGEST]}{'…' if len(text) > LONGEST else ''}"
    )
