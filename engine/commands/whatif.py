"""``specstep whatif``: another bar and window over a recorded run."""

import math
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import msgspec
import typer

from engine.commands import run_options as flag
from engine.commands import run_values
from engine.commands.json_text import as_lines
from engine.commands.reading import TracePath, finish, open_trace
from engine.commands.saying import say
from engine.errors import Refused
from engine.stats import Costs, measured_plain_ms
from engine.whatif import (
    Answer,
    Observed,
    Rule,
    bars_for,
    flip_words,
    limits,
    rounds_words,
    rule_of,
    time_words,
    windows_for,
)

if TYPE_CHECKING:
    from engine.trace.reader import Trace
    from engine.whatif.replay import Grid, Replay

Bar = Annotated[str, typer.Option("--bar", help="Tokens a round; auto: the break-even of these rounds.")]
Size = Annotated[
    int | None, typer.Option("--window", help="Rounds in the rolling mean; by default as recorded.", show_default=False)
]
Sweep = Annotated[bool, typer.Option("--sweep", help="Many bars and windows at once.")]

_KEYS = ("form", "reason", "drafts", "n_drafts", "take", "emitted", "n_emitted", "fallback", "ms")
"""What is read of a round."""
_WIDEST = 2**32


class Ready(NamedTuple):
    """A trace that was read once: its own rule, its break-even, and what answers questions."""

    rule: Rule
    even: float | None
    replay: "Replay"
    known: int
    top: int


def whatif(
    trace: TracePath, bar: Bar = "auto", window: Size = None, sweep: Sweep = False, as_json: flag.Json = False
) -> None:
    """Where a run would have fallen back by another bar and window, and what that saves or loses.

    Exact for a flip before the recorded one; what was never drafted is not made up.
    """
    if window is not None and not 1 <= window <= _WIDEST:
        raise Refused(f"--window is {window}: give a number of rounds from 1 to {_WIDEST}")
    with open_trace(trace) as source:
        ready = read(source)
        asked = Rule(_bar(bar, ready), ready.rule.window if window is None else window)
        k = source.header.options.get("k")
        answer = ready.replay.ask(*asked, k=k if isinstance(k, int) and k > 0 else None)
        notes = list(limits(source.header, source.end, answer))
        grid = _sweep(ready, asked) if sweep else None
        if as_json:
            say(as_lines(_as_map(ready, answer, notes, grid)))
        else:
            say("\n".join([*_lines(ready, answer, notes), *(_table(grid, ready, asked) if grid else ())]))
        finish(source)


def read(source: "Trace") -> Ready:
    """Read all rounds once. Raises ``TraceError``."""
    from engine.whatif.replay import Replay  # noqa: PLC0415 (numpy)

    observed, costs = Observed(), Costs()
    for round_ in source.each(_KEYS):
        observed.add(round_)
        costs.add(round_)
    end = source.end
    measured = measured_plain_ms(source.prefill, end)
    return Ready(
        rule=rule_of(source.header.options),
        even=costs.break_even(measured),
        replay=Replay(observed, costs.plain_ms(measured), end),
        known=observed.known,
        top=max(observed.counts, default=1),
    )


def _bar(text: str, ready: Ready) -> float:
    try:
        asked = run_values.bar_of(text)
    except Refused:
        asked = math.nan
    if asked is None:
        return ready.even or ready.rule.bar
    if not 0 <= asked < math.inf:
        raise Refused(f"--bar is {text!r}: give a number of tokens a round from 0 up, or auto")
    return asked


def _sweep(ready: Ready, asked: Rule) -> "Grid":
    bars = bars_for(ready.top, (ready.rule.bar, ready.even, asked.bar), 8)
    return ready.replay.sweep(bars, windows_for(ready.known, (ready.rule.window, asked.window)))


def _as_map(ready: Ready, answer: Answer, notes: list[str], grid: "Grid | None") -> dict[str, Any]:
    made: dict[str, Any] = {
        "recorded": ready.rule._asdict(),
        "break_even": ready.even,
        "whatif": msgspec.to_builtins(answer),
        "notes": notes,
    }
    if grid is not None:
        made["sweep"] = {
            "bars": grid.bars,
            "windows": grid.windows,
            "flip": [[_flip(flip) for flip in row] for row in grid.flips.tolist()],
            "tokens_per_second": [
                [None if math.isnan(v) else v for v in row] for row in grid.tokens_per_second.tolist()
            ],
        }
    return made


def _flip(flip: int) -> int | str:
    from engine.whatif.replay import NEVER, UNKNOWN  # noqa: PLC0415 (numpy)

    return {NEVER: "never", UNKNOWN: "unknown"}.get(flip, flip)


def _lines(ready: Ready, answer: Answer, notes: list[str]) -> list[str]:
    recorded = "never flipped" if answer.recorded_flip is None else f"flipped after round {answer.recorded_flip}"
    even = "not known: it takes timed rounds and a timed plain step"
    return [
        f"recorded    {_rule(ready.rule)}: {recorded}; {answer.recorded_rounds} rounds"
        + _speed(answer.recorded_tokens_per_second),
        f"what if     {_rule(Rule(answer.bar, answer.window))}: {flip_words(answer)}",
        f"            {rounds_words(answer)}; {time_words(answer)}{_speed(answer.tokens_per_second)}",
        f"break-even  {even if ready.even is None else f'{ready.even:.2f} tokens a round'}",
        *(f"note        {note}" for note in notes),
    ]


def _rule(rule: Rule) -> str:
    return f"bar {rule.bar:.2f} over {rule.window} rounds" if rule.bar else "no bar"


def _speed(tokens_per_second: float | None) -> str:
    return "" if tokens_per_second is None else f", {tokens_per_second:.1f} tokens/s"


def _table(grid: "Grid", ready: Ready, asked: Rule) -> list[str]:
    """Tokens a second over the round of the flip; the recorded cell in brackets, the one asked for in angles."""
    cells = [["window \\ bar", *(f"{bar:.2f}" for bar in grid.bars)]]
    for row, window in enumerate(grid.windows):
        line = [str(window)]
        for column, bar in enumerate(grid.bars):
            here = Rule(bar, window)
            ends = "[]" if here == ready.rule else "<>" if here == asked else "  "
            speed, flip = grid.tokens_per_second[row, column], _flip(int(grid.flips[row, column]))
            figure = "" if math.isnan(speed) else f"{speed:.0f}"
            where = {"never": "-", "unknown": "?"}.get(str(flip), f"@{flip}")
            line.append(f"{ends[0]}{figure}{where}{ends[1]}")
        cells.append(line)
    widths = [max(len(line[i]) for line in cells) for i in range(len(cells[0]))]
    return [
        "",
        "tokens/s @ round of the flip (-: never flips, ?: not known from this trace, []: as recorded, <>: as asked)",
        *("  ".join(f"{cell:>{width}}" for cell, width in zip(line, widths, strict=True)).rstrip() for line in cells),
    ]
