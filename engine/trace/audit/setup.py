"""What a header says of a run, as far as it is known. An audit assumes nothing that is not written."""

import math
from typing import Any

import msgspec

from engine.options import SAMPLERS
from engine.records import Header

_POLICY_WORDS = ("policy", "cooldown", "reprobe", "probe", "adaptive")
_NOTHING = (None, False, 0, "", "none", "off", "latch")


class Setup(msgspec.Struct, frozen=True, kw_only=True):
    """The known keys of a header; ``None`` is unknown.

    ``sampler`` is ``None`` where neither it nor a temperature of 0 is written; ``other_sampler`` says that the rule of
    acceptance is one this audit does not know. ``resumes`` is true where a policy may take up drafting again after the
    fallback. The rounds before ``forked_at`` were made by other options and taken over by a fork.
    """

    detail: str = "full"
    vocab: int | None = None
    prompt: int | None = None
    form: str | None = None
    k: int | None = None
    max_tokens: int | None = None
    stops: frozenset[int] | None = None
    sampler: str | None = None
    other_sampler: bool = False
    below: float | None = None
    window: int | None = None
    resumes: bool = False
    drafter: str | None = None
    pads: frozenset[int] = frozenset({0})
    forked_at: int = 0

    @property
    def matches(self) -> bool:
        """Whether a draft is accepted when it equals the base's choice (greedy, gumbel, or not known otherwise)."""
        return self.sampler != "rejection" and not self.other_sampler

    @property
    def flips_coins(self) -> bool:
        """Whether recorded uniform numbers decide (rejection, or not known otherwise)."""
        return self.sampler in ("rejection", None) and not self.other_sampler

    @property
    def looks_up(self) -> bool:
        """Whether the drafter copies earlier text: it costs next to nothing and is either right or far off."""
        kind = (self.drafter or "").lower()
        return "lookup" in kind or "ngram" in kind or "n-gram" in kind or "suffix" in kind

    @classmethod
    def of(cls, header: Header) -> "Setup":
        """Read a header. A value of the wrong type counts as unknown."""
        options = header.options
        sampler, temperature = options.get("sampler"), _number(options.get("temperature"))
        if sampler is None and temperature == 0:
            sampler = "greedy"
        stops = options.get("stop_tokens")
        mask = header.drafter.mask_token if header.drafter else None
        return cls(
            detail=header.detail,
            vocab=header.base.vocab_size if header.base.vocab_size > 0 else None,
            prompt=len(header.prompt) if header.prompt is not None else None,
            form=options.get("form") if isinstance(options.get("form"), str) else None,
            k=_count(options.get("k")),
            max_tokens=_count(options.get("max_tokens")),
            stops=frozenset(stops) if isinstance(stops, list | tuple) and all(map(_is_int, stops)) else None,
            sampler=sampler if sampler in SAMPLERS else None,
            other_sampler=(sampler is not None and sampler not in SAMPLERS) or (sampler is None and bool(temperature)),
            below=_number(options.get("fallback_below")),
            window=_count(options.get("fallback_window")),
            resumes=any(
                value not in _NOTHING and any(word in key for word in _POLICY_WORDS) for key, value in options.items()
            ),
            drafter=header.drafter.kind if header.drafter else None,
            forked_at=_count(header.run.get("forked_at")) or 0,
            pads=frozenset({0, mask}) if mask is not None else frozenset({0}),
        )


def _is_int(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _count(value: Any) -> int | None:
    return value if _is_int(value) and value >= 0 else None


def _number(value: Any) -> float | None:
    known = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    return float(value) if known else None
