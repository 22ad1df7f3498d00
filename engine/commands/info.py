"""``specstep info``: what is installed here."""

import platform
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from engine import paths, version
from engine.commands import progress, run_values
from engine.commands import run_options as flag
from engine.commands.json_text import as_lines
from engine.commands.saying import say
from engine.errors import ModelError
from engine.loads import key_of

if TYPE_CHECKING:
    from engine.execution import Device
    from engine.provider import Provider

Model = Annotated[
    str | None,
    typer.Option("--model", help="A model to look at: a folder, bundled or toy.", show_default=False),
]


def info(
    model: Model = None,
    model_file: flag.ModelFile = None,
    provider: flag.ProviderName = "cpu",
    provider_library: flag.ProviderLibrary = None,
    threads: flag.Threads = 1,
    as_json: flag.Json = False,
) -> None:
    """The version, where it stands, what can run a model here, and the models that come with it.

    With --model, that model in place of all this: what it is, what it can do, what ran where.
    """
    if model is not None:
        place = run_values.provider_of(provider, provider_library, no_fallback=False)
        _tell_of(run_values.model_of(model, model_file), place, threads, as_json=as_json)
        return
    facts = gathered(provider_library)
    if as_json:
        say(as_lines(facts))
        return
    for key, value in facts.items():
        for name, entry in value.items() if key == "paths" else [(key, value)]:
            say(f"{name:<12} {_in_words(entry)}")


def gathered(library: str | None = None) -> dict[str, Any]:
    """The facts by name, with the providers of a plugin's ``library``.

    Raises:
        ModelError: the library is none.
    """
    import onnxruntime  # noqa: PLC0415 (slow to import, as what follows)

    from engine import execution  # noqa: PLC0415

    if library is not None:
        execution.register(library)

    return {
        "specstep": version.VERSION,
        "path": str(Path(__file__).parents[1]),
        "paths": {name: {"path": str(path), "exists": path.exists()} for name, path in paths.every().items()},
        "python": f"{platform.python_version()} ({sys.executable})",
        "platform": platform.platform(),
        "onnxruntime": onnxruntime.__version__,
        "providers": onnxruntime.get_available_providers(),
        "devices": [_device(each) for each in execution.devices()],
        **_models(),
    }


def _tell_of(model: str, provider: "Provider", threads: int, *, as_json: bool) -> None:
    """Load a model and tell what is found out about it.

    Raises:
        ModelError: it cannot be loaded, or cannot do what is needed.
    """
    import msgspec  # noqa: PLC0415 (this and what follows: only for a model)

    from engine.about import facts  # noqa: PLC0415
    from engine.opening import open_models  # noqa: PLC0415
    from engine.request import Setup  # noqa: PLC0415

    with progress.shown(key_of(model, provider.name, "info")):
        models = open_models(model, Setup(provider, threads))
    drafters = [*models.drafters, "draft-model:FOLDER", "none"]
    notes = [event.message for event in models.events()]
    if as_json:
        base = msgspec.to_builtins(models.base.info)
        whole = {"base": base, "model": models.about, "device": models.device(), "drafters": drafters, "notes": notes}
        say(as_lines(whole))
        return
    told = [*facts(models.base.info, models.about, models.device()), ("drafters", ", ".join(drafters))]
    for about, says in [*told, *(("note", note) for note in notes)]:
        say(f"{about:<12} {says}")


def _in_words(value: Any) -> str:
    match value:
        case {"path": path, "exists": exists}:
            return path if exists else f"{path} (not there)"
        case dict():
            return ", ".join(f"{name} {entry}" for name, entry in value.items())
        case list():
            return (
                f"\n{'':<12} ".join(map(_in_words, value)) if value and isinstance(value[0], dict) else ", ".join(value)
            )
        case _:
            return str(value)


def _device(device: "Device") -> dict[str, Any]:
    """What is known of a device."""
    return {name: value for name, value in device._asdict().items() if value}


def _models() -> dict[str, Any]:
    from engine.models.bundled import open_bundle  # noqa: PLC0415

    try:
        manifest = open_bundle().manifest
    except ModelError as error:
        return {"models": f"none usable: {error}"}
    return {
        "base": {"name": manifest.name, "sha256": manifest.base.sha256},
        "drafters": {kind: entry.sha256 for kind, entry in sorted(manifest.drafters.items())},
    }
