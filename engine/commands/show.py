"""``specstep show``: one round of a trace, or those that meet a condition."""

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from engine.commands import run_options as flag
from engine.commands.exits import Exit, complain
from engine.commands.json_text import as_line, as_lines
from engine.commands.reading import TracePath, finish, open_trace
from engine.commands.saying import printable, say
from engine.errors import Refused
from engine.records import Round, Verdict

if TYPE_CHECKING:
    from engine.trace.reader import Trace

MARKS = {Verdict.ACCEPTED: "✓", Verdict.REJECTED: "✗", Verdict.UNJUDGED: "·", Verdict.UNVERIFIED: "◦"}
TEXT_WIDTH = 20
_AT_ONCE = 1024
"""Rounds that are looked at before the first hit is printed."""

Index = Annotated[int | None, typer.Option("--round", "-r", min=0, help="Which round, from 0.", show_default=False)]
Where = Annotated[
    str | None,
    typer.Option(
        "--where",
        metavar="CONDITION",
        help="The rounds that meet it, a line each, as in 'take == 0 and gap < 0.1'; see specstep conditions.",
        show_default=False,
    ),
]
First = Annotated[bool, typer.Option("--first", help="Of these only the first, in full.")]


def show(
    trace: TracePath, index: Index = None, where: Where = None, first: First = False, as_json: flag.Json = False
) -> None:
    """One round as it was recorded: drafts beside the base's choices, positions and times.

    With --where the rounds that meet a condition, with --json as an object a line; exit 1 if there is none.
    """
    if (index is None) == (where is None):
        raise Refused("give --round with a number, or --where with a condition")
    with open_trace(trace) as source:
        if index is not None:
            if index >= len(source):
                held = f"rounds 0 to {len(source) - 1}" if len(source) else "no rounds"
                raise Refused(f"{trace}: there is no round {index}, it has {held}")
            round_ = source.round(index)
            say(as_lines(round_) if as_json else described(round_, source.piece))
        elif not _find(source, str(where), first=first, as_json=as_json):
            complain(f"no round of {len(source)} meets {where}")
            raise typer.Exit(Exit.NO)
        finish(source)


def _find(source: "Trace", where: str, *, first: bool, as_json: bool) -> bool:
    """Print the rounds that meet a condition; whether there is one."""
    found = False
    for index in _hits(source, where):
        found, round_ = True, source.round(index)
        if first:
            say(as_lines(round_) if as_json else described(round_, source.piece))
            break
        say(as_line(round_) if as_json else headline(round_))
    return found


def _hits(source: "Trace", where: str) -> Iterator[int]:
    from engine.conditions import Stop  # noqa: PLC0415
    from engine.conditions.scan import Scan  # noqa: PLC0415 (numpy: only to read a trace)

    stop = Stop(where)
    scan, given = Scan(source, stop.condition), 0
    while scan.advance(_AT_ONCE):
        for place in range(given, len(scan.hits)):
            if stop.stops(place + 1):
                yield scan.hits[place]
        given = len(scan.hits)


def described(round_: Round, piece: Callable[[int], bytes | None]) -> str:
    """The round as lines of text; whatever the tokens hold, no control character is among them."""
    return "\n".join([headline(round_), *_tokens(round_, piece), *_footer(round_)])


def visible(piece: bytes | None) -> str:
    """A token's text with everything that does not print as itself written out; empty if it is not known."""
    if piece is None:
        return ""
    text = piece.decode("utf-8", errors="backslashreplace")
    return f"'{printable(text)}'"


def headline(round_: Round) -> str:
    """The round in one line."""
    form = printable(round_.form)
    parts = [f"round {round_.index}", form if round_.reason is None else f"{form} ({printable(round_.reason)})"]
    if round_.pos is not None:
        parts.append(f"positions {round_.pos} to {round_.consumed}")
    if round_.cut is not None:
        parts.append(f"cut by the {printable(round_.cut)}")
    return f"{', '.join(parts)}: {round_.drafted} drafted, {round_.take} accepted, {round_.count} emitted"


def _tokens(round_: Round, piece: Callable[[int], bytes | None]) -> list[str]:
    if round_.t1 is None:
        return []

    def token(id_: int) -> str:
        return f"{id_:>7} {visible(piece(id_)):<{TEXT_WIDTH}}"

    def line(mark: str, j: int, draft: str) -> str:
        base = token(round_.targets[j]) if round_.targets and j < len(round_.targets) else ""
        figures = " ".join(_figure(values, j) for values in (round_.target_p, round_.gap))
        return f"  {mark} {draft} {base:<{TEXT_WIDTH + 8}} {figures}".rstrip()

    verdicts, drafts = round_.verdicts, round_.drafts or ()
    blank = " " * (TEXT_WIDTH + 8)
    head = f"    {'draft':<{TEXT_WIDTH + 8}}      p {'base':<{TEXT_WIDTH + 8}}      p    gap"
    lines = [f"  → {token(round_.t1)}", head]
    for j, draft in enumerate(drafts):
        lines.append(line(MARKS[verdicts[j]], j, f"{token(draft)} {_figure(round_.draft_p, j)}"))
    if round_.take == len(drafts):
        lines.append(line("→", len(drafts), f"{blank} {'':>6}"))
    return [*lines, f"  next: {token(round_.next).strip()}"] if round_.next is not None else lines


def _footer(round_: Round) -> list[str]:
    lines = []
    if round_.fallback is not None:
        mean = "-" if round_.fallback.mean is None else f"{round_.fallback.mean:.2f}"
        counts = " ".join(map(str, round_.fallback.window))
        lines.append(f"  window: {counts} (mean {mean}{', off' if round_.fallback.off else ''})")
    if round_.ms:
        lines.append("  ms: " + ", ".join(f"{printable(phase)} {ms:.3f}" for phase, ms in round_.ms.items()))
    if round_.state:
        lines.append(
            "  state: " + ", ".join(f"{printable(key)} {printable(value)}" for key, value in round_.state.items())
        )
    return lines


def _figure(values: tuple[float, ...] | None, j: int) -> str:
    if values is None or j >= len(values):
        return " " * 6
    # What rounds to nothing is not nothing: a near-tie is told by its gap.
    return f"{values[j]:>6.0e}" if 0 < abs(values[j]) < 0.0005 else f"{values[j]:>6.3f}"
