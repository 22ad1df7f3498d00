"""Rotary frequencies as a GGUF file gives them: plain, with a factor each, scaled linearly, or by YaRN."""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.errors import ModelError
from engine.models.own.container import GgufFile

FACTORS = "rope_freqs.weight"


class Rope(NamedTuple):
    """``frequencies`` in radians a position, one for each pair, and what cosine and sine are multiplied by.

    Without ``frequencies`` they are those of ``theta``.
    """

    theta: float
    frequencies: tuple[float, ...] | None = None
    scale: float = 1.0


def rope_of(file: GgufFile, arch: str, head_dim: int) -> Rope:
    """The rotation of a model whose heads are rotated whole.

    Raises:
        ModelError: a scaling that this version does not compute.
    """
    theta = file.get(f"{arch}.rope.freq_base", float, 10000.0)
    frequencies = theta ** (-np.arange(0, head_dim, 2) / head_dim)
    if FACTORS in file.tensors:
        factors = file.array(FACTORS).astype(np.float64)
        if factors.shape != frequencies.shape:
            raise ModelError(f"{file.path}: {FACTORS} has {factors.size} factors for {frequencies.size} frequencies")
        frequencies = frequencies / factors
    key = f"{arch}.rope.scaling"
    # Files without a type of scaling mean a linear one by their factor, which older ones keep under another name.
    kind = file.get(f"{key}.type", str, "linear")
    factor = file.get(f"{key}.factor", float, file.get(f"{arch}.rope.scale_linear", float, 0.0)) or 1.0
    if not (1 < theta < math.inf and 0 < factor < math.inf):
        raise ModelError(f"{file.path}: a rotary base of {theta:g} and a scaling of {factor:g} make no rotation")
    match kind:
        case "none" | "linear":
            factor = 1.0 if kind == "none" else factor
            if factor == 1.0 and FACTORS not in file.tensors:
                return Rope(theta)
            return Rope(theta, tuple((frequencies / factor).tolist()))
        case "yarn":
            for name in ("yarn_log_multiplier", "yarn_ext_factor", "yarn_attn_factor"):
                if file.get(f"{key}.{name}", float, 0.0):
                    raise ModelError(f"{file.path}: {key}.{name} is set, a form of YaRN that is not supported")
            context = file.get(f"{key}.original_context_length", int, file.need(f"{arch}.context_length", int))
            fast = file.get(f"{key}.yarn_beta_fast", float, 32.0)
            slow = file.get(f"{key}.yarn_beta_slow", float, 1.0)
            if not all(0 < turns < math.inf for turns in (context, fast, slow)):
                raise ModelError(
                    f"{file.path}: {key} of a context of {context}, {fast:g} to {slow:g} turns, is no YaRN"
                )
            ramp = yarn_ramp(head_dim, theta, context, fast, slow)
            scale = (1 + 0.1 * math.log(factor)) * file.get(f"{key}.attn_factor", float, 1.0)
            return Rope(theta, tuple((frequencies * ramp + frequencies / factor * (1 - ramp)).tolist()), scale)
        case _:
            raise ModelError(
                f"{file.path}: its rotary scaling is {kind!r}; linear, yarn, factors for each frequency, and none at "
                "all are supported"
            )


def yarn_ramp(head_dim: int, theta: float, context_length: int, fast: float, slow: float) -> NDArray[np.float64]:
    """How much of each frequency YaRN leaves as it is: 1 for those that turn ``fast`` times in the old context.

    Down to 0 for those that turn ``slow`` times (Peng et al. 2023, "YaRN", section 3.2, with whole dimensions as ends).
    """

    def dimension(turns: float) -> float:
        return head_dim * math.log(context_length / (turns * 2 * math.pi)) / (2 * math.log(theta))

    low = max(math.floor(dimension(fast)), 0)
    high = min(math.ceil(dimension(slow)), head_dim - 1)
    places = np.arange(head_dim // 2)
    return np.asarray(1 - np.clip((places - low) / max(high - low, 0.001), 0, 1), np.float64)
