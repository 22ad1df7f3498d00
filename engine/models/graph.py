"""Builds an ONNX graph node by node, with its matrices in a weight file that other graphs may share."""

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

from engine.models.weights import Storage, Stored, WeightFile, quantize_rows

CONTRIB = "com.microsoft"
OPSET, IR_VERSION = 21, 10

Weights = Mapping[str, NDArray[np.float32]]
"""Arrays by their Hugging Face names without the leading ``model.``; a matrix is ``[out, in]``."""


class Graph:
    """One graph under construction. Values are named by strings; every method that adds a node returns its output."""

    def __init__(
        self, name: str, weights: Weights, file: WeightFile, storage: Storage, *, integer: bool = False
    ) -> None:
        """``integer``: what is stored as int8 is multiplied as int8 too, by rows that are quantised in each pass.

        That is three times as fast where a pass waits for its weights, and good enough for drafts, which are checked.
        """
        self.name = name
        self._integer = integer and storage is Storage.INT8
        self.weights = weights
        self._file = file
        self._storage = storage
        self._nodes: list[onnx.NodeProto] = []
        self._inputs: list[onnx.ValueInfoProto] = []
        self._outputs: list[onnx.ValueInfoProto] = []
        self._initializers: dict[str, TensorProto] = {}
        self._matrices: dict[str, str] = {}

    def input(self, name: str, shape: Sequence[int | str], dtype: int = TensorProto.FLOAT) -> str:
        self._inputs.append(helper.make_tensor_value_info(name, dtype, shape))
        return name

    def output(self, value: str, name: str, shape: Sequence[int | str], dtype: int = TensorProto.FLOAT) -> None:
        """Give ``value`` to the outside as ``name``."""
        if value != name:
            self._nodes.append(helper.make_node("Identity", [value], [name]))
        self._outputs.append(helper.make_tensor_value_info(name, dtype, shape))

    def ops(
        self, kind: str, inputs: Sequence[str], outputs: int | Sequence[str], domain: str = "", **attributes: Any
    ) -> list[str]:
        """A node with several outputs, or with outputs that have given names (an empty one is left out)."""
        label = f"{kind}_{len(self._nodes)}"
        names = [f"{label}.{i}" for i in range(outputs)] if isinstance(outputs, int) else list(outputs)
        self._nodes.append(helper.make_node(kind, list(inputs), names, name=label, domain=domain, **attributes))
        return names

    def op(self, kind: str, *inputs: str, domain: str = "", **attributes: Any) -> str:
        """A node with one output."""
        return self.ops(kind, inputs, 1, domain, **attributes)[0]

    def integers(self, *values: int) -> str:
        """A constant ``int64 [n]``."""
        name = "i64_" + "_".join(map(str, values))
        self._initializers.setdefault(name, numpy_helper.from_array(np.array(values, np.int64), name))
        return name

    def vector(self, name: str, array: NDArray[np.float32] | None = None) -> str:
        """A float32 tensor of the weight file, by default the weight of that name, kept as it is."""
        return self._refer(self._file.add(name, np.asarray(self.weights[name] if array is None else array, np.float32)))

    def matrix(self, name: str) -> str:
        """The weight ``name`` as a float32 constant ``[out, in]``, whatever its storage."""
        if name not in self._matrices:
            self._matrices[name] = self._store(name, np.asarray(self.weights[name], np.float32), scale_axis=0)
        return self._matrices[name]

    def linear(self, x: str, *names: str) -> str:
        """``x @ W.T + b`` for the weights of ``names`` side by side, ``b`` where there are biases: one node each."""
        stacked = [np.asarray(self.weights[f"{name}.weight"], np.float32) for name in names]
        label = "+".join(names)
        matrix = np.concatenate(stacked) if len(stacked) > 1 else stacked[0]
        del stacked  # matrices of a large model, one of which may take gigabytes
        out = self._product(x, f"{label}.transposed", matrix)
        if f"{names[0]}.bias" not in self.weights:
            return out
        bias = np.concatenate([np.asarray(self.weights[f"{name}.bias"], np.float32) for name in names])
        return self.op("Add", out, self.vector(f"{label}.bias", bias))

    def save(self, path: Path) -> str:
        """Write the graph beside its weight file; the SHA-256 of its nodes and of every tensor that it reads.

        The digest does not depend on where in the weight file a tensor stands, nor on what else the file holds.
        """
        graph = helper.make_graph(
            self._nodes, self.name, self._inputs, self._outputs, list(self._initializers.values())
        )
        model = helper.make_model(
            graph,
            opset_imports=[helper.make_opsetid("", OPSET), helper.make_opsetid(CONTRIB, 1)],
            ir_version=IR_VERSION,
            producer_name="specstep",
        )
        path.write_bytes(model.SerializeToString())
        digest = hashlib.sha256()
        for node in self._nodes:
            digest.update(node.SerializeToString(deterministic=True))
        for name, tensor in sorted(self._initializers.items()):
            digest.update(name.encode())
            digest.update(self._file.digest(name) or tensor.raw_data)
        return digest.hexdigest()

    def _product(self, x: str, name: str, matrix: NDArray[np.float32]) -> str:
        """``x @ matrix.T``, with the matrix stored transposed as ``name``."""
        if not self._integer:
            return self.op("MatMul", x, self._store(name, matrix.T, scale_axis=1))
        rows, scales = quantize_rows(matrix, top=63)
        numbers = self._refer(self._file.add(f"{name}.int8", rows.T))
        factors = self._refer(self._file.add(f"{name}.scales", scales[:, 0]))
        return self.op("DynamicQuantizeMatMul", x, numbers, factors, domain=CONTRIB)

    def _store(self, name: str, array: NDArray[np.float32], scale_axis: int) -> str:
        """A matrix on disk in the storage of this graph, cast to float32 by nodes that fold away at load.

        ``scale_axis`` is the axis of the matrix's outputs, each of which has its own int8 scale.
        """
        match self._storage:
            case Storage.FLOAT32:
                return self._refer(self._file.add(name, array))
            case Storage.FLOAT16:
                return self._float(self._refer(self._file.add(f"{name}.f16", array.astype(np.float16))))
            case Storage.INT8:
                rows, scales = quantize_rows(array if scale_axis == 0 else array.T)
                if scale_axis == 1:
                    rows, scales = rows.T, scales.T
                numbers = self._float(self._refer(self._file.add(f"{name}.int8", rows)))
                return self.op("Mul", numbers, self._refer(self._file.add(f"{name}.scales", scales)))

    def _float(self, value: str) -> str:
        return self.op("Cast", value, to=TensorProto.FLOAT)

    def _refer(self, stored: Stored) -> str:
        self._initializers.setdefault(stored.name, stored.proto(self._file.path.name))
        return stored.name
