"""One onnxruntime session: the settings a debugger wants, passes over arrays bound once, and errors of ours."""

import time
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import onnxruntime as ort
from numpy.typing import NDArray

from engine.errors import EngineFault, ModelError
from engine.execution import ORT_ERRORS, PASS_ERRORS, Device, first_line, offer
from engine.provider import CPU, Provider
from engine.unloadable import explained, problem_of

DEFAULT = Provider()
_SAYS_PLACES = hasattr(ort.InferenceSession, "get_provider_graph_assignment_info")
_KINDS = 4
"""Kinds of operators that are named one by one."""
_PAST, _PRESENT = "past_key_values.", "present."
_LENGTHS = "seqlens_k", "total_sequence_length"


class Signature(NamedTuple):
    """An input or output of a graph: its onnxruntime type, and its shape with names for what is free."""

    type: str
    shape: tuple[int | str | None, ...]


class Session:
    """A graph that is ready to run.

    ``threads`` are those of one operator. They spin while a pass runs and stop with it: base and drafter take turns,
    and threads of the one that waits would starve the other's.

    Raises:
        ModelError: the file is missing, damaged, or not for this onnxruntime or provider, or the provider leaves nodes
            to the CPU that must not be left to it.
    """

    def __init__(self, path: Path, *, threads: int = 1, provider: Provider = DEFAULT) -> None:
        if (problem := problem_of(path)) is not None:
            raise ModelError(problem)
        options = ort.SessionOptions()
        options.intra_op_num_threads = threads
        options.inter_op_num_threads = 1
        options.log_severity_level = 4
        options.add_session_config_entry("session.force_spinning_stop", "1")
        options.add_session_config_entry("session.record_ep_graph_assignment_info", "1")
        if not provider.fallback and not _SAYS_PLACES:
            options.add_session_config_entry("session.disable_cpu_ep_fallback", "1")
        offered = offer(provider, options)
        try:
            self._session = ort.InferenceSession(str(path), options, providers=offered.providers, enable_fallback=0)
        except ORT_ERRORS as error:
            raise ModelError(explained(path, first_line(error))) from error
        self._run: Callable[..., Any] = self._session.run
        self.bound_pass: Callable[..., Any] = self._session.run_with_iobinding
        """One pass over an ``IOBinding``, which raises ``PASS_ERRORS``: what ``run_bound`` is made of."""
        self.name = path.name
        self._provider, self._offered = provider, offered
        self._threads = threads
        self._operators = _operators(self._session)
        if not provider.fallback and (left := self.left_to_cpu()) is not None:
            raise ModelError(f"{path}: {left}, and that was not allowed")
        self.inputs = {node.name: Signature(node.type, tuple(node.shape)) for node in self._session.get_inputs()}
        self._settled: dict[str, NDArray[Any]] = {}
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

    def fixed(self, name: str, axis: int) -> int | None:
        """A dimension of an input that the graph fixes; ``None`` for one that it leaves free."""
        size = self.inputs[name].shape[axis] if name in self.inputs else None
        return size if isinstance(size, int) else None

    def placement(self) -> dict[str, int]:
        """Nodes by the provider that was given them; empty if this onnxruntime does not say."""
        nodes = Counter({name: operators.total() for name, operators in self._operators.items()})
        return dict(nodes.most_common())

    @property
    def copies_inputs(self) -> bool:
        """Whether what is bound as an input may be copied then, so that what is written to it later is not seen.

        Only onnxruntime's own CPU provider reads it where it is; another one may have a memory of its own.
        """
        return not (self._provider.is_cpu or set(self._operators) == {CPU})

    def left_to_cpu(self) -> str | None:
        """What to say where another provider was asked for and some or all of the graph runs on the CPU."""
        left = self._operators.get(CPU)
        if self._provider.is_cpu or not left:
            return None
        every = sum(self.placement().values())
        kinds = ", ".join(f"{count} {kind}" for kind, count in left.most_common(_KINDS))
        more = f" and {len(left) - _KINDS} other kinds" if len(left) > _KINDS else ""
        taken = f"left {left.total()} of {every} nodes" if left.total() < every else f"took none of {every} nodes"
        return f"{self._offered.name} {taken} of {self.name}, which run on the CPU ({kinds}{more})"

    def operators(self) -> frozenset[str] | None:
        """The types of its nodes, after optimisation; ``None`` if this onnxruntime does not say."""
        return frozenset().union(*self._operators.values()) if self._operators else None

    @property
    def producer(self) -> str:
        """What made the file, as it says itself."""
        return str(self._session.get_modelmeta().producer_name)

    def device(self) -> dict[str, Any]:
        """What a trace's header says of where the model runs: ``provider`` is what runs it, not what was offered."""
        placement = self.placement()
        facts = {
            "provider": ", ".join(placement) if placement else None,
            "placement": placement,
            "requested": [self._offered.name],
            "threads": self._threads,
            "onnxruntime": ort.__version__,
        }
        # A path in an option is the user's own: its last part says enough.
        told = {key: value.replace("\\", "/").rsplit("/", 1)[-1] for key, value in self._provider.options.items()}
        return facts | ({"options": told} if told else {}) | _named(self._offered.device)

    def close(self) -> None:
        """Give the session up. What still wants to run it gets an ``EngineFault``."""
        self._run = self.bound_pass = self._dead

    def measure(self, spent: Callable[[float], None], clock: Callable[[], float] = time.perf_counter) -> None:
        """From now on tell ``spent`` the seconds of each pass inside onnxruntime; without this nothing is measured."""

        run, bound_pass = self._run, self.bound_pass

        def measured_run(outputs: list[str], feeds: dict[str, NDArray[Any]]) -> Any:
            began = clock()
            results = run(outputs, feeds)
            spent(clock() - began)
            return results

        def measured_pass(binding: Any) -> None:
            began = clock()
            bound_pass(binding)
            spent(clock() - began)

        self._run, self.bound_pass = measured_run, measured_pass

    def settle(self, given: Mapping[str, NDArray[Any]]) -> None:
        """Fill these inputs in every pass from now on; they are no longer among ``inputs``."""
        self._settled |= given
        self.inputs = {name: signature for name, signature in self.inputs.items() if name not in given}

    def run(self, outputs: list[str], feeds: dict[str, NDArray[Any]]) -> list[NDArray[Any]]:
        """One pass with arrays of any shape.

        Raises:
            EngineFault: the session is closed, or the pass failed.
        """
        try:
            results: list[NDArray[Any]] = self._run(outputs, feeds | self._settled)
        except ORT_ERRORS as error:
            raise self.failed(error) from error
        return results

    def binding(self) -> Any:
        """A new ``IOBinding``, empty but for what is settled."""
        made = self._session.io_binding()
        for name, value in self._settled.items():
            made.bind_ortvalue_input(name, ort.OrtValue.ortvalue_from_numpy(value))
        return made

    def run_bound(self, binding: Any) -> None:
        """One pass over what is bound.

        Raises:
            EngineFault: the session is closed, or the pass failed.
        """
        try:
            self.bound_pass(binding)
        except PASS_ERRORS as error:
            raise self.failed(error) from error

    def failed(self, error: Exception) -> EngineFault:
        """What to raise for a pass that onnxruntime gave up."""
        return EngineFault(f"{self.name}: the pass failed in onnxruntime: {first_line(error)}")

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
        self._session = session
        self.lengths = np.zeros(2, np.int32)
        """What every pass is told: the last position, and how many there are; one memory for all passes."""
        self._told = {
            name: ort.OrtValue.ortvalue_from_numpy(value)
            for name, value in zip(_LENGTHS, (self.lengths[:1], self.lengths[1:].reshape(())), strict=True)
        }
        self._values = {
            name.removeprefix(_PAST): ort.OrtValue.ortvalue_from_numpy(
                np.zeros((1, session.size(name, 1), capacity, session.size(name, 3)), np.float32)
            )
            for name in session.inputs
            if name.startswith(_PAST)
        }

    def require(self, *names: str) -> None:
        """As ``Session.require``."""
        self._session.require(*names)

    def size(self, name: str, axis: int = -1) -> int:
        """As ``Session.size``."""
        return self._session.size(name, axis)

    def pass_(self, inputs: Mapping[str, NDArray[Any]], outputs: Mapping[str, NDArray[Any]]) -> "Pass":
        """A pass over these arrays."""
        return Pass(self._session, self, inputs, outputs)

    def bind(self, binding: Any) -> None:
        """Bind it, and the lengths, for a pass."""
        for name, value in self._told.items():
            binding.bind_ortvalue_input(name, value)
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
        self._session = session
        self._lengths = cache.lengths
        self._binding = session.binding()
        self._values = {name: ort.OrtValue.ortvalue_from_numpy(array) for name, array in inputs.items()}
        for name, array in outputs.items():
            self._binding.bind_ortvalue_output(name, ort.OrtValue.ortvalue_from_numpy(array))
        self._cache = cache
        self._bind_inputs()
        self._again = session.copies_inputs
        self.inputs = inputs
        self.outputs = outputs

    def run(self, length_after: int) -> None:
        """Run; ``length_after`` is how many positions the cache holds afterwards. Raises as ``Session.run_bound``."""
        lengths = self._lengths
        lengths[0] = length_after - 1
        lengths[1] = length_after
        if self._again:
            self._bind_inputs()
        try:
            self._session.bound_pass(self._binding)
        except PASS_ERRORS as error:
            raise self._session.failed(error) from error

    def _bind_inputs(self) -> None:
        for name, value in self._values.items():
            self._binding.bind_ortvalue_input(name, value)
        self._cache.bind(self._binding)


def _operators(session: Any) -> dict[str, Counter[str]]:
    """Kinds of operators by the provider that was given them."""
    kinds: dict[str, Counter[str]] = {}
    if _SAYS_PLACES:
        for part in session.get_provider_graph_assignment_info():
            kinds.setdefault(part.ep_name, Counter()).update(node.op_type for node in part.get_nodes())
    return kinds


def _named(device: Device | None) -> dict[str, str]:
    """A device for a trace's header: what is known of it."""
    if device is None:
        return {}
    facts = {"kind": device.kind, "name": device.name, "vendor": device.vendor, "provider_version": device.version}
    return {key: value for key, value in facts.items() if value}
