"""A graph is run for the first time: can it verify, and how can its keys and values be kept?"""

import sys
from collections.abc import Mapping

import numpy as np

from engine.base.arrays import ArrayPasses, known_state
from engine.base.bound import BoundPasses
from engine.base.kv import KeyValues, SharedKeyValues, TurnedKeyValues
from engine.base.passes import Passes
from engine.base.wiring import Wiring
from engine.compiled import ANY, Widths
from engine.errors import EngineFault, ModelError
from engine.session import Session

SHARES = "GroupQueryAttention"
"""The operator that can write its new rows into the buffer that it reads the old ones from."""


def best_passes(session: Session, wiring: Wiring, sizes: Mapping[str, int], widths: Widths = ANY) -> tuple[Passes, str]:
    """The fastest passes that give the rows that plain arrays give, empty, and how they keep keys and values.

    ``sizes`` are the widths of the logits and features, ``widths`` the rows that a pass may have.

    Raises:
        ModelError: the graph gives logits of its last row only, or does not run at all.
    """
    arrays = ArrayPasses(session, wiring)
    try:
        padding = widths.parts(2, sys.maxsize)[0].width - 2
        wanted = _tried(arrays, padding if arrays.can_pad else 0)
    except EngineFault as error:
        raise ModelError(f"{session.name}: the graph was tried with two tokens and does not run: {error}") from error
    if arrays.kind == "hybrid":
        return arrays, "arrays, with states that are put back and not cut"
    tensors = known_state(session, wiring)
    operators = session.operators()
    kinds: list[type[SharedKeyValues] | type[TurnedKeyValues]] = [TurnedKeyValues]
    if operators is not None and SHARES in operators:
        kinds.insert(0, SharedKeyValues)
    for kind in kinds:
        kv: KeyValues = kind(tensors)
        passes = BoundPasses(session, wiring, kv, sizes)
        try:
            given = _tried(passes, padding)
        except EngineFault:
            continue
        if np.allclose(given, wanted, rtol=1e-3, atol=1e-3, equal_nan=True):
            return passes, kv.kind
    return arrays, "arrays"


def _tried(passes: Passes, padding: int) -> np.ndarray:
    """Two tokens, one of them taken back, two more: the rows of the last two. Nothing is left of it."""
    passes.run([0, 1], 0, 2, padding)
    left = passes.cut(1)
    rows = passes.run([*[0][left:], 2, 1], left, 2, padding).logits.copy()
    passes.cut(0)
    return rows
