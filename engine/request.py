"""What to run: models by name, prompt and options, as a value that can be sent to another process."""

from typing import Any, NamedTuple

import msgspec

from engine.options import Options
from engine.provider import Provider


class Setup(NamedTuple):
    """How the graphs of models are run; ``widths`` are the rows that a pass may have, none for any number."""

    provider: Provider = Provider()
    threads: int = 1
    widths: tuple[int, ...] = ()
    plain_width: int = 1


AUTO = "auto"
"""The model's first drafter."""


class LiveRequest(msgspec.Struct, frozen=True, kw_only=True):
    """What to run: ``model`` and ``drafter`` by name, ``stop`` as token texts or ids beside ``options.stop_tokens``.

    ``chat`` puts the prompt, and ``system`` before it, into the model's chat template.

    The model's own stop tokens are added unless ``ignore_model_stops``. ``run`` is for the header. ``fault`` names one
    that is to be put into the run. ``provider``, ``threads`` and ``widths`` are as in ``Setup``.
    """

    prompt: str
    options: Options
    chat: bool = False
    system: str | None = None
    model: str = "bundled"
    drafter: str = AUTO
    stop: tuple[str, ...] = ()
    ignore_model_stops: bool = False
    auto_bar: bool = False
    candidates: int = 5
    threads: int = 1
    provider: Provider = Provider()
    widths: tuple[int, ...] = ()
    run: dict[str, Any] = {}
    fault: str | None = None

    @property
    def setup(self) -> Setup:
        """How it is to be run."""
        return Setup(self.provider, self.threads, self.widths, self.options.plain_width)
