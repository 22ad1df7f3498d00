"""``specstep audit``: what does not hold in a recorded run."""

from contextlib import suppress
from typing import TYPE_CHECKING, Annotated, Any

import typer

from engine.commands import run_options as flag
from engine.commands.exits import Exit, complain
from engine.commands.json_text import as_lines
from engine.commands.reading import TracePath, open_trace
from engine.commands.saying import printable, say
from engine.errors import TraceError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from engine.trace.audit import Coverage, Finding, Report
    from engine.trace.reader import Trace

TOLD = 20
"""Keys that the format does not have that are told."""

Covers = Annotated[
    bool, typer.Option("--coverage", help="Say too what the rules had to look at, and which keys none knows.")
]


def audit(trace: TracePath, coverage: Covers = False, as_json: flag.Json = False) -> None:
    """Recompute every round of a trace and tell what does not hold, a line for each finding.

    Exit 1 if there are findings, 3 if the trace is incomplete.
    """
    from engine.trace.audit import Coverage, report  # noqa: PLC0415 (numpy: only to read a trace)

    with open_trace(trace) as source:
        made = report(source)
        covered = Coverage(_readable(source)) if coverage else None
    if as_json:
        say(as_lines(made.as_map() | ({} if covered is None else _as_map(covered))))
    else:
        say("\n".join((_in_words(made), *(() if covered is None else _coverage(covered)))))
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


def _readable(source: "Trace") -> "Iterator[Mapping[str, Any]]":
    """The records up to the first that cannot be read: the audit tells of that."""
    with suppress(TraceError):
        for record in source.raw_records():
            yield record.fields


def _as_map(covered: "Coverage") -> dict[str, Any]:
    return {"coverage": [each._asdict() for each in covered.covered()], "unknown": dict(covered.unknown)}


def _coverage(covered: "Coverage") -> "Iterator[str]":
    yield ""
    yield f"{'what rules read':<34}{'rules':<18}recorded"
    for key, rules, among, recorded, of in covered.covered():
        counted = "yes" if among == "run" else f"in {recorded} of {of} {among}"
        yield f"{key:<34}{rules:<18}{counted if recorded else 'no: nothing to look at'}"
    for what, times in covered.unknown.most_common(TOLD):
        yield printable(f"not of the format: {what}, {times} times")
    if len(covered.unknown) > TOLD:
        yield f"and {len(covered.unknown) - TOLD} more that are not of the format"


def _line(finding: "Finding") -> str:
    where = "run" if finding.round is None else f"round {finding.round}"
    return f"{finding.rule:<11}  {where:<10}  {printable(finding.message)}"
