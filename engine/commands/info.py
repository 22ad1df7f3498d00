"""``specstep info``: what is installed here."""

import platform
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from engine import version
from engine.commands import run_options as flag
from engine.commands.json_text import as_lines
from engine.errors import ModelError

if TYPE_CHECKING:
    from engine.execution import Device


def info(provider_library: flag.ProviderLibrary = None, as_json: flag.Json = False) -> None:
    """The version, where it stands, what can run a model here, and the models that come with it."""
    facts = gathered(provider_library)
    if as_json:
        typer.echo(as_lines(facts))
        return
    for key, value in facts.items():
        typer.echo(f"{key:<12} {_in_words(value)}")


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
        "python": f"{platform.python_version()} ({sys.executable})",
        "platform": platform.platform(),
        "onnxruntime": onnxruntime.__version__,
        "providers": onnxruntime.get_available_providers(),
        "devices": [_device(each) for each in execution.devices()],
        **_models(),
    }


def _in_words(value: Any) -> str:
    match value:
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
