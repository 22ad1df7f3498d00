"""``specstep stats``: what a run amounts to."""

from typing import TYPE_CHECKING, Any

from engine.commands import run_options as flag
from engine.commands.json_text import as_lines
from engine.commands.reading import TracePath, finish, open_trace
from engine.commands.saying import printable, say
from engine.ngrams import Text
from engine.stats import READ, Stats

if TYPE_CHECKING:
    from engine.trace.reader import Trace

POSITIONS = (
    ("unconditional", "of all drafted rounds"),
    ("drafted_only", "of the rounds that drafted so far"),
    ("conditional", "of those judged there"),
)


def stats(trace: TracePath, as_json: flag.Json = False) -> None:
    """Counts, acceptance under each of its names, times and break-even of a recorded run."""
    with open_trace(trace) as source:
        figures = figures_of(source)
        say(as_lines(figures) if as_json else table(figures))
        finish(source)


def figures_of(source: "Trace") -> dict[str, Any]:
    """All figures of a trace under their public names; unknown is ``None``."""
    counted, text = Stats(), Text()
    for round_ in source.each(READ):
        counted.add(round_)
        text.add(round_.emitted)
    return counted.as_map(source.prefill, source.end, source.header.detail, text.tokens)


def table(figures: dict[str, Any]) -> str:
    """The figures for a person: a name, a value and what it means on each line; what is unknown is left out."""
    plain, verified = figures["plain_rounds"], figures["verified"]
    lines: list[tuple[str, str, str]] = [
        ("ended", printable(figures["reason"] or "not yet, or its writer died"), ""),
        ("tokens emitted", _number(figures["emitted"]), f"in {(figures['rounds'] or 0) + (plain or 0)} rounds"),
        ("drafted rounds", _number(figures["rounds"]), "" if plain is None else f"and {plain} plain"),
        ("fell back at", _number(figures["fell_back_at"], "never"), "recorded rounds"),
        (
            "drafted",
            _number(figures["drafted"]),
            "tokens" if verified is None else f"tokens, {verified} of them verified",
        ),
        ("accepted", _number(figures["accepted"]), ""),
        ("draft acceptance rate", _number(figures["draft_acceptance_rate"]), "accepted / drafted"),
        ("evaluated acceptance rate", _number(figures["evaluated_acceptance_rate"]), "accepted / judged"),
        ("draft share", _number(figures["draft_share"]), "accepted / emitted"),
        ("tokens per round", _number(figures["tokens_per_round"]), "of the drafted rounds"),
        ("tokens per base pass", _number(figures["tokens_per_base_pass"]), ""),
        ("break-even", _number(figures["break_even"]), "tokens a round that pay for drafting"),
        ("speed-up", _number(figures["speedup"]), "tokens per round / break-even"),
        ("plain step", _number(figures["plain_ms"]), "ms"),
        ("time to first token", _number(figures["ttft_ms"]), "ms"),
        ("tokens per second", _number(figures["tokens_per_second"]), ""),
        ("repeated 8-grams", _number(figures["repeated_8grams"]), "of the emitted text"),
    ]
    shown = [line for line in lines if line[1]]
    name_width = max(len(name) for name, _, _ in shown)
    value_width = max(len(value) for _, value, _ in shown[1:])
    text = [f"{name:<{name_width}}  {value:>{value_width}}  {note}".rstrip() for name, value, note in shown]
    return "\n".join([*text, *_positions(figures["per_position"], name_width), *_phases(figures["ms"], name_width)])


def _positions(by_position: dict[str, Any], name_width: int) -> list[str]:
    depth = len(by_position["unconditional"])
    if not depth:
        return []
    head = f"{'acceptance at position':<{name_width}}  " + " ".join(f"{i + 1:>6}" for i in range(depth))
    rows = [
        f"{'  ' + key.replace('_', ' '):<{name_width}}  "
        + " ".join(f"{'-' if value is None else format(value, '.3f'):>6}" for value in by_position[key])
        + f"  {meaning}"
        for key, meaning in POSITIONS
        if by_position[key]
    ]
    return ["", head, *rows]


def _phases(ms: dict[str, dict[str, float]], name_width: int) -> list[str]:
    if not ms:
        return []
    head = f"{'phase':<{name_width}}  {'median':>9} {'total':>9}  ms"
    return [
        "",
        head,
        *(f"{'  ' + printable(p):<{name_width}}  {t['median']:>9.3f} {t['total']:>9.1f}" for p, t in ms.items()),
    ]


def _number(value: float | None, unknown: str = "") -> str:
    match value:
        case None:
            return unknown
        case int():
            return str(value)
        case _:
            return f"{value:.3f}"
