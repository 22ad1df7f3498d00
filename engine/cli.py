"""The commands that need no screen, as one Typer app."""

from collections.abc import Callable

import typer

from engine.commands import models, trace
from engine.commands.audit import audit
from engine.commands.conditions import conditions
from engine.commands.diff import diff
from engine.commands.engine import engine
from engine.commands.exits import Commands
from engine.commands.export import export
from engine.commands.faults import faults
from engine.commands.import_ import import_
from engine.commands.info import info
from engine.commands.probe import probe
from engine.commands.record import record
from engine.commands.show import show
from engine.commands.stats import stats
from engine.commands.watch import watch
from engine.commands.whatif import whatif

app = typer.Typer(
    name="specstep",
    cls=Commands,
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    help="A debugger for speculative decoding. These commands need no terminal; `specstep TRACE` opens the screen.",
    epilog="Exit status: 0 ok, 1 the answer is no, 2 usage, 3 incomplete trace read as far as it goes, 4 unreadable, "
    "130 interrupted.",
)
COMMANDS: dict[str, Callable[..., None]] = {
    "record": record,
    "stats": stats,
    "audit": audit,
    "diff": diff,
    "show": show,
    "conditions": conditions,
    "probe": probe,
    "import": import_,
    "export": export,
    "info": info,
    "faults": faults,
    "engine": engine,
    "watch": watch,
    "whatif": whatif,
}
for name, command in COMMANDS.items():
    app.command(name)(command)
app.add_typer(trace.app, name="trace")
app.add_typer(models.app, name="models")


def names() -> frozenset[str]:
    """The first words that are for this app; any other is for the screen."""
    return frozenset((*COMMANDS, "trace", "models", "--install-completion", "--show-completion"))
