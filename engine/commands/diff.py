"""``specstep diff``: two traces side by side."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from engine.commands import run_options as flag
from engine.commands.diff_text import told
from engine.commands.exits import Exit
from engine.commands.json_text import as_lines
from engine.commands.reading import finish, open_trace
from engine.commands.saying import say
from engine.compare import TIED, Report, align, report
from engine.errors import Refused

if TYPE_CHECKING:
    from engine.trace.reader import Trace

Left = Annotated[Path, typer.Argument(metavar="A", help="A trace file.", show_default=False)]
Right = Annotated[Path, typer.Argument(metavar="B", help="The trace to compare it with.", show_default=False)]
Tie = Annotated[
    float, typer.Option("--tie", min=0.0, help="Logits: a gap up to this is a near-tie. Raise it for half precision.")
]


def diff(a: Left, b: Right, tie: Tie = TIED, as_json: flag.Json = False) -> None:
    """Do two runs emit the same tokens? Where they part, who decided what there, and what each cost.

    Exit 0 if they do, 1 if not, 3 if they do as far as an incomplete trace goes.
    """
    with open_trace(a) as left, open_trace(b) as right:
        found = report(align(left, right), tie)
        say(as_lines(found) if as_json else told(found, left, right, (str(a), str(b))))
        if found.equal is None:
            raise Refused("a trace that holds counts and no tokens cannot tell whether the texts are equal")
        if not found.equal and not _may_go_on(found, left, right):
            raise typer.Exit(Exit.NO)
        finish(left)
        finish(right)


def _may_go_on(found: Report, left: "Trace", right: "Trace") -> bool:
    """Whether the texts differ only in that a trace which is not whole ends earlier."""
    if found.first is None or None not in (found.first.left.token, found.first.right.token):
        return False
    return (left if found.first.left.token is None else right).end is None
