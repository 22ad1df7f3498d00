"""``specstep record``: a run without a screen, written to a trace."""

import datetime
import signal
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, BinaryIO, Literal, cast

import typer

from engine.commands import run_options as flag
from engine.commands.exits import Exit, complain
from engine.commands.prompts import read_prompt
from engine.errors import Refused

if TYPE_CHECKING:
    from engine.recorder import Recorder
    from engine.records import End

TEXTS = ("full", "ids", "none")

Output = Annotated[
    str | None,
    typer.Option("--output", "-o", help="The trace to write, - for stdout; by default named after the time."),
]
Text = Annotated[
    str, typer.Option("--text", help="full; ids leaves out the tokens' text; none leaves out the prompt too.")
]


def record(
    prompt: flag.Prompt = None,
    prompt_file: flag.PromptFile = None,
    output: Output = None,
    model: flag.Model = "bundled",
    drafter: flag.Drafter = "mtp",
    k: flag.K = 3,
    form: flag.Form = "one-pass",
    max_tokens: flag.MaxTokens = 128,
    tau: flag.Tau = 0.0,
    fallback_below: flag.FallbackBelow = "0",
    fallback_window: flag.FallbackWindow = 3,
    temperature: flag.Temperature = 0.0,
    top_k: flag.TopK = 0,
    top_p: flag.TopP = 1.0,
    sampler: flag.Sampler = None,
    seed: flag.Seed = 0,
    plain_width: flag.PlainWidth = 1,
    stop: flag.Stop = None,
    ignore_stops: flag.IgnoreStops = False,
    candidates: flag.Candidates = 5,
    threads: flag.Threads = 1,
    text: Text = "full",
) -> None:
    """Run a model to the end and record every round.

    Prints a summary to stdout (to stderr with -o -). Exit 1 if the run or the recording broke.
    """
    from engine.live import LiveRequest, open_live  # noqa: PLC0415 (numpy: only for a run)
    from engine.options import Options  # noqa: PLC0415
    from engine.recorder import Recorder  # noqa: PLC0415

    if text not in TEXTS:
        raise Refused(f"--text is {text!r}: use one of {', '.join(TEXTS)}")
    bar = flag.bar_of(fallback_below)
    request = LiveRequest(
        prompt=read_prompt(prompt, prompt_file),
        options=Options(
            form=form,
            k=k,
            max_tokens=max_tokens,
            tau=tau,
            fallback_below=bar or 0.0,
            fallback_window=fallback_window,
            temperature=temperature,
            top_k=top_k,
            top_p=top_p,
            sampler=sampler or ("rejection" if temperature > 0 else "greedy"),
            seed=seed,
            plain_width=plain_width,
        ),
        model=model,
        drafter=drafter,
        stop=tuple(stop or ()),
        ignore_model_stops=ignore_stops,
        auto_bar=bar is None,
        candidates=candidates,
        threads=threads,
    )
    live = open_live(request)
    recorder = Recorder(live, _target(output), text=cast(Literal["full", "ids", "none"], text), on_failure=complain)
    interrupted = _run(recorder)
    end = recorder.end()
    typer.echo(_summary(end, recorder), err=output == "-")
    for event in recorder.events:
        if event.level != "info" and event.code != "recording-failed":
            complain(event.message)
    if interrupted:
        raise typer.Exit(Exit.INTERRUPTED)
    if end.reason == "fault" or recorder.failure is not None:
        raise typer.Exit(Exit.NO)


def _run(recorder: "Recorder") -> bool:
    """Step to the end; whether it was interrupted, which it can be between two rounds (at once when asked twice)."""
    asked = threading.Event()

    def ask(*_: object) -> None:
        asked.set()
        signal.signal(signal.SIGINT, before)

    before = signal.signal(signal.SIGINT, ask)
    try:
        while not asked.is_set() and recorder.step() is not None:
            pass
    finally:
        signal.signal(signal.SIGINT, before)
    return asked.is_set()


def _target(output: str | None) -> Path | BinaryIO:
    if output == "-":
        if sys.stdout.isatty():
            raise Refused("a trace is binary: give -o FILE, or send stdout to a file or a pipe")
        buffered = sys.stdout.buffer
        return cast(BinaryIO, getattr(buffered, "raw", buffered))
    if output is None:
        return Path(f"specstep-{datetime.datetime.now():%Y%m%d-%H%M%S}.msgpack")
    return Path(output)


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
