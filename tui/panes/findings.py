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
_INDENT = "  "
_RULE = 6
_WHERE = 13
_NAMES = {"end-missing": "end"}


def paint(session: Session, marks: Marks, width: int, height: int) -> list[Line]:
    """As many findings as there is room for, around the chosen one."""
    return [line for _, line in laid(session, marks, width, height)]


def laid(session: Session, marks: Marks, width: int, height: int) -> list[tuple[int | None, Line]]:
    """The lines, each with the number of the finding that it is of."""
    found = session.found
    lines: list[tuple[int | None, Line]] = []
    if found.broken:
        lines += [(None, line) for line in wrap(safe(found.broken, marks), width, Role.WARNING)]
    if not found.all:
        return lines or [(None, line) for line in wrap(_nothing(session, found), width, Role.DIM)]
    told = wrap(safe(found.all[found.chosen].message, marks), width - len(_INDENT))
    room = max(1, height - len(lines) - len(told))
    start = max(0, min(found.chosen - room // 2, len(found.all) - room))
    for i in range(start, min(start + room, len(found.all))):
        lines.append((i, _row(found.all[i], i == found.chosen, marks, width)))
        if i == found.chosen:
            lines += [(i, (Span(_INDENT), *line)) for line in told]
    return lines


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
