"""Paints the Findings pane: what the audit found, a line each, the chosen one in full."""

from typing import TYPE_CHECKING

from tui.findings import RULES, Found
from tui.lines import Line, Span, fit, left, wrap
from tui.marks import Marks, Role
from tui.session import Session
from tui.text import safe

if TYPE_CHECKING:
    from engine.trace.audit.finding import Finding

TITLE = "Findings"
_RULE = 6
_WHERE = 13
_NAMES = {"end-missing": "end"}


def paint(session: Session, marks: Marks, width: int, height: int) -> list[Line]:
    """As many findings as there is room for, around the chosen one."""
    found = session.found
    lines: list[Line] = wrap(safe(found.broken, marks), width, Role.WARNING) if found.broken else []
    if not found.all:
        return lines or wrap(_nothing(session, found), width, Role.DIM)
    rows = [_row(finding, i == found.chosen, marks, width) for i, finding in enumerate(found.all)]
    chosen = found.all[found.chosen]
    indent = " " * 2
    told = [(Span(indent), *line) for line in wrap(safe(chosen.message, marks), width - len(indent))]
    room = max(1, height - len(lines) - len(told))
    start = max(0, min(found.chosen - room // 2, len(rows) - room))
    here = found.chosen - start
    shown = rows[start : start + room]
    return [*lines, *shown[: here + 1], *told, *shown[here + 1 :]]


def note(session: Session) -> str:
    """How far the audit is, and what keys there are."""
    found = session.found
    if not found.done and not found.broken and not session.source.live:
        return f"{100 * found.rounds // max(len(session.source), 1)}% audited"
    if not found.all:
        return ""
    return f"{found.chosen + 1}/{len(found.all)} enter goes"


def _nothing(session: Session, found: Found) -> str:
    if found.done:
        return f"no findings: {RULES} rules ran over {found.rounds} rounds"
    if session.source.live:
        return f"no findings so far: {RULES} rules run over each round as it comes, {found.rounds} until now"
    return f"no findings in the first {found.rounds} rounds; {RULES} rules are being run over the rest"


def _row(finding: "Finding", chosen: bool, marks: Marks, width: int) -> Line:
    where = "whole run" if finding.round is None else f"round {finding.round}"
    return fit(
        (
            Span(marks.carried if chosen else " ", Role.CURSOR if chosen else Role.TEXT),
            Span(f"{marks.finding} ", Role.WARNING),
            Span(left(_NAMES.get(finding.rule, finding.rule), _RULE, marks), Role.STRONG),
            Span(left(where, _WHERE, marks), Role.STRONG if chosen else Role.TEXT),
            Span("" if chosen else safe(finding.message, marks), Role.DIM),
        ),
        width,
        marks,
    )
