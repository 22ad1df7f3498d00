"""A fault as a value: what goes wrong, what shows it, how it is injected, and the run that it is shown on."""

import dataclasses
from collections.abc import Callable
from enum import StrEnum
from typing import BinaryIO

from engine.live import Stepper
from engine.loop import Rules
from engine.opening import BUNDLED, TOY, Models
from engine.options import Options
from engine.request import LiveRequest

MEAN = 'def mean(data):\n    """Return the sample arithmetic mean of data.\n'
CODE = '"""Conversion functions between RGB and other color systems.\n'
PROSE = "In the beginning God created the heaven and the earth.\n"
RIGHT = Rules()
"""The rules of speculative decoding."""


class Beside(StrEnum):
    """What shows a fault that no rule of the audit can find, or shows it beside them."""

    PLAIN = "the text parts from plain decode"
    TIE = "the text parts from plain decode at a top-1/top-2 gap near zero: a tie, not a defect"
    ACCEPTANCE = "fewer drafts are accepted than in a right run"
    DRAFTS = "the drafts part from those of a right run behind the same text"
    CHOICES = "a choice parts from that of a right run with the same drafts, probabilities and seed"
    DISTRIBUTION = "the distribution over many runs"
    READER = "the reader says at which byte and record"
    SCREEN = "the display of the tokens"


@dataclasses.dataclass(frozen=True, kw_only=True)
class Fault:
    """One kind of fault.

    ``rules`` are the audit's that find it, ``beside`` what else shows it. It is injected by any of the last five:
    other models, other rules, another request than the header tells, what is told of the run, and what becomes of the
    file's bytes. ``shown`` is the run it is shown on. ``samplers`` are those it can be injected under.
    """

    name: str
    sentence: str
    rules: tuple[str, ...] = ()
    beside: Beside | None = None
    shown: LiveRequest
    samplers: tuple[str, ...] = ("greedy", "gumbel", "rejection")
    models: Callable[[Models], Models] = lambda models: models
    decides: Rules = RIGHT
    request: Callable[[LiveRequest], LiveRequest] = lambda request: request
    tell: Callable[[Stepper, LiveRequest], Stepper] = lambda source, _: source
    stream: Callable[[BinaryIO], BinaryIO] | None = None


def on_code(drafter: str = "mtp", prompt: str = CODE, **options: object) -> LiveRequest:
    """A run of the bundled models on code, which its drafters know."""
    return _request(prompt, drafter, options)


def on_prose(drafter: str = "mtp", **options: object) -> LiveRequest:
    """A run of the bundled models on prose, where they know little."""
    return _request(PROSE, drafter, options)


def on_toy(takes: str, *, model: str = TOY, **options: object) -> LiveRequest:
    """A run of a toy, whose drafter is right about as many drafts a round as ``takes`` says."""
    return _request("hello", f"scripted:takes={takes}", options, model)


def _request(prompt: str, drafter: str, options: dict[str, object], model: str = BUNDLED) -> LiveRequest:
    return LiveRequest(
        prompt=prompt,
        options=Options.from_map({"k": 4, "max_tokens": 48, **options}),
        model=model,
        drafter=drafter,
        candidates=0,
        ignore_model_stops=True,
    )
