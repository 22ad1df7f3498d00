"""``specstep info``: what is installed here."""

import platform
import sys
from pathlib import Path
from typing import Any

import typer

from engine import paths, version
from engine.commands import run_options as flag
from engine.commands.json_text import as_lines
from engine.errors import ModelError


def info(as_json: flag.Json = False) -> None:
    """The version, where it stands, what can run a model here, and the models that come with it."""
    facts = gathered()
    if as_json:
        typer.echo(as_lines(facts))
        return
    for key, value in facts.items():
        typer.echo(f"{key:<12} {_in_words(value)}")


def gathered() -> dict[str, Any]:
    """The facts by name."""
    import onnxruntime  # noqa: PLC0415 (slow to import)

    return {
        "specstep": version.VERSION,
        "path": str(Path(__file__).parents[1]),
        "config": str(paths.config_file()),
        "recent": str(paths.recent_file()),
        "added": str(paths.models_dir()),
        "python": f"{platform.python_version()} ({sys.executable})",
        "platform": platform.platform(),
        "onnxruntime": onnxruntime.__version__,
        "providers": onnxruntime.get_available_providers(),
        **_models(),
    }


def _in_words(value: Any) -> str:
    match value:
        case dict():
            return ", ".join(f"{name} {entry}" for name, entry in value.items())
        case list():
            return ", ".join(value)
        case _:
            return str(value)


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
