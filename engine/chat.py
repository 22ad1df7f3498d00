"""A model's chat template: makes of a question the text that the model was trained to read."""

import datetime
import json
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

from jinja2 import TemplateError, nodes
from jinja2.ext import Extension, loopcontrols
from jinja2.parser import Parser
from jinja2.sandbox import ImmutableSandboxedEnvironment

from engine.errors import ModelError, Refused
from engine.unloadable import text_of

STEPS = 1_000_000
"""A template that runs so many of its lines does not come to an end."""

_CODE = "<template>"
"""What Jinja calls the file of a template's code."""
_WRONG = (
    TemplateError,
    TypeError,
    ValueError,
    ArithmeticError,
    LookupError,
    AttributeError,
    RecursionError,
    MemoryError,
)
"""What running a template can raise: it is a program, and may be a wrong one."""


class _Generation(Extension):
    """``{% generation %}`` marks, for training, what the model wrote: what is in it stands as it is."""

    tags = {"generation"}  # noqa: RUF012 (Jinja's own form)

    def parse(self, parser: Parser) -> list[nodes.Node]:
        next(parser.stream)
        return list(parser.parse_statements(("name:endgeneration",), drop_needle=True))


class ChatTemplate:
    """A template in Jinja, as transformers keeps it. It is somebody else's program and runs in a sandbox.

    ``tokens`` are the special tokens that it may use by name, ``name`` is where it is from.

    Raises:
        ModelError: it is none.
    """

    def __init__(self, source: str, tokens: Mapping[str, str], name: str) -> None:
        environment = ImmutableSandboxedEnvironment(
            trim_blocks=True, lstrip_blocks=True, extensions=[loopcontrols, _Generation]
        )
        environment.filters["tojson"] = _to_json
        environment.globals |= {"raise_exception": _refuse, "strftime_now": _now}
        self._tokens = dict(tokens)
        self._name = name
        try:
            self._template = environment.from_string(source)
        except (TemplateError, RecursionError) as error:
            raise ModelError(f"{name}: not a chat template: {error}") from error

    def render(self, prompt: str, system: str | None = None) -> str:
        """The conversation up to where the model is to answer.

        Raises:
            Refused: the template will not have it, or does not come to an end.
        """
        messages = [] if system is None else [{"role": "system", "content": system}]
        messages.append({"role": "user", "content": prompt})
        given = {"messages": messages, "tools": None, "documents": None, "add_generation_prompt": True}
        try:
            with _steps_counted():
                return self._template.render(**given, **self._tokens)
        except _WRONG as error:
            said = str(error) or "it takes more memory than there is"
            raise Refused(f"{self._name}: the chat template refuses this: {said}") from error


def template_of(folder: Path, tokens: Mapping[str, str]) -> ChatTemplate | None:
    """The chat template of a folder, ``None`` if it has none: of a file of its own, or in the tokenizer's.

    Raises:
        ModelError: there is one that cannot be read.
    """
    alone, config = folder / "chat_template.jinja", folder / "tokenizer_config.json"
    if alone.is_file():
        return ChatTemplate(text_of(alone), tokens, str(alone))
    if not config.is_file():
        return None
    try:
        source = json.loads(text_of(config)).get("chat_template")
    except (ValueError, AttributeError, RecursionError) as error:
        raise ModelError(f"{config}: not JSON, or cut short ({error}): fetch it again") from error
    if isinstance(source, list):
        named = {each.get("name"): each.get("template") for each in source if isinstance(each, dict)}
        source = named.get("default", next(iter(named.values()), None))
    return ChatTemplate(source, tokens, str(config)) if isinstance(source, str) else None


@contextmanager
def _steps_counted() -> Iterator[None]:
    """Stop a template after ``STEPS`` of its lines: loops within loops are soon too many for anybody to wait for.

    Raises:
        TemplateError: it went on.
    """
    left = STEPS

    def traced(frame: FrameType, event: str, _: object) -> Any:
        nonlocal left
        if frame.f_code.co_filename != _CODE:
            return None
        left -= event == "line"
        if left < 0:
            raise TemplateError(f"it does not come to an end within {STEPS:,} steps")
        return traced

    before = sys.gettrace()
    sys.settrace(traced)
    try:
        yield
    finally:
        sys.settrace(before)


def _refuse(message: str) -> None:
    raise TemplateError(message)


def _now(form: str) -> str:
    return datetime.datetime.now().strftime(form)


def _to_json(value: Any, indent: int | None = None, **form: Any) -> str:
    """``form`` is what else transformers takes: ``ensure_ascii``, ``separators``, ``sort_keys``."""
    return json.dumps(value, indent=indent, **{"ensure_ascii": False, **form})
