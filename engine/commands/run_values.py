"""What the values of a run's flags mean, and the variables that stand in for some of them. No Typer."""

from pathlib import Path
from typing import TYPE_CHECKING

from engine.errors import Refused

if TYPE_CHECKING:
    from engine.provider import Provider

DRAFTS, BAR, WINDOW = "DFLASH2_K", "DFLASH2_FALLBACK", "DFLASH2_FALLBACK_ROUNDS"
"""Variables of the environment: defaults of ``--k``, ``--fallback-below`` and ``--fallback-window``."""
VARIABLES = frozenset((DRAFTS, BAR, WINDOW))


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


_NO_FOLDERS = ("bundled", "toy", "toy-hybrid")


def model_of(model: str, file: str | None) -> str:
    """The model, with a graph chosen inside its folder, which may be on an engine's machine.

    Raises:
        Refused: there is no folder to choose in, or the graph is not named inside it.
    """
    if file is None:
        return model
    if model in _NO_FOLDERS:
        raise Refused(f"--model-file is {file!r}: it needs --model FOLDER to choose in")
    if Path(file).suffix != ".onnx" or Path(file).is_absolute():
        raise Refused(f"--model-file is {file!r}: give a graph inside the folder, as in onnx/model_q4.onnx")
    return str(Path(model) / file)


def chat_of(chat: bool, system: str | None) -> bool:
    """Whether to put the prompt into the chat template.

    Raises:
        Refused: there is a system prompt and nothing to put it into.
    """
    if system is not None and not chat:
        raise Refused("--system is what a chat template puts before the prompt: give --chat too")
    return chat


def provider_of(name: str, library: str | None, no_fallback: bool) -> "Provider":
    """The provider that the flags name.

    Raises:
        Refused: ``name`` is not of the form that it has to be.
    """
    from engine.provider import parse  # noqa: PLC0415 (msgspec: only for a run)

    return parse(name, library=library, fallback=not no_fallback)


def widths_of(text: str | None) -> tuple[int, ...]:
    """The widths between commas, none for ``None``.

    Raises:
        Refused: they are no ascending numbers.
    """
    from engine.compiled import parse  # noqa: PLC0415 (msgspec: only for a run)

    return () if text is None else parse(text)
