"""A graph is run for the first time: can it verify, and how can its keys and values be kept?"""

import sys
from collections.abc import Mapping, Sequence

import numpy as np

from engine.base.arrays import ArrayPasses, known_state
from engine.base.bound import BoundPasses
from engine.base.kv import KeyValues, SharedKeyValues, TurnedKeyValues
from engine.base.passes import Passes
from engine.base.state import StateTensor
from engine.base.wiring import Wiring
from engine.compiled import ANY, Widths
from engine.errors import EngineFault, ModelError
from engine.session import Session

QUANTISED = frozenset(
    {
        "MatMulNBits",
        "MatMulInteger",
        "MatMulIntegerToFloat",
        "DynamicQuantizeMatMul",
        "QLinearMatMul",
        "QGemm",
        "QAttention",
        "QMoE",
    }
)
"""Operators that may quantise the rows of a pass, together or by another kernel where there is one row."""
ALIKE = 0.01
"""Rows of a pass and single steps that are further apart, as a share of the range of their logits, are not the same."""
SHARES = "GroupQueryAttention"
"""The operator that can write its new rows into the buffer that it reads the old ones from."""


class _RoomForWindow(SharedKeyValues):
    """A buffer that has room for a window of positions from the beginning.

    A cache that slides asks for that much. It slides when it is full, which one that grows with the text never is, and
    so it can be cut as any other.
    """

    def __init__(self, tensors: Sequence[StateTensor], window: int) -> None:
        super().__init__(tensors)
        self._grow(0, window)


def best_passes(
    session: Session, wiring: Wiring, sizes: Mapping[str, int], widths: Widths = ANY, window: int = 0
) -> tuple[Passes, str]:
    """The fastest passes that give the rows that plain arrays give, empty, and how they keep keys and values.

    ``sizes`` are the widths of the logits and features, ``widths`` the rows that a pass may have, ``window`` how many
    positions caches that slide have to have room for: arrays, which begin empty, have not.

    Raises:
        ModelError: the graph gives logits of its last row only, rows of a pass that see those behind them, or does not
            run at all.
    """
    tensors, shares = known_state(session, wiring), SHARES in (session.operators() or ())
    if window and shares:
        roomy = _RoomForWindow(tensors, window)
        passes = BoundPasses(session, wiring, roomy, sizes)
        _checked(session, passes, sizes["logits"], widths)
        return passes, roomy.kind
    arrays = ArrayPasses(session, wiring)
    wanted = _checked(session, arrays, sizes["logits"], widths)
    if arrays.kind == "hybrid":
        return arrays, "arrays, with states that are put back and not cut"
    kinds: list[type[SharedKeyValues] | type[TurnedKeyValues]] = [TurnedKeyValues]
    if shares:
        kinds.insert(0, SharedKeyValues)
    for kind in kinds:
        kv: KeyValues = kind(tensors)
        passes = BoundPasses(session, wiring, kv, sizes)
        try:
            given = _tried(passes, widths)
        except EngineFault:
            continue
        if np.allclose(given, wanted, rtol=1e-3, atol=1e-3, equal_nan=True):
            return passes, kv.kind
    return arrays, "arrays"


def _checked(session: Session, passes: Passes, vocabulary: int, widths: Widths) -> np.ndarray:
    """The rows that ``_tried`` gives, if they are those of single steps.

    Raises:
        ModelError: they are not, or the graph does not run.
    """
    try:
        wanted = _tried(passes, widths)
        alone = _one_by_one(passes, widths)
    except EngineFault as error:
        raise ModelError(f"{session.name}: the graph was tried with two tokens and does not run: {error}") from error
    if wanted.shape != (2, vocabulary):
        raise ModelError(
            f"{session.name}: tried with two tokens, its logits have shape {wanted.shape} and not {(2, vocabulary)}: "
            "export it with logits of every row, and with its own configuration"
        )
    if _rows_stand_alone(session) and np.abs(wanted - alone).max() > ALIKE * np.ptp(alone):
        raise ModelError(
            f"{session.name}: a pass of two tokens does not give the logits that the two give one after the other, so "
            "that it cannot verify a draft: export it with a mask that hides from each row those behind it"
        )
    return wanted


def _tried(passes: Passes, widths: Widths) -> np.ndarray:
    """Two tokens, one of them taken back, two more: the rows of the last two. Nothing is left of it."""
    padding = _padding(passes, widths, 2)
    passes.run([0, 1], 0, 2, padding)
    left = passes.cut(1)
    rows = passes.run([*[0][left:], 2, 1], left, 2, padding).logits.copy()
    passes.cut(0)
    return rows


def _one_by_one(passes: Passes, widths: Widths) -> np.ndarray:
    """The same two rows, of passes of one token each. Nothing is left of it."""
    padding = _padding(passes, widths, 1)
    rows = [passes.run([token], at, 1, padding).logits[0].copy() for at, token in enumerate((0, 2, 1))]
    passes.cut(0)
    return np.stack(rows[1:])


def _padding(passes: Passes, widths: Widths, count: int) -> int:
    return widths.parts(count, sys.maxsize)[0].padding if passes.can_pad else 0


def _rows_stand_alone(session: Session) -> bool:
    """Whether a row should not depend on how many there are in its pass: floats, and the CPU's own kernels."""
    operators = session.operators()
    return operators is not None and not operators & QUANTISED and not session.copies_inputs
