"""Inputs that some exports have beside text and state, and that are the same in every pass."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import onnxruntime as ort
from numpy.typing import NDArray

from engine.session import Session

_SETTLED = {
    "use_cache_branch": ("tensor(bool)", np.array(True)),
    "num_logits_to_keep": ("tensor(int64)", np.array(0, np.int64)),
    "logits_to_keep": ("tensor(int64)", np.array(0, np.int64)),
}
"""A merged decoder runs its branch with a cache, which may be empty; of no number of logits, all are kept."""


class _Settled(Session):
    """A session that fills some of its inputs itself; it takes the place of the one that it is made of."""

    def __init__(self, session: Session, given: Mapping[str, NDArray[Any]]) -> None:
        vars(self).update(vars(session))
        self.inputs = {name: signature for name, signature in session.inputs.items() if name not in given}
        self._given = dict(given)
        self._bound = {name: ort.OrtValue.ortvalue_from_numpy(value) for name, value in given.items()}

    def run(self, outputs: list[str], feeds: dict[str, NDArray[Any]]) -> list[NDArray[Any]]:
        return super().run(outputs, feeds | self._given)

    def binding(self) -> Any:
        made = super().binding()
        for name, value in self._bound.items():
            made.bind_ortvalue_input(name, value)
        return made


def settled(session: Session) -> Session:
    """The session, with those of its inputs filled that are the same in every pass."""
    given = {
        name: np.broadcast_to(value, [1] * len(session.inputs[name].shape)).copy()
        for name, (type_, value) in _SETTLED.items()
        if name in session.inputs and session.inputs[name].type == type_
    }
    return _Settled(session, given) if given else session
