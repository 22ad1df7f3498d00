"""``specstep``: the screen over a trace or a live run; any other first word is a command without a screen."""

import os
import sys
from collections.abc import Callable, MutableMapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from engine.commands import run_options as flag
from engine.commands.exits import complain, exit_of
from engine.commands.prompts import read_prompt
from engine.errors import Refused, SpecstepError, TraceError

if TYPE_CHECKING:
    from engine.live import LiveRequest
    from engine.records import RoundSource
    from tui.live import LiveSource

NO_TERMINAL = "the screen needs a terminal; without one use `specstep stats TRACE` or `specstep record`"
THEMES = ("specstep-dark", "specstep-light", "ansi-dark", "ansi-light")

Trace = Annotated[
    Path | None,
    typer.Argument(metavar="[TRACE]", help="A trace to replay; without one a live run.", show_default=False),
]
Record = Annotated[Path | None, typer.Option("--record", help="Record the live run to this trace.", show_default=False)]
Ascii = Annotated[bool, typer.Option("--ascii", help="Draw with ASCII only.")]
NoMouse = Annotated[bool, typer.Option("--no-mouse", help="Leave the mouse to the terminal.")]
Theme = Annotated[str, typer.Option("--theme", help=f"One of {', '.join(THEMES)}.")]

screen_app = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)


def main() -> None:
    """The ``specstep`` command."""
    from engine.cli import app, names  # noqa: PLC0415 (its commands import what they need)

    try:
        if "_SPECSTEP_COMPLETE" in os.environ or (sys.argv[1:2] and sys.argv[1] in names()):
            app()
        else:
            screen_app()
    except SpecstepError as error:
        complain(str(error))
        sys.exit(exit_of(error))


@screen_app.command(
    name="specstep",
    epilog="Commands without a screen: record, stats, show, probe, info; see specstep COMMAND --help. "
    "A model's options are for a live run.",
)
def screen(
    trace: Trace = None,
    prompt: flag.Prompt = None,
    prompt_file: flag.PromptFile = None,
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
    record: Record = None,
    ascii_only: Ascii = False,
    no_mouse: NoMouse = False,
    theme: Theme = THEMES[0],
) -> None:
    """A terminal debugger for speculative decoding.

    Replays TRACE, or runs a model live and steps through its rounds.
    """
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise Refused(NO_TERMINAL)
    if theme not in THEMES:
        raise Refused(f"--theme is {theme!r}: use one of {', '.join(THEMES)}")
    if trace is not None:
        if record is not None:
            raise Refused("--record is for a live run, a trace is recorded already")
        if not trace.exists():
            raise TraceError(f"{trace}: no such file, and no command of that name; see specstep --help")
        show(lambda: _open_trace(trace), f"opening {trace.name}", theme, ascii_only=ascii_only, mouse=not no_mouse)
        return
    from engine.live import LiveRequest  # noqa: PLC0415 (numpy: only for a live run)
    from engine.options import Options  # noqa: PLC0415

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
    live = Live(request, record)
    try:
        show(live.open, "loading the model and reading the prompt", theme, ascii_only=ascii_only, mouse=not no_mouse)
    finally:
        live.close()


class Live:
    """A live run that is opened when the screen is up, and whose recording is ended when the screen is gone."""

    def __init__(self, request: "LiveRequest", record: Path | None) -> None:
        self._request, self._record = request, record
        self._source: LiveSource | None = None

    def open(self) -> "LiveSource":
        """Load the model, read the prompt, begin the recording.

        Raises:
            SpecstepError: any of it cannot be done.
        """
        from engine.live import open_live  # noqa: PLC0415 (onnxruntime: after the first paint)
        from engine.recorder import Recorder  # noqa: PLC0415
        from tui.live import LiveSource  # noqa: PLC0415

        live = open_live(self._request)
        self._source = LiveSource(live if self._record is None else Recorder(live, self._record))
        return self._source

    def close(self) -> None:
        """End the recording, after the round that may still be running."""
        if self._source is not None:
            self._source.close()


def show(
    opener: Callable[[], "RoundSource"], waiting: str, theme: str, *, ascii_only: bool = False, mouse: bool = True
) -> None:
    """Run the screen over what ``opener`` gives, until it is left.

    Raises:
        SpecstepError: the source could not be opened.
    """
    theme = obey_no_color(os.environ, theme)
    from tui.app import SpecstepApp  # noqa: PLC0415 (Textual: only for the screen)
    from tui.marks import ASCII, UNICODE  # noqa: PLC0415

    app = SpecstepApp(opener, ASCII if ascii_only else UNICODE, waiting=waiting, theme=theme)
    error = app.run(mouse=mouse)
    if error is not None:
        raise error
    if app.return_code:
        sys.exit(app.return_code)


def obey_no_color(environ: MutableMapping[str, str], theme: str) -> str:
    """The theme to use: with NO_COLOR one that sends no colours. An empty NO_COLOR means nothing, and is removed.

    Textual must find such a theme in place when the app is made: set later, it would turn every colour to grey.
    """
    if environ.get("NO_COLOR"):
        theme = theme if theme.startswith("ansi-") else "ansi-dark"
        environ["TEXTUAL_THEME"] = theme
        return theme
    environ.pop("NO_COLOR", None)
    return theme


def _open_trace(path: Path) -> "RoundSource":
    from engine.trace.reader import open_trace  # noqa: PLC0415 (numpy: after the first paint)

    return open_trace(path)
