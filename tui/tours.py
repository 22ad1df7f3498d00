"""Guided tours: a few stops over real recordings, each with a caption. The stops are found in the data. No Textual."""

from enum import StrEnum
from pathlib import Path
from typing import NamedTuple

import recordings
from engine.errors import TraceError
from engine.records import Round
from engine.trace.audit import Finding, report
from engine.trace.reader import Trace, open_trace
from engine.whatif import Rule
from engine.whatif.answer import flip_words
from tui import layout
from tui.series import Fact, Series
from tui.story import tokens
from tui.whatif import WhatIf

_FOLDER = Path(recordings.__file__).parent
_SHOWN = ("kv-not-rolled-back", "anchor-lost", "fallback-tumbling")
"""The faults of the tour: one of the cache, one of the tokens, one of the fallback."""


class Story(StrEnum):
    """What a tour is about."""

    FALLBACK = "fallback"
    FAULTS = "faults"


class Stop(NamedTuple):
    """Round ``at`` of a recording, the pane to look at, and what there is to see; in a what-if, if one is ``asked``."""

    title: str
    says: str
    trace: Path
    at: int
    pane: int
    asked: Rule | None = None


def first_trace(story: Story) -> Path:
    """The recording that a tour begins in."""
    return _FOLDER / "flip.msgpack" if story is Story.FALLBACK else _FOLDER / "faults" / f"{_SHOWN[0]}.msgpack"


def stops(story: Story) -> list[Stop]:
    """The stops of a tour.

    Raises:
        TraceError: a recording cannot be read, or does not hold what it is there to show.
    """
    if story is Story.FALLBACK:
        with open_trace(first_trace(story)) as trace:
            return _fallback(trace)
    return _faults(_FOLDER / "faults")


def _fallback(trace: Trace) -> list[Stop]:
    series = Series(trace)
    series.take_in(len(trace))
    flip = series.flip
    if flip is None or series.break_even is None:
        raise TraceError(f"{trace.path}: does not fall back, there is nothing to show a tour of")
    facts = series.facts.values
    paid = next((i for i in range(flip) if facts[i] & Fact.ALL), 0)
    last = next((i for i in range(flip, -1, -1) if facts[i] & Fact.ALL), paid)
    poor = next((i for i in range(last + 1, flip) if facts[i] & Fact.NONE), flip - 1)
    bar, window = (trace.header.options[f"fallback_{name}"] for name in ("below", "window"))
    asked = WhatIf(trace, series)
    asked.to_even()
    before, at = series.mean(flip - 1), series.mean(flip)

    def stop(title: str, says: str, index: int, pane: int, rule: Rule | None = None) -> Stop:
        return Stop(title, says, trace.path, index, pane, rule)

    return [
        stop(
            "A round",
            f"A recording of the bundled models on a CPU. The drafter proposes tokens, the base checks them all in one "
            f"pass: {_kept(trace.round(0))}. A rejected draft costs time, never a wrong token.",
            0,
            layout.ROUND,
        ),
        stop(
            "Drafting pays on code",
            f"The base goes on with a Python file, and the drafter knows how: {_kept(trace.round(paid))}. A drafted "
            f"round costs as much as {series.break_even:.2f} plain steps, so that many tokens pay for it.",
            paid,
            layout.ROUND,
        ),
        stop(
            "Prose begins",
            f"Round {last} was the last in which every draft was right. Now the text is a story, which the drafter "
            f"never learned: {_kept(trace.round(poor))}.",
            poor,
            layout.ROUND,
        ),
        stop(
            "The mean sinks",
            f"The curve is the mean of tokens a round over {window} rounds: {before:.2f} here, still not below the bar "
            f"of {bar:g}. The fallback waits: one poor round means nothing.",
            flip - 1,
            layout.FALLBACK,
        ),
        stop(
            "The flip",
            f"One round later it is {at:.2f}, below {bar:g}: drafting is given up, here and for good.",
            flip,
            layout.FALLBACK,
        ),
        stop(
            "Plain decode",
            "From here on one token a pass, and no time spent on drafts. The text is what it would have been with "
            "them; only how long it takes is another thing.",
            min(flip + 3, len(trace) - 1),
            layout.TEXT,
        ),
        stop(
            "What if",
            f"Was the bar right? With the bar at the break-even, {asked.bar:.2f}: {flip_words(asked.answer)}. Up and "
            f"down move the bar, the marks move along; esc leaves the tour, and then the what-if.",
            flip,
            layout.FALLBACK,
            Rule(asked.bar, asked.window),
        ),
    ]


def _faults(folder: Path) -> list[Stop]:
    found = [stop for name in _SHOWN for stop in _fault(folder / f"{name}.msgpack")]
    last = found[-1]
    over = (
        "O lists a recording of every fault there is; specstep audit FILE says without a screen what stands here, and "
        "specstep record --fault NAME makes one. Now look around: e goes from finding to finding."
    )
    return [*found, last._replace(title="The findings", says=over, pane=layout.FINDINGS)]


def _fault(path: Path) -> list[Stop]:
    with open_trace(path) as trace:
        finding = next((each for each in report(trace).findings if each.round is not None), None)
        if finding is None or finding.round is None:
            raise TraceError(f"{path}: the audit finds nothing in it, there is nothing to show a tour of")
        injected = trace.header.run.get("injected", "")
        done = f"A fault was put into this run. {injected} The text does not look wrong: who would see it?"
        return [
            Stop(path.stem, done, path, 0, layout.TEXT),
            Stop(f"{path.stem}: rule {finding.rule}", finding.message, path, finding.round, _pane_of(finding)),
        ]


def _pane_of(finding: Finding) -> int:
    return layout.FALLBACK if (finding.field or "").startswith("fallback") else layout.ROUND


def _kept(round_: Round) -> str:
    return f"{round_.take} of {round_.drafted} drafts accepted, {tokens(round_.count)} out of one pass"
