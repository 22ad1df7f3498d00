"""Looks at the values of a round while it is decoded, which costs next to nothing there: most of rule A11."""

from typing import Annotated, Any, cast

import msgspec

from engine.records import AnyRecord, Round
from engine.trace.audit.setup import Setup
from engine.trace.audit.values import ROUNDING, UNBOUNDED, Sound
from engine.trace.decoding import Unknown, check_depth, decode

_LARGEST = 1.7976931348623157e308
"""No finite float is larger."""


class Sieve:
    """Decodes the records of one trace; a round that comes out as ``Sound`` has only values that can be."""

    def __init__(self, setup: Setup) -> None:
        self._decoder = msgspec.msgpack.Decoder(_sound(min(setup.vocab or UNBOUNDED, UNBOUNDED)))

    def decode(self, data: bytes, byte: int) -> AnyRecord | Unknown:
        """The same as ``engine.trace.decoding.decode``."""
        try:
            round_ = self._decoder.decode(data)
        except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError):
            return decode(data, byte)
        if round_.state is not None:
            check_depth(round_.state, byte)
        return round_


def _sound(vocab: int) -> type[Round]:
    """A round whose ids are below ``vocab``, whose probabilities are in [0, 1] and whose times are finite."""
    token = Annotated[int, msgspec.Meta(ge=0, lt=vocab)]
    share = Annotated[float, msgspec.Meta(ge=-ROUNDING, le=1 + ROUNDING)]
    time = Annotated[float, msgspec.Meta(ge=0, le=_LARGEST)]
    candidates = tuple[tuple[tuple[token, float], ...], ...]
    types: dict[str, Any] = {
        **dict.fromkeys(("t1", "next"), token),
        **dict.fromkeys(("drafts", "targets", "emitted"), tuple[token, ...]),
        **dict.fromkeys(("draft_p", "target_p", "accept_p"), tuple[share, ...]),
        **dict.fromkeys(("top", "draft_top"), candidates),
        "ms": dict[str, time],
    }
    fields = [(name, type_ | None, None) for name, type_ in types.items()]
    return cast(
        type[Round], msgspec.defstruct("SoundRound", fields, bases=(Sound,), tag="round", frozen=True, gc=False)
    )
