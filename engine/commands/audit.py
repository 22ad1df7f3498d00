"""``specstep audit``: what does not hold in a recorded run."""

from typing import TYPE_CHECKING

import typer

from engine.commands import run_options as flag
from engine.commands.exits import Exit, complain
from engine.commands.json_text import as_lines
from engine.commands.reading import TracePath, open_trace
from engine.commands.saying import printable, say

if TYPE_CHECKING:
    from engine.trace.audit import Finding, Report


def audit(trace: TracePath, as_json: flag.Json = False) -> None:
    """Recompute every round of a trace and tell what does not hold, a line for each finding.

    Exit 1 if there are findings, 3 if the trace is incomplete.
    """
    from engine.trace.audit import report  # noqa: PLC0415 (numpy: only to read a trace)

    with open_trace(trace) as source:
        made = report(source)
    say(as_lines(made.as_map()) if as_json else _in_words(made))
    if not made.complete:
        complain(f"{trace}: {_what_is_missing(made)}; audited as far as it goes, {made.rounds} rounds")
        raise typer.Exit(Exit.INCOMPLETE)
    if made.findings:
        raise typer.Exit(Exit.NO)


def _what_is_missing(made: "Report") -> str:
    if made.torn is not None:
        return printable(f"the trace is torn: {made.torn}")
    return "the trace has no end: its writer died, or still writes"


def _in_words(made: "Report") -> str:
    if not made.findings:
        return f"no findings in {made.rounds} rounds"
    return "\n".join(map(_line, made.findings))


def _line(finding: "Finding") -> str:
    where = "run" if finding.round is None else f"round {finding.round}"
    return f"{finding.rule:<11}  {where:<10}  {printable(finding.message)}"
