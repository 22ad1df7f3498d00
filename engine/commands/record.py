"""``specstep record``: a run without a screen, written to a trace."""

import datetime
import signal
import threading
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, BinaryIO, Literal, cast

import typer

from engine.commands import progress
from engine.commands.exits import Exit, complain
from engine.commands.outputs import trace_target
from engine.commands.requests import takes_request
from engine.commands.saying import say
from engine.errors import Refused
from engine.loads import key_of

if TYPE_CHECKING:
    from engine.conditions import Lookout
    from engine.recorder import Recorder
    from engine.records import End, Round
    from engine.request import LiveRequest

TEXTS = ("full", "ids", "none")

Output = Annotated[
    str | None,
    typer.Option("--output", "-o", help="The trace to write, - for stdout; by default named after the time."),
]
Text = Annotated[
    str, typer.Option("--text", help="full; ids leaves out the tokens' text; none leaves out the prompt too.")
]
Until = Annotated[
    str | None,
    typer.Option(
        "--until",
        metavar="CONDITION",
        help="Stop after the first round that meets it, as in 'take == 0 and pos > 200'; see specstep conditions.",
        show_default=False,
    ),
]


@takes_request
def record(
    request: "Callable[[], LiveRequest]", output: Output = None, text: Text = "full", until: Until = None
) -> None:
    """Run a model to the end, or until a condition is met, and record every round.

    Prints a summary to stdout (to stderr with -o -). Exit 1 if the run or the recording broke, or the condition was
    never met.
    """
    from engine.conditions import About, Lookout, Stop  # noqa: PLC0415
    from engine.faults.files import damaged  # noqa: PLC0415
    from engine.faults.running import opened  # noqa: PLC0415 (numpy: only for a run)
    from engine.recorder import Recorder  # noqa: PLC0415

    if text not in TEXTS:
        raise Refused(f"--text is {text!r}: use one of {', '.join(TEXTS)}")
    stop = None if until is None else Stop(until)
    wanted = request()
    with progress.shown(key_of(wanted.model, wanted.provider.name, "record")):
        live = opened(wanted)
    with damaged(wanted.fault, _target(output)) as target:
        recorder = Recorder(live, target, text=cast(Literal["full", "ids", "none"], text), on_failure=complain)
        about = About(recorder.header, recorder.prefill, recorder.piece, audited=stop is not None and stop.audited)
        lookout = None if stop is None else Lookout(stop, about)
        interrupted, stopped_at = _run(recorder, lookout)
        end = recorder.end()
    met = "" if stop is None or stopped_at is None else f", stopped at round {stopped_at.index}: {stop.text}"
    say(_summary(end, recorder) + met, err=output == "-")
    for event in recorder.events:
        if event.level != "info" and event.code != "recording-failed":
            complain(event.message)
    if interrupted:
        raise typer.Exit(Exit.INTERRUPTED)
    if stop is not None and stopped_at is None:
        complain(f"no round was stopped at, of {end.rounds}: {stop.text}")
        raise typer.Exit(Exit.NO)
    if end.reason == "fault" or recorder.failure is not None:
        raise typer.Exit(Exit.NO)


def _run(recorder: "Recorder", lookout: "Lookout | None") -> "tuple[bool, Round | None]":
    """Step to the end, or to where the lookout stops.

    Whether it was interrupted, which it can be between two rounds (at once when asked twice), and the round that it
    was stopped at.
    """
    asked = threading.Event()

    def ask(*_: object) -> None:
        asked.set()
        signal.signal(signal.SIGINT, before)

    before = signal.signal(signal.SIGINT, ask)
    try:
        while not asked.is_set() and (round_ := recorder.step()) is not None:
            if lookout is not None and lookout.stops_at(round_, recorder.events):
                return False, round_
    finally:
        signal.signal(signal.SIGINT, before)
    return asked.is_set(), None


def _target(output: str | None) -> Path | BinaryIO:
    return trace_target(Path(f"specstep-{datetime.datetime.now():%Y%m%d-%H%M%S}.msgpack" if output is None else output))


def _summary(end: "End", recorder: "Recorder") -> str:
    stats = end.stats
    parts = [f"{end.emitted} tokens in {end.rounds} rounds, ended: {end.reason}"]
    if stats["tokens_per_round"] is not None:
        parts.append(f"{stats['tokens_per_round']:.2f} tokens per drafted round")
    if stats["speedup"] is not None:
        parts.append(f"speed-up {stats['speedup']:.2f}")
    if end.fell_back_at is not None:
        parts.append(f"fell back at {end.fell_back_at}")
    where = "" if recorder.failure else f"{recorder.path}: " if recorder.path else ""
    return where + ", ".join(parts)
