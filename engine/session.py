"""One onnxruntime session: the settings a debugger wants, passes over arrays bound once, and errors of ours."""

import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import onnxruntime as ort
from numpy.typing import NDArray
from onnxruntime.capi import onnxruntime_pybind11_state as native

from engine.errors import EngineFault, ModelError

_ERROR_NAMES = (
    "Fail",
    "InvalidArgument",
    "NoSuchFile",
    "NoModel",
    "EngineError",
    "RuntimeException",
    "InvalidProtobuf",
    "ModelLoaded",
    "NotImplemented",
    "InvalidGraph",
    "EPFail",
    "NotFound",
    "ModelRequiresCompilation",
)
ORT_ERRORS: tuple[type[Exception], ...] = tuple(getattr(native, name) for name in _ERROR_NAMES if hasattr(native, name))
"""Every type that this build of onnxruntime raises; they share no base of their own."""

CPU = "CPUExecutionProvider"
_PAST, _PRESENT = "past_key_values.", "present."
_LENGTHS = "seqlens_k", "total_sequence_length"


class Signature(NamedTuple):
    """An input or output of a graph: its onnxruntime type, and its shape with names for what is free."""

    type: str
    shape: tuple[int | str | None, ...]


class Session:
    """A graph that is ready to run.

    ``threads`` are those of one operator. They do not spin: two sessions that spin on the same cores starve each other.

    Raises:
        ModelError: the file is missing, damaged, or not for this onnxruntime or provider.
    """

    def __init__(self, path: Path, *, threads: int = 1, providers: Sequence[str] = (CPU,)) -> None:
        if not path.is_file():
            raise ModelError(f"{path}: no such model file")
        missing = [provider for provider in providers if provider not in ort.get_available_providers()]
        if missing:
            available = ", ".join(ort.get_available_providers())
            raise ModelError(f"{missing[0]} is not in this onnxruntime; it has {available}")
        options = ort.SessionOptions()
        options.intra_op_num_threads = threads
        options.inter_op_num_threads = 1
        options.log_severity_level = 3
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        options.add_session_config_entry("session.record_ep_graph_assignment_info", "1")
        try:
            self._session = ort.InferenceSession(str(path), options, providers=list(providers))
        except ORT_ERRORS as error:
            raise ModelError(f"{path}: onnxruntime cannot load it: {first_line(error)}") from error
        self._run: Callable[..., Any] = self._session.run
        self._run_bound: Callable[..., Any] = self._session.run_with_iobinding
        self.name = path.name
        self._requested = tuple(providers)
        self._threads = threads
        self.inputs = {node.name: Signature(node.type, tuple(node.shape)) for node in self._session.get_inputs()}
        self.outputs = {node.name: Signature(node.type, tuple(node.shape)) for node in self._session.get_outputs()}

    def require(self, *names: str) -> None:
        """Check that the graph has inputs or outputs of these names.

        Raises:
            ModelError: it lacks one.
        """
        for name in names:
            if name not in self.inputs and name not in self.outputs:
                raise ModelError(f"{self.name}: the graph has no {name}, so it is not of the kind that is needed here")

    def size(self, name: str, axis: int = -1) -> int:
        """A dimension of an input or output.

        Raises:
            ModelError: the graph has no input or output of that name, or leaves that dimension free.
        """
        self.require(name)
        shape = (self.inputs.get(name) or self.outputs[name]).shape
        size = shape[axis] if -len(shape) <= axis < len(shape) else None
        if not isinstance(size, int):
            raise ModelError(f"{self.name}: {name} has shape {shape}, where dimension {axis} has to be fixed")
        return size

    def placement(self) -> dict[str, int]:
        """Nodes by the provider that was given them; empty if this onnxruntime does not say."""
        report = getattr(self._session, "get_provider_graph_assignment_info", None)
        if report is None:
            return {}
        nodes: Counter[str] = Counter()
        for part in report():
            nodes[part.ep_name] += len(part.get_nodes())
        return dict(nodes.most_common())

    def device(self) -> dict[str, Any]:
        """What a trace's header says of where the model runs: ``provider`` is what runs it, not what was offered."""
        placement = self.placement()
        return {
            "provider": ", ".join(placement) if placement else None,
            "placement": placement,
            "requested": list(self._requested),
            "threads": self._threads,
            "onnxruntime": ort.__version__,
        }

    def close(self) -> None:
        """Give the session up. What still wants to run it gets an ``EngineFault``."""
        self._run = self._run_bound = self._dead

    def measure(self, spent: Callable[[float], None], clock: Callable[[], float] = time.perf_counter) -> None:
        """From now on tell ``spent`` the seconds of each pass inside onnxruntime; without this nothing is measured."""

        def measured(inside: Callable[..., Any]) -> Callable[..., Any]:
            def run(*arguments: Any) -> Any:
                began = clock()
                result = inside(*arguments)
                spent(clock() - began)
                return result

            return run

        self._run, self._run_bound = measured(self._run), measured(self._run_bound)

    def run(self, outputs: Sequence[str], feeds: Mapping[str, NDArray[Any]]) -> list[NDArray[Any]]:
        """One pass with arrays of any shape.

        Raises:
            EngineFault: the session is closed, or the pass failed.
        """
        try:
            return list(self._run(list(outputs), dict(feeds)))
        except ORT_ERRORS as error:
            raise EngineFault(f"{self.name}: the pass failed in onnxruntime: {first_line(error)}") from error

    def binding(self) -> Any:
        """A new, empty ``IOBinding``."""
        return self._session.io_binding()

    def run_bound(self, binding: Any) -> None:
        """One pass over what is bound.

        Raises:
            EngineFault: the session is closed, or the pass failed.
        """
        try:
            self._run_bound(binding)
        except ORT_ERRORS as error:
            raise EngineFault(f"{self.name}: the pass failed in onnxruntime: {first_line(error)}") from error

    def _dead(self, *_: Any) -> None:
        raise EngineFault(f"{self.name}: its session is dead")


class SharedBuffer:
    """The keys and values of a graph's layers, ``[1, kv_heads, capacity, head_dim]``, past and present in one buffer.

    A pass writes its own rows and nothing else, so that to roll back is to say a shorter length, and every length up to
    ``capacity`` is as cheap. The graph must use com.microsoft GroupQueryAttention, which allows that.

    Raises:
        ModelError: the graph has no such layers.
    """

    def __init__(self, session: Session, capacity: int) -> None:
        session.require(*_LENGTHS, f"{_PAST}0.key", f"{_PRESENT}0.key")
        self._values = {
            name.removeprefix(_PAST): ort.OrtValue.ortvalue_from_numpy(
                np.zeros((1, session.size(name, 1), capacity, session.size(name, 3)), np.float32)
            )
            for name in session.inputs
            if name.startswith(_PAST)
        }

    def bind(self, binding: Any) -> None:
        for name, value in self._values.items():
            binding.bind_ortvalue_input(_PAST + name, value)
            binding.bind_ortvalue_output(_PRESENT + name, value)


class Pass:
    """A pass of one width: its arrays are bound once, filled in place and run again and again.

    ``inputs`` and ``outputs`` may be written and read between runs; the next run overwrites the outputs.
    """

    def __init__(
        self,
        session: Session,
        cache: SharedBuffer,
        inputs: Mapping[str, NDArray[Any]],
        outputs: Mapping[str, NDArray[Any]],
    ) -> None:
        self._run_bound = session.run_bound
        self._seqlens = np.zeros(1, np.int32)
        self._total = np.zeros((), np.int32)
        self._binding = session.binding()
        lengths = dict(zip(_LENGTHS, (self._seqlens, self._total), strict=True))
        for name, array in {**inputs, **lengths}.items():
            self._binding.bind_ortvalue_input(name, ort.OrtValue.ortvalue_from_numpy(array))
        for name, array in outputs.items():
            self._binding.bind_ortvalue_output(name, ort.OrtValue.ortvalue_from_numpy(array))
        cache.bind(self._binding)
        self.inputs = inputs
        self.outputs = outputs

    def run(self, length_after: int) -> None:
        """Run; ``length_after`` is how many positions the cache holds afterwards."""
        self._seqlens[0] = length_after - 1
        self._total[()] = length_after
        self._run_bound(self._binding)


def first_line(error: Exception) -> str:
    """What onnxruntime says, without its own list of places."""
    return str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
