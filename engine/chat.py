"""A model's chat template: makes of a question the text that the model was trained to read."""

import datetime
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from jinja2 import TemplateError
from jinja2.ext import loopcontrols
from jinja2.sandbox import ImmutableSandboxedEnvironment

from engine.errors import ModelError, Refused


class ChatTemplate:
    """A template in Jinja, as transformers keeps it. It is somebody else's program and runs in a sandbox.

    ``tokens`` are the special tokens that it may use by name, ``name`` is where it is from.

    Raises:
        ModelError: it is none.
    """

    def __init__(self, source: str, tokens: Mapping[str, str], name: str) -> None:
        environment = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True, extensions=[loopcontrols])
        environment.filters["tojson"] = _to_json
        environment.globals |= {"raise_exception": _refuse, "strftime_now": _now}
        self._tokens = dict(tokens)
        self._name = name
        try:
            self._template = environment.from_string(source)
        except TemplateError as error:
            raise ModelError(f"{name}: not a chat template: {error}") from error

    def render(self, prompt: str, system: str | None = None) -> str:
        """The conversation up to where the model is to answer.

        Raises:
            Refused: the template will not have it.
        """
        messages = [] if system is None else [{"role": "system", "content": system}]
        messages.append({"role": "user", "content": prompt})
        try:
            return self._template.render(messages=messages, add_generation_prompt=True, **self._tokens)
        except (TemplateError, TypeError, ValueError, ArithmeticError, LookupError, RecursionError) as error:
            raise Refused(f"{self._name}: the chat template refuses this: {error}") from error


def template_of(folder: Path, tokens: Mapping[str, str]) -> ChatTemplate | None:
    """The chat template of a folder, ``None`` if it has none: of a file of its own, or in the tokenizer's.

    Raises:
        ModelError: there is one that cannot be read.
    """
    alone, config = folder / "chat_template.jinja", folder / "tokenizer_config.json"
    try:
        if alone.is_file():
            return ChatTemplate(alone.read_text(encoding="utf-8"), tokens, str(alone))
        if not config.is_file():
            return None
        source = json.loads(config.read_text(encoding="utf-8")).get("chat_template")
    except (OSError, ValueError) as error:
        raise ModelError(f"{alone if alone.is_file() else config}: it cannot be read: {error}") from error
    if isinstance(source, list):
        named = {each.get("name"): each.get("template") for each in source if isinstance(each, dict)}
        source = named.get("default", next(iter(named.values()), None))
    return ChatTemplate(source, tokens, str(config)) if isinstance(source, str) else None


def _refuse(message: str) -> None:
    raise TemplateError(message)


def _now(form: str) -> str:
    return datetime.datetime.now().strftime(form)


def _to_json(value: Any, indent: int | None = None) -> str:
    return json.dumps(value, ensure_ascii=False, indent=indent)
