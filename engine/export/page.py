"""A report as one HTML file: no script, nothing loaded from elsewhere, light or dark as its reader's screen is."""

import math
from collections.abc import Iterable, Iterator
from html import escape
from importlib.resources import files
from typing import Any

from engine.export.marked import LEGEND, marked
from engine.export.plot import STYLE, svg
from engine.export.series import Series, series_of
from engine.export.visible import one_line
from engine.records import Event, Round
from engine.trace.audit import Finding, audit
from engine.trace.reader import Trace

MARKED_ROUNDS, LISTED_ROUNDS = 4000, 1000
_POLICY = "default-src 'none'; style-src 'unsafe-inline'"
_FIGURES = (
    ("tokens", "emitted", "d"),
    ("drafted rounds", "rounds", "d"),
    ("plain rounds", "plain_rounds", "d"),
    ("tokens per drafted round", "tokens_per_round", ".2f"),
    ("tokens per base pass", "tokens_per_base_pass", ".2f"),
    ("draft acceptance rate", "draft_acceptance_rate", ".3f"),
    ("evaluated acceptance rate", "evaluated_acceptance_rate", ".3f"),
    ("draft share of the output", "draft_share", ".3f"),
    ("tokens a second", "tokens_per_second", ".1f"),
    ("time to first token, ms", "ttft_ms", ".1f"),
    ("plain step, ms", "plain_ms", ".2f"),
    ("break-even, tokens a round", "break_even", ".2f"),
    ("speed-up", "speedup", ".2f"),
    ("fell back after, rounds", "fell_back_at", "d"),
)


def html_chunks(trace: Trace) -> Iterator[str]:
    """The page, piece by piece."""
    series, findings = series_of(trace), audit(trace.records(), trace.torn)
    yield from _head(trace)
    figures = series.stats.as_map(trace.prefill, trace.end, trace.header.detail)
    yield _figures(figures)
    if len(trace):
        picture = svg(series, one_line(trace.header.base.name), style=False)
        yield f'<h2>Tokens a round</h2>\n<div class="wide">{picture}</div>\n'
    yield from _findings(findings, trace)
    yield from _events(trace.events())
    if trace.header.detail == "full":
        yield from _text(trace)
    yield from _rounds(trace, series)
    yield "</body>\n</html>\n"


def _head(trace: Trace) -> Iterator[str]:
    header = trace.header
    drafter = header.drafter.name if header.drafter else ""
    name = f"{header.base.name} + {drafter}" if drafter not in ("", header.base.name) else header.base.name
    name = escape(one_line(name))
    css = files("engine.export").joinpath("page.css").read_text(encoding="utf-8")
    yield f'<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n<title>{name}: specstep report</title>\n'
    yield f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'
    yield '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
    yield f"<style>{css}{STYLE}</style>\n</head>\n"
    ended = "no end record" if trace.end is None else f"ended: {one_line(trace.end.reason)}"
    options = ", ".join(f"{key} {value}" for key, value in header.options.items() if value not in (None, [], ()))
    facts = [one_line(header.created), _device(header.device), one_line(options), ended]
    if header.detail != "full":
        facts.append("counts only: no tokens are known")
    yield f'<body>\n<h1>{name}</h1>\n<p class="soft">{escape("; ".join(fact for fact in facts if fact))}</p>\n'
    if trace.torn is not None:
        yield f'<p class="fault">The trace is torn: {escape(str(trace.torn))}. What stands before it is shown.</p>\n'


def _device(device: dict[str, Any]) -> str:
    return one_line(" ".join(str(device[key]) for key in ("provider", "name") if device.get(key)))


def _figures(figures: dict[str, Any]) -> str:
    cells = [
        f"<div><dt>{label}</dt><dd>{format(figures[key], form)}</dd></div>"
        for label, key, form in _FIGURES
        if figures.get(key) is not None
    ]
    return f'<dl class="figures">{"".join(cells)}</dl>\n'


def _findings(findings: list[Finding], trace: Trace) -> Iterator[str]:
    yield "<h2>Findings of the audit</h2>\n"
    if not len(trace) and not findings:
        yield "<p>There are no rounds to audit.</p>\n"
        return
    if not findings:
        scope = "" if trace.header.detail == "full" else " that counts can show"
        yield f"<p>None: every record agrees with what is recomputed from the others{scope}.</p>\n"
        return
    rows = [
        (found.rule, found.round, found.field, found.recorded, found.recomputed, found.message) for found in findings
    ]
    yield _table(("rule", "round", "field", "recorded", "recomputed", "what"), rows)


def _events(events: Iterable[Event]) -> Iterator[str]:
    rows = [(event.round, event.level, event.code, event.message) for event in events]
    if rows:
        yield "<h2>Events</h2>\n" + _table(("round", "level", "code", "message"), rows)


def _text(trace: Trace) -> Iterator[str]:
    shown = min(len(trace), MARKED_ROUNDS)
    yield "<h2>Text</h2>\n"
    keys = (
        f'<span><span class="{kind}"><i class="m">{mark}</i>like this</span> {what}</span>'
        for kind, mark, what in LEGEND
    )
    yield f'<div class="legend">{"".join(keys)}</div>\n'
    yield '<input type="checkbox" id="tries"><label for="tries"> show the drafts that were not accepted</label>\n'
    yield '<div class="text">'
    yield from marked(trace, shown)
    yield "</div>\n"
    if shown < len(trace):
        yield f'<p class="soft">The first {shown} of {len(trace)} rounds; export as json for all of them.</p>\n'


def _rounds(trace: Trace, series: Series) -> Iterator[str]:
    shown = min(len(trace), LISTED_ROUNDS)
    if not shown:
        return
    phases = list(series.stats.ms)
    yield f"<h2>Rounds</h2>\n<details><summary>{shown} of {len(trace)} rounds</summary>\n"
    names = ("round", "form", "drafted", "verified", "taken", "emitted", "mean", *(f"{phase}, ms" for phase in phases))
    rows = [_row(trace.round(index), series.means[index], phases) for index in range(shown)]
    yield _table(names, rows)
    yield "</details>\n"


def _row(round_: Round, mean: float, phases: list[str]) -> tuple[Any, ...]:
    unknown = round_.drafts is None and round_.n_drafts is None
    form = round_.form if round_.reason is None else f"{round_.form} ({round_.reason})"
    counts = (None if unknown else round_.drafted, None if unknown else round_.in_batch, round_.take, round_.count)
    ms = round_.ms or {}
    times = (f"{ms[phase]:.3f}" if phase in ms else None for phase in phases)
    return (round_.index, form, *counts, None if math.isnan(mean) else f"{mean:.2f}", *times)


def _table(names: tuple[str, ...], rows: Iterable[tuple[Any, ...]]) -> str:
    head = "".join(f"<th>{escape(one_line(name))}</th>" for name in names)
    body = "".join(f"<tr>{''.join(map(_cell, row))}</tr>\n" for row in rows)
    return f'<div class="wide"><table><tr>{head}</tr>\n{body}</table></div>\n'


def _cell(value: Any) -> str:
    if value is None:
        return "<td></td>"
    kind = ' class="n"' if isinstance(value, int | float) else ""
    return f"<td{kind}>{escape(one_line(str(value)))}</td>"
