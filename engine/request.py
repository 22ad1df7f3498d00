"""What to run: models by name, prompt and options, as a value that can be sent to another process."""

from typing import Any

import msgspec

from engine.options import Options


class LiveRequest(msgspec.Struct, frozen=True, kw_only=True):
    """What to run: ``model`` and ``drafter`` by name, ``stop`` as token texts or ids beside ``options.stop_tokens``.

    The model's own stop tokens are added unless ``ignore_model_stops``. ``run`` is for the header. ``fault`` names one
    that is to be put into the run.
    """

    prompt: str
    options: Options
    model: str = "bundled"
    drafter: str = "mtp"
    stop: tuple[str, ...] = ()
    ignore_model_stops: bool = False
    auto_bar: bool = False
    candidates: int = 5
    threads: int = 1
    run: dict[str, Any] = {}
    fault: str | None = None
