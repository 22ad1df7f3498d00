"""What a graph calls the things that a pass needs and gives."""

import dataclasses
from collections.abc import Mapping

from engine.base.state import UNKNOWN_SIZES, KeyValueSizes


@dataclasses.dataclass(frozen=True)
class Wiring:
    """Names of inputs and outputs.

    ``features`` are the graph's names of ``hidden`` and ``taps``, ``pairs`` past to present; ``None`` stands for the
    usual names. ``sizes`` are those of keys and values that the graph leaves open.
    """

    ids: str = "input_ids"
    mask: str = "attention_mask"
    positions: str = "position_ids"
    logits: str = "logits"
    features: Mapping[str, str] = dataclasses.field(default_factory=lambda: {"hidden": "hidden", "taps": "taps"})
    pairs: Mapping[str, str] | None = None
    sizes: KeyValueSizes = UNKNOWN_SIZES

    @property
    def inputs(self) -> tuple[str, ...]:
        """Those that every pass can fill, beside the state."""
        return (self.ids, self.mask, self.positions)
