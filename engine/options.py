"""How a run is to be made, validated in one place."""

import math
from typing import Any

import msgspec

from engine.errors import Refused

FORMS = ("one-pass", "two-pass")
SAMPLERS = ("greedy", "rejection", "gumbel")


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """The options of a run, as in a trace's header.

    ``k`` is how many tokens a round may draft, ``max_tokens`` how many the run may emit, ``tau`` the drafter's
    probability under which a draft is dropped, ``fallback_below`` the bar in tokens a round (0 never falls back) over a
    rolling window of ``fallback_window`` rounds, ``plain_width`` the rows of a plain step (2 makes it the exact twin of
    a verify row).
    """

    form: str = "one-pass"
    k: int = 3
    max_tokens: int = 128
    tau: float = 0.0
    fallback_below: float = 0.0
    fallback_window: int = 3
    temperature: float = 0.0
    top_k: int = 0
    top_p: float = 1.0
    sampler: str = "greedy"
    seed: int = 0
    plain_width: int = 1
    stop_tokens: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        checks = (
            (self.form in FORMS, f"form is {self.form!r}: use one of {', '.join(FORMS)}"),
            (self.k >= 1, f"k is {self.k}: a round drafts at least 1 token"),
            (self.max_tokens >= 1, f"max_tokens is {self.max_tokens}: a run emits at least 1 token"),
            (0 <= self.tau <= 1, f"tau is {self.tau}: a probability is between 0 and 1"),
            (_finite(self.fallback_below), f"fallback_below is {self.fallback_below}: the bar is a number from 0 up"),
            (self.fallback_window >= 1, f"fallback_window is {self.fallback_window}: it holds at least 1 round"),
            (_finite(self.temperature), f"temperature is {self.temperature}: use a number from 0 up"),
            (self.top_k >= 0, f"top_k is {self.top_k}: use 0 for all tokens, or how many to keep"),
            (0 < self.top_p <= 1, f"top_p is {self.top_p}: use a probability above 0, up to 1"),
            (self.sampler in SAMPLERS, f"sampler is {self.sampler!r}: use one of {', '.join(SAMPLERS)}"),
            (0 <= self.seed < 2**63, f"seed is {self.seed}: use a number from 0 up to 2**63 - 1"),
            (self.plain_width in (1, 2), f"plain_width is {self.plain_width}: use 1 or 2"),
            (
                (self.sampler == "greedy") == (self.temperature == 0),
                f"sampler {self.sampler!r} with temperature {self.temperature}: greedy is temperature 0, "
                "rejection and gumbel need one above 0",
            ),
        )
        for holds, message in checks:
            if not holds:
                raise Refused(message)

    def as_map(self) -> dict[str, Any]:
        """The map that stands in a trace's header."""
        return {**msgspec.structs.asdict(self), "stop_tokens": list(self.stop_tokens)}

    @classmethod
    def from_map(cls, options: dict[str, Any]) -> "Options":
        """The known keys of a trace's header; the others are ignored.

        Raises:
            Refused: a value is out of its range or of the wrong type.
        """
        known = {key: value for key, value in options.items() if key in cls.__struct_fields__ and value is not None}
        if known.get("sampler") is None and known.get("temperature"):
            known["sampler"] = "rejection"
        try:
            return msgspec.convert(known, cls)
        except msgspec.ValidationError as error:
            raise Refused(f"options: {error}") from error


def _finite(value: float) -> bool:
    return math.isfinite(value) and value >= 0
