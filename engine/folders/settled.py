"""Inputs that some exports have beside text and state, and that are the same in every pass."""

import numpy as np

from engine.session import Session

_SETTLED = {
    "use_cache_branch": ("tensor(bool)", np.array(True)),
    "num_logits_to_keep": ("tensor(int64)", np.array(0, np.int64)),
    "logits_to_keep": ("tensor(int64)", np.array(0, np.int64)),
}
"""A merged decoder runs its branch with a cache, which may be empty; of no number of logits, all are kept."""


def settle(session: Session) -> None:
    """Have those of its inputs filled that are the same in every pass."""
    session.settle(
        {
            name: np.broadcast_to(value, [1] * len(session.inputs[name].shape)).copy()
            for name, (type_, value) in _SETTLED.items()
            if name in session.inputs and session.inputs[name].type == type_
        }
    )
