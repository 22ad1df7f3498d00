"""Passes of a graph over keys and values that are bound to it once, for graphs whose whole state can be cut."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from engine.base.base import Floats, Rows
from engine.base.kv import KeyValues
from engine.base.masked import MaskedGraph, MaskedPass
from engine.base.passes import CACHED_WIDTH, BoundPass
from engine.base.state import INTEGERS, TYPES
from engine.base.wiring import Wiring
from engine.session import Session

PREFILL_LOGITS = 2**26
"""A prompt is run in parts whose logits, of which only the last row is wanted, are no more numbers than this."""


class BoundPasses:
    """Passes whose inputs and outputs stay where they are; a cut is a shorter length.

    ``sizes`` are the widths of the rows of ``logits`` and of the features that the graph gives.
    """

    can_pad = True

    def __init__(self, session: Session, wiring: Wiring, kv: KeyValues, sizes: Mapping[str, int]) -> None:
        self._graph = MaskedGraph(session, wiring, kv, {"ids": wiring.ids, "logits": wiring.logits, **wiring.features})
        self._sizes = sizes
        self._ids = INTEGERS[session.inputs[wiring.ids].type]
        self._types = {name: TYPES[session.outputs[self._graph.name(name)].type] for name in sizes}
        self._are_float32 = set(self._types.values()) == {np.float32}
        self._part = max(2, PREFILL_LOGITS // sizes["logits"])
        self._passes: dict[int, MaskedPass] = {}
        self._wanted: dict[tuple[int, int, int], BoundPass] = {}
        self._length = 0

    def run(self, tokens: Sequence[int], start: int, logit_rows: int, padding: int) -> Rows:
        assert start == self._length
        if len(tokens) <= self._part or logit_rows > 1:
            return self._pass(tokens, logit_rows, padding)
        ends = [*range(self._part, len(tokens) - 1, self._part), len(tokens)]
        features: dict[str, list[Floats]] = {name: [] for name in self._sizes if name != "logits"}
        for a, b in zip([0, *ends], ends, strict=False):
            rows = self._pass(tokens[a:b], 1, 0)
            for name, parts in features.items():
                parts.append(getattr(rows, name).copy())
        return Rows(rows.logits, **{name: np.concatenate(parts) for name, parts in features.items()}, width=len(tokens))

    def cut(self, keep: int) -> int:
        self._length = keep
        return keep

    def lengths(self) -> dict[str, Any]:
        return {"kv_len": self._length}

    def _pass(self, tokens: Sequence[int], logit_rows: int, padding: int) -> Rows:
        count = len(tokens)
        key = count, logit_rows, padding
        rows = (self._wanted.get(key) or self._want(*key)).run(tokens, self._length, padding)
        self._length += count
        return rows if self._are_float32 else _float32(rows)

    def _want(self, count: int, logit_rows: int, padding: int) -> BoundPass:
        pass_ = self._made(count + padding)
        rows = {name: rows[0, :count] for name, rows in pass_.outputs.items()}
        logits = rows.pop("logits")[count - logit_rows :]
        wanted = BoundPass(pass_, pass_.inputs["ids"][0], Rows(logits, **rows, width=count + padding))
        if count + padding <= CACHED_WIDTH:
            self._wanted[count, logit_rows, padding] = wanted
        return wanted

    def _made(self, width: int) -> MaskedPass:
        if (known := self._passes.get(width)) is not None:
            return known
        outputs = {name: np.zeros((1, width, size), self._types[name]) for name, size in self._sizes.items()}
        made = self._graph.pass_({"ids": np.zeros((1, width), self._ids)}, outputs)
        if width <= CACHED_WIDTH:
            self._passes[width] = made
        return made


def _float32(rows: Rows) -> Rows:
    logits, hidden, taps = (None if rows is None else np.asarray(rows, np.float32) for rows in rows[:3])
    assert logits is not None
    return Rows(logits, hidden, taps, rows.width)
