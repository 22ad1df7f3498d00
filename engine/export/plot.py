"""The fallback as a picture: tokens a round, the rolling mean, the bar, and where drafting was switched off."""

import math
from collections.abc import Iterator, Sequence
from html import escape
from typing import NamedTuple

from engine.export.series import Series, series_of
from engine.export.visible import one_line
from engine.trace.reader import Trace

WIDTH, HEIGHT = 960, 280
_LEFT, _RIGHT, _TOP, _BOTTOM = 48, 14, 30, 40
_COLUMNS = 300

STYLE = """
.plot { color-scheme: light dark; --ink: #1b1b1f; --soft: #5f6368; --rule: #d9dce1; --paper: #ffffff;
  --tokens: #9db7d6; --plain: #c9c9cf; --mean: #0b57a4; --bar: #b45309; }
@media (prefers-color-scheme: dark) { .plot { --ink: #e6e6ea; --soft: #a0a4ab; --rule: #3a3d44; --paper: #17181c;
  --tokens: #3f5f85; --plain: #4a4b52; --mean: #7db7ff; --bar: #f5a04c; } }
.plot text { font: 12px system-ui, sans-serif; fill: var(--soft); }
.plot .paper { fill: var(--paper); } .plot .rule { stroke: var(--rule); }
.plot .tokens { fill: var(--tokens); } .plot .stepped { fill: none; stroke: var(--plain); stroke-width: 1.5; }
.plot .mean { fill: none; stroke: var(--mean); stroke-width: 2; }
.plot .bar { stroke: var(--bar); stroke-width: 1.5; stroke-dasharray: 6 4; }
.plot .flip { stroke: var(--ink); stroke-width: 1.5; stroke-dasharray: 2 3; }
.plot .flip-mark { fill: var(--ink); } .plot .said { fill: var(--ink); }
"""


class Column(NamedTuple):
    """A round, or several where there are more than columns: the mean of their tokens, and if all were plain."""

    tokens: float
    plain: bool
    mean: float


class Frame(NamedTuple):
    """Where values lie in the picture. ``top`` is the value at its upper edge."""

    rounds: int
    top: float

    def x(self, index: float) -> float:
        return _LEFT + (WIDTH - _LEFT - _RIGHT) * index / max(1, self.rounds)

    def y(self, value: float) -> float:
        return HEIGHT - _BOTTOM - (HEIGHT - _TOP - _BOTTOM) * min(value, self.top) / self.top


def svg_chunks(trace: Trace) -> Iterator[str]:
    """A file of its own, light or dark as its viewer is."""
    yield '<?xml version="1.0" encoding="UTF-8"?>\n'
    yield svg(series_of(trace), one_line(trace.header.base.name), style=True)
    yield "\n"


def svg(series: Series, name: str, *, style: bool) -> str:
    """The picture; with ``style`` it brings its own style sheet."""
    columns = columns_of(series)
    frame = Frame(len(series.counts), _ceiling([column.tokens for column in columns], series.bar))
    parts = [
        f'<svg class="plot" xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img">',
        f"<title>Tokens a round of {escape(name)}</title><desc>{escape(summary(series))}</desc>",
        f"<style>{STYLE}</style>" if style else "",
        f'<rect class="paper" width="{WIDTH}" height="{HEIGHT}"/>',
        *_axes(frame),
        *_bars(columns, frame),
        _mean(columns, frame),
        *_lines(series, frame),
        *_legend(series),
        "</svg>",
    ]
    return "\n".join(part for part in parts if part)


def summary(series: Series) -> str:
    """What the picture shows, in words."""
    rounds = len(series.counts)
    flip = "drafting was never switched off" if series.flip is None else f"drafting was off after round {series.flip}"
    bar = f"bar {series.bar:g} over {series.window} rounds" if series.bar else "no bar"
    return f"{rounds} rounds, {sum(series.counts)} tokens, {bar}, {flip}"


def columns_of(series: Series) -> list[Column]:
    """At most ``_COLUMNS`` columns, each over the same number of rounds (the last may have fewer)."""
    size = max(1, math.ceil(len(series.counts) / _COLUMNS))
    made = []
    for start in range(0, len(series.counts), size):
        counts = series.counts[start : start + size]
        means = series.means[start : start + size]
        made.append(Column(sum(counts) / len(counts), all(series.plain[start : start + size]), means[-1]))
    return made


def _ceiling(values: Sequence[float], bar: float) -> float:
    """A round number of tokens above all that is drawn."""
    return float(max(2, math.ceil(max([*values, bar if math.isfinite(bar) else 0.0], default=0.0) * 1.1)))


def _axes(frame: Frame) -> Iterator[str]:
    step = max(1, math.ceil(frame.top / 5))
    for value in range(0, int(frame.top) + 1, step):
        y = frame.y(value)
        yield f'<line class="rule" x1="{_LEFT}" x2="{WIDTH - _RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>'
        yield f'<text x="{_LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{value}</text>'
    for index in _ticks(frame.rounds):
        x = frame.x(index + 0.5)
        yield f'<text x="{x:.1f}" y="{HEIGHT - _BOTTOM + 18}" text-anchor="middle">{index}</text>'
    yield f'<text x="{WIDTH - _RIGHT}" y="{HEIGHT - 6}" text-anchor="end">round</text>'


def _ticks(rounds: int) -> range:
    step = 1
    while rounds / step > 10:
        step *= 5 if str(step).startswith("1") and rounds / step > 20 else 2
    return range(0, rounds, step)


def _bars(columns: list[Column], frame: Frame) -> Iterator[str]:
    width = frame.rounds / max(1, len(columns))
    for place, column in enumerate(columns):
        left, right, y = frame.x(place * width), frame.x((place + 1) * width), frame.y(column.tokens)
        gap = min(1.0, (right - left) / 6)
        shape = "stepped" if column.plain else "tokens"
        yield (
            f'<rect class="{shape}" x="{left + gap:.1f}" y="{y:.1f}" '
            f'width="{max(0.5, right - left - 2 * gap):.1f}" height="{frame.y(0) - y:.1f}"/>'
        )


def _mean(columns: list[Column], frame: Frame) -> str:
    width = frame.rounds / max(1, len(columns))
    points = [
        f"{frame.x((place + 0.5) * width):.1f},{frame.y(column.mean):.1f}"
        for place, column in enumerate(columns)
        if math.isfinite(column.mean)
    ]
    return f'<polyline class="mean" points="{" ".join(points)}"/>' if points else ""


def _lines(series: Series, frame: Frame) -> Iterator[str]:
    if series.bar:
        y = frame.y(series.bar)
        yield f'<line class="bar" x1="{_LEFT}" x2="{WIDTH - _RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>'
        yield f'<text class="said" x="{WIDTH - _RIGHT}" y="{y - 5:.1f}" text-anchor="end">bar {series.bar:g}</text>'
    if series.flip is not None:
        x = frame.x(series.flip + 1)
        anchor = "end" if x > WIDTH * 0.7 else "start"
        yield f'<line class="flip" x1="{x:.1f}" x2="{x:.1f}" y1="{_TOP}" y2="{frame.y(0):.1f}"/>'
        yield f'<path class="flip-mark" d="M{x - 5:.1f} {_TOP - 8}h10l-5 8z"/>'
        offset = -9 if anchor == "end" else 9
        yield (
            f'<text class="said" x="{x + offset:.1f}" y="{_TOP + 4}" text-anchor="{anchor}">'
            f"off after round {series.flip}</text>"
        )


def _legend(series: Series) -> Iterator[str]:
    y = 16
    yield f'<rect class="tokens" x="{_LEFT}" y="{y - 9}" width="10" height="10"/>'
    yield f'<text x="{_LEFT + 16}" y="{y}">tokens a round</text>'
    if any(series.plain):
        yield f'<rect class="stepped" x="{_LEFT + 120}" y="{y - 9}" width="10" height="10"/>'
        yield f'<text x="{_LEFT + 136}" y="{y}">plain</text>'
    if any(map(math.isfinite, series.means)):
        yield f'<line class="mean" x1="{_LEFT + 186}" x2="{_LEFT + 206}" y1="{y - 4}" y2="{y - 4}"/>'
        yield f'<text x="{_LEFT + 212}" y="{y}">mean of the last {series.window}</text>'
