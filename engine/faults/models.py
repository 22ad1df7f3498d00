"""Puts a fault around the base or the drafters of open models."""

import dataclasses
from collections.abc import Callable, Sequence

from engine.base.base import Base
from engine.drafters.drafter import Drafter
from engine.opening import Models
from engine.options import Options

Wrap = Callable[[Models], Models]


def with_base(wrap: Callable[[Base], Base]) -> Wrap:
    """Put ``wrap`` around the base."""
    return lambda models: dataclasses.replace(models, base=wrap(models.base))


def with_drafter(wrap: Callable[[Drafter], Drafter | None]) -> Wrap:
    """Put ``wrap`` around every drafter that is opened, for a later fork too."""

    def wrapped(models: Models) -> Models:
        def drafter(spec: str, text: Sequence[int] = (), options: Options = Options()) -> Drafter | None:  # noqa: B008 (a frozen value)
            opened = models.drafter(spec, text, options)
            return None if opened is None else wrap(opened)

        return dataclasses.replace(models, drafter=drafter)

    return wrapped


def with_both(base: Base, wrap: Callable[[Drafter], Drafter | None]) -> Wrap:
    """Take ``base`` in place of the models' own, and put ``wrap``, which knows of it, around every drafter."""
    return lambda models: with_drafter(wrap)(with_base(lambda _: base)(models))
