"""The flags of a run, each declared once for all the commands that take it."""

from pathlib import Path
from typing import Annotated

import typer

from engine.commands.run_values import BAR, DRAFTS, WINDOW

Prompt = Annotated[str | None, typer.Option("--prompt", help="The text to continue.")]
PromptFile = Annotated[Path | None, typer.Option("--prompt-file", help="A UTF-8 file with it, or - for stdin.")]
Model = Annotated[
    str,
    typer.Option(
        "--model",
        help="bundled, toy, the name of a model that was added, or a folder: an onnxruntime-genai or Optimum export, "
        "or a bundle of models.",
    ),
]
ModelFile = Annotated[
    str | None,
    typer.Option(
        "--model-file",
        help="Which graph of the folder, as in onnx/model_q4.onnx, if not the usual one.",
        show_default=False,
    ),
]
Chat = Annotated[bool, typer.Option("--chat", help="Put the prompt into the model's chat template.")]
System = Annotated[
    str | None, typer.Option("--system", help="With --chat: what the model is told before.", show_default=False)
]
Drafter = Annotated[
    str,
    typer.Option(
        "--drafter",
        help="auto (the model's first), mtp, dflash, dflash2, lookup[:n=8,min=1,match=latest,adapt=0.1 or off], "
        "draft-model:FOLDER, synthetic[:rates=0.9-0.8,seed=0] or none.",
    ),
]
K = Annotated[int, typer.Option("--k", envvar=DRAFTS, help="How many tokens a round may draft.")]
Form = Annotated[str, typer.Option("--form", help="one-pass or two-pass.")]
MaxTokens = Annotated[int, typer.Option("--max-tokens", help="How many tokens to emit at most.")]
Tau = Annotated[float, typer.Option("--tau", help="Drop drafts from the first one less likely than this; 0 keeps all.")]
FallbackBelow = Annotated[
    str,
    typer.Option(
        "--fallback-below",
        "--fallback",
        envvar=BAR,
        help="The bar in tokens a round; auto: the measured break-even; 0 never falls back.",
    ),
]
FallbackWindow = Annotated[
    int,
    typer.Option("--fallback-window", envvar=WINDOW, help="Rounds in the rolling mean held against the bar."),
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
ProviderName = Annotated[
    str,
    typer.Option(
        "--provider",
        help="What runs the models: an execution provider of onnxruntime, NAME[:key=value,...]; device=cpu|gpu|npu "
        "or a number chooses its device, other keys are its own options.",
    ),
]
ProviderLibrary = Annotated[
    str | None,
    typer.Option(
        "--provider-library",
        help="A plugin provider's library, or the installed package that it came in.",
        show_default=False,
    ),
]
NoFallback = Annotated[
    bool, typer.Option("--no-fallback", help="Refuse a model of which the provider leaves a part to the CPU.")
]
Widths = Annotated[
    str | None,
    typer.Option(
        "--widths",
        help="The rows that a pass may have, as in 1,8,128, for a device with fixed shapes: every pass is padded.",
        show_default=False,
    ),
]
Json = Annotated[bool, typer.Option("--json", help="As JSON.")]
