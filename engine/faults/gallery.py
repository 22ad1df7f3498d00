"""All faults, by name."""

import difflib

from engine.errors import Refused
from engine.faults import (
    carrying,
    counting,
    ending,
    falling_back,
    features,
    numerics,
    recurrent,
    sampling,
    state,
    texts,
    unnoticed,
)
from engine.faults.fault import Fault

FAULTS: tuple[Fault, ...] = (
    *counting.FAULTS,
    *ending.FAULTS,
    *state.FAULTS,
    *recurrent.FAULTS,
    *features.FAULTS,
    *carrying.FAULTS,
    *numerics.FAULTS,
    *sampling.FAULTS,
    *falling_back.FAULTS,
    *texts.FAULTS,
    *unnoticed.FAULTS,
)


def named(name: str) -> Fault:
    """The fault of that name.

    Raises:
        Refused: there is none.
    """
    names = [fault.name for fault in FAULTS]
    if name in names:
        return FAULTS[names.index(name)]
    near = difflib.get_close_matches(name, names, 1)
    raise Refused(
        f"there is no fault {name!r}" + (f", did you mean {near[0]}?" if near else "") + " (specstep faults lists them)"
    )
