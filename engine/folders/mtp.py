"""The MTP head that onnxruntime-genai exports beside a decoder (``mtp`` in ``genai_config.json``), as a drafter."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.base.base import Floats, Rows
from engine.base.bound import PREFILL_LOGITS
from engine.base.kv import FIRST_CAPACITY, SharedKeyValues, TurnedKeyValues
from engine.base.masked import MaskedGraph, MaskedPass
from engine.base.state import INTEGERS, KeyValueSizes, StateTensor, state_tensors
from engine.base.wiring import Wiring
from engine.compiled import of_graph
from engine.drafters.drafter import first_best
from engine.drafters.mtp import HeadPass, MtpDrafter
from engine.errors import EngineFault, ModelError
from engine.folders.config import DrafterFacts
from engine.folders.first_try import SHARES
from engine.folders.graph import pairs_of
from engine.folders.model import FolderModel, LoadedGraph, OpenSession
from engine.records import DrafterInfo
from engine.session import Session
from engine.stages import stage

MTP = "mtp"
_FLOAT = "tensor(float)"
_HIDDEN, _HIDDEN_OUT, _LOGITS = "hidden", "hidden_out", "logits"


def load_mtp(
    model: FolderModel,
    base: LoadedGraph,
    *,
    session: OpenSession = Session,
    threads: int = 1,
    widths: Sequence[int] = (),
) -> MtpDrafter:
    """The folder's own head, empty. It reads the base's hidden states after the final norm, and its own in a chain.

    Raises:
        ModelError: there is none, it cannot be loaded, or it does not go with the base, with the reason.
        Refused: the graph has another width than these.
    """
    where, facts = model.where, model.where.facts.drafters[MTP]
    path = where.folder / facts.file
    if not path.is_file():
        raise ModelError(f"{where.folder}: its configuration names the MTP head {facts.file}, which is not there")
    opened = session(path, threads=threads)
    wiring, names = _wiring_of(opened, facts)
    tensors = _checked(opened, wiring, names, base)
    fitting = of_graph(widths, opened.fixed(wiring.ids, 1), opened.name)
    kind = SharedKeyValues if SHARES in (opened.operators() or ()) else TurnedKeyValues
    drafter = MtpDrafter(
        opened,
        DrafterInfo(kind=MTP, name=f"{where.name}-{MTP}"),
        FIRST_CAPACITY,
        widths=fitting,
        graph=_Head(MaskedGraph(opened, wiring, kind(tensors), names)),
    )
    stage(f"trying {opened.name} with two tokens")
    _try(drafter, opened.name, np.zeros((max(2, fitting.narrowest), opened.size(names[_HIDDEN])), np.float32))
    return drafter


class _Head:
    """A head that gives logits and hidden states of every row, of which the last row's are wanted."""

    def __init__(self, graph: MaskedGraph) -> None:
        self._graph = graph

    def require(self, *names: str) -> None:
        self._graph.require(*names)

    def size(self, name: str, axis: int = -1) -> int:
        return self._graph.size(name, axis)

    def pass_(self, inputs: Mapping[str, NDArray[Any]], outputs: Mapping[str, NDArray[Any]]) -> HeadPass:
        one = next(iter(inputs.values())).shape[1] == 1
        return self._graph.pass_(inputs, outputs) if one else _LastRow(self._graph, inputs, outputs)


class _LastRow:
    """A pass over several rows, run in parts whose logits are no more numbers than ``PREFILL_LOGITS``."""

    def __init__(
        self, graph: MaskedGraph, inputs: Mapping[str, NDArray[Any]], outputs: Mapping[str, NDArray[Any]]
    ) -> None:
        self.inputs = inputs
        self._outputs = outputs
        self._width = next(iter(inputs.values())).shape[1]
        part = min(self._width, max(1, PREFILL_LOGITS // outputs[_LOGITS].shape[-1]))
        rows = {name: np.zeros((1, part, array.shape[-1]), array.dtype) for name, array in outputs.items()}
        self._parts: list[tuple[int, MaskedPass]] = []
        for first in range(0, self._width, part):
            last = min(first + part, self._width)
            taken = {name: array[:, first:last] for name, array in inputs.items()}
            given = {name: array[:, : last - first] for name, array in rows.items()}
            self._parts.append((last, graph.pass_(taken, given)))

    def run(self, length_after: int) -> None:
        for last, pass_ in self._parts:
            pass_.run(length_after - self._width + last)
        for name, array in self._outputs.items():
            array[0, 0] = self._parts[-1][1].outputs[name][0, -1]


def _wiring_of(session: Session, facts: DrafterFacts) -> tuple[Wiring, dict[str, str]]:
    """What the graph calls things, and its names for those of ``MtpDrafter``."""
    inputs, outputs = facts.names
    wiring = Wiring(
        ids=inputs.get("input_ids", "input_ids"),
        mask=inputs.get("attention_mask", "attention_mask"),
        positions=inputs.get("position_ids", "position_ids"),
        logits=outputs.get("logits", "logits"),
        features={},
        pairs=pairs_of(session, facts.names),
        sizes=KeyValueSizes(facts.kv_heads, facts.head_dim),
    )
    return wiring, {
        "input_ids": wiring.ids,
        _HIDDEN: inputs.get("hidden_states", "hidden_states"),
        _LOGITS: wiring.logits,
        _HIDDEN_OUT: outputs.get("hidden_states", "hidden_states_out"),
    }


def _checked(session: Session, wiring: Wiring, names: dict[str, str], base: LoadedGraph) -> tuple[StateTensor, ...]:
    """The tensors of its keys and values, if it is a head, and one of this base.

    Raises:
        ModelError: with what is in the way, and what to do.
    """
    session.require(*names.values())
    pairs = wiring.pairs or {}
    unknown = [name for name in session.inputs if name not in (*wiring.inputs, names[_HIDDEN], *pairs)]
    if unknown:
        raise ModelError(f"{session.name}: the head wants {', '.join(unknown)}, which a drafter has no value for")
    for name in wiring.inputs:
        if name in session.inputs and session.inputs[name].type not in INTEGERS:
            raise ModelError(f"{session.name}: {name} is {session.inputs[name].type}, expected int64 or int32")
    for name in (names[_HIDDEN], names[_HIDDEN_OUT], names[_LOGITS]):
        type_ = (session.inputs.get(name) or session.outputs[name]).type
        if type_ != _FLOAT:
            raise ModelError(
                f"{session.name}: {name} is {type_}, and the head is run in float: export it for the CPU, in float32 "
                "or int4"
            )
    given = base.abilities.hidden
    if given is None:
        raise ModelError(
            f"{session.name}: the head reads hidden states, and the model's graph gives none: export the model with "
            "include_hidden_states"
        )
    for name, size in ((names[_HIDDEN], given), (names[_HIDDEN_OUT], given), (wiring.logits, base.base.vocab_size)):
        own = session.size(name)
        if own != size:
            raise ModelError(f"{session.name}: its {name} is {own} wide, the model's {size}: they are not of one model")
    tensors = state_tensors(session, pairs, wiring.sizes)
    fixed = [tensor.past for tensor in tensors if tensor.axis is None]
    if fixed or not tensors:
        told = f"{', '.join(fixed)} does not grow with the text" if fixed else "it takes no past keys and values"
        raise ModelError(f"{session.name}: {told}: export the head with a cache, and with dynamic shapes")
    return tensors


def _try(drafter: MtpDrafter, name: str, hidden: Floats) -> None:
    """Draft two tokens behind a text with these hidden states. Nothing is left of it."""
    try:
        drafter.commit([0] * len(hidden), Rows(np.empty((0, 0), np.float32), hidden))
        drafter.draft(0, 2, first_best, 0.0)
    except EngineFault as error:
        raise ModelError(f"{name}: the head was tried with two tokens and does not run: {error}") from error
    drafter.rollback(0)
