"""The flags of a run, each declared once for all the commands that take it."""

from pathlib import Path
from typing import Annotated

import typer

from engine.errors import Refused

Prompt = Annotated[str | None, typer.Option("--prompt", help="The text to continue.")]
PromptFile = Annotated[Path | None, typer.Option("--prompt-file", help="A UTF-8 file with it, or - for stdin.")]
Model = Annotated[str, typer.Option("--model", help="bundled, toy, or a folder of models.")]
Drafter = Annotated[
    str,
    typer.Option(
        "--drafter",
        help="mtp, dflash, dflash2, lookup[:n=3,min=2,match=latest], draft-model:FOLDER, "
        "synthetic[:rates=0.9-0.8,seed=0] or none.",
    ),
]
K = Annotated[int, typer.Option("--k", envvar="DFLASH2_K", help="How many tokens a round may draft.")]
Form = Annotated[str, typer.Option("--form", help="one-pass or two-pass.")]
MaxTokens = Annotated[int, typer.Option("--max-tokens", help="How many tokens to emit at most.")]
Tau = Annotated[float, typer.Option("--tau", help="Drop drafts from the first one less likely than this; 0 keeps all.")]
FallbackBelow = Annotated[
    str,
    typer.Option(
        "--fallback-below",
        "--fallback",
        envvar="DFLASH2_FALLBACK",
        help="The bar in tokens a round; auto: the measured break-even; 0 never falls back.",
    ),
]
FallbackWindow = Annotated[
    int,
    typer.Option(
        "--fallback-window", envvar="DFLASH2_FALLBACK_ROUNDS", help="Rounds in the rolling mean held against the bar."
    ),
]
Temperature = Annotated[float, typer.Option("--temperature", help="0 is greedy.")]
TopK = Annotated[int, typer.Option("--top-k", help="Sample from so many tokens; 0 for all.")]
TopP = Annotated[float, typer.Option("--top-p", help="Sample from the smallest set that reaches this probability.")]
Sampler = Annotated[
    str | None,
    typer.Option("--sampler", help="greedy, gumbel or rejection; by default greedy, or rejection above temperature 0."),
]
Seed = Annotated[int, typer.Option("--seed", help="A sampled run is a function of it.")]
PlainWidth = Annotated[
    int, typer.Option("--plain-width", help="Rows of a plain step; 2 makes it the exact twin of a verify row.")
]
Stop = Annotated[
    list[str] | None,
    typer.Option("--stop", help="A token to stop at, as its text or its id; may be given again.", show_default=False),
]
IgnoreStops = Annotated[bool, typer.Option("--ignore-stops", help="Do not stop at the model's own stop tokens.")]
Candidates = Annotated[int, typer.Option("--candidates", min=0, help="How many candidates of each row to record.")]
Threads = Annotated[int, typer.Option("--threads", min=1, help="Threads of one operator of a model.")]
Json = Annotated[bool, typer.Option("--json", help="As JSON.")]


def bar_of(text: str) -> float | None:
    """The fallback's bar, ``None`` for "auto".

    Raises:
        Refused: it is neither a number nor "auto".
    """
    if text == "auto":
        return None
    try:
        return float(text)
    except ValueError as error:
        raise Refused(f"--fallback-below is {text!r}: give a number of tokens a round, or auto") from error
