"""Tiny random graphs with state that cannot be cut, of standard ONNX operators: delta rule, convolution, attention."""

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

VOCAB, HIDDEN, CONTEXT = 257, 32, 400
HEADS, SIZE, KERNEL = 2, 8, 4
WIDTH = HEADS * SIZE


@dataclasses.dataclass(frozen=True)
class Plan:
    """What a graph is made of. ``by_row`` gives the constant-size states after every row; the rest are layouts met."""

    layers: tuple[str, ...] = ("linear", "attention", "linear")
    by_row: bool = False
    mask: bool = True
    three_positions: bool = False
    logits_from: bool = False
    last_row_only: bool = False
    dtype: int = TensorProto.FLOAT
    seed: int = 0


def write(folder: Path, plan: Plan) -> Path:
    """Write the graph; its file."""
    path = folder / f"{abs(hash(plan))}.onnx"
    onnx.save(_Builder(plan).model(), str(path))
    return path


class _Builder:
    """Values are named by strings; every method that adds nodes returns its output."""

    def __init__(self, plan: Plan, prefix: str = "") -> None:
        self.plan, self.prefix = plan, prefix
        self.rng = np.random.default_rng(plan.seed)
        self.nodes: list[onnx.NodeProto] = []
        self.constants: list[TensorProto] = []
        self.inputs: list[onnx.ValueInfoProto] = []
        self.outputs: list[onnx.ValueInfoProto] = []

    def model(self) -> onnx.ModelProto:
        ids = self.input("input_ids", [1, "n"], TensorProto.INT64)
        positions = self.input(
            "position_ids", [3, 1, "n"] if self.plan.three_positions else [1, "n"], TensorProto.INT64
        )
        if self.plan.three_positions:
            positions = self.op("Gather", positions, self.ints(0, scalar=True), axis=0)
        self.positions = positions
        self.total = (
            self.op("Shape", self.input("attention_mask", [1, "total"], TensorProto.INT64), start=1, end=2)
            if self.plan.mask
            else self.op("Add", self.op("ReduceMax", positions, keepdims=0), self.ints(1))
        )
        x = self.op("Add", self.op("Gather", self.weight(VOCAB, HIDDEN), ids), self.embedded_positions())
        taps = []
        for i, kind in enumerate(self.plan.layers):
            normed = self.norm(x)
            change = self.attention(normed, i) if kind == "attention" else self.linear(normed, i)
            x = self.op("Add", x, change)
            taps.append(x)
        hidden = self.norm(x)
        self.output(hidden, "hidden", [1, "n", HIDDEN])
        self.output(self.op("Concat", taps[0], taps[-1], axis=-1), "taps", [1, "n", 2 * HIDDEN])
        if self.plan.logits_from:
            first = self.input("logits_from", [1], TensorProto.INT64)
            hidden = self.op("Slice", hidden, first, self.ints(2**62), self.ints(1))
        if self.plan.last_row_only:
            hidden = self.op("Slice", hidden, self.ints(-1), self.ints(2**62), self.ints(1))
        logits = self.op("MatMul", hidden, self.weight(HIDDEN, VOCAB, 2.0))
        self.output(logits, "logits", [1, 1 if self.plan.last_row_only else "rows", VOCAB])
        graph = helper.make_graph(self.nodes, "tiny", self.inputs, self.outputs, self.constants)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)

    def linear(self, x: str, layer: int) -> str:
        """A causal convolution over queries, keys and values, then the gated delta rule.

        ``S <- a S + b k (v - k (a S))``, row by row, and ``q S`` out.
        """
        packed = self.op("MatMul", x, self.weight(HIDDEN, 3 * WIDTH))
        mixed = self.convolution(packed, layer)
        mixed = self.op("Mul", mixed, self.op("Sigmoid", mixed))
        rows = self.op("Reshape", mixed, self.ints(-1, 3, HEADS, SIZE))
        q, k, v = (self.op("Gather", rows, self.ints(part, scalar=True), axis=1) for part in range(3))
        k = self.op("LpNormalization", k, axis=-1, p=2)
        gates = self.op("MatMul", x, self.weight(HIDDEN, 2 * HEADS))
        gates = self.op("Sigmoid", self.op("Add", gates, self.tensor(np.array([2.0] * HEADS + [0.0] * HEADS))))
        gates = self.op("Reshape", gates, self.ints(-1, 2, HEADS, 1, 1))
        a, b = (self.op("Gather", gates, self.ints(part, scalar=True), axis=1) for part in range(2))
        past = self.state(f"past.{layer}.recurrent", [1, HEADS, SIZE, SIZE])
        start = self.op("Squeeze", past, self.ints(0))
        final, out, states = self.ops(
            "Scan", [start, q, k, v, a, b], 3, num_scan_inputs=5, body=_delta_rule(), name=f"scan_{layer}"
        )
        by_row = self.plan.by_row
        kept = self.op("Unsqueeze", states if by_row else final, self.ints(0))
        self.output(
            self.cast(kept),
            f"present.{layer}.recurrent",
            [1, *(["n"] if by_row else []), HEADS, SIZE, SIZE],
            self.plan.dtype,
        )
        return self.op("MatMul", self.op("Reshape", out, self.ints(1, -1, WIDTH)), self.weight(WIDTH, HIDDEN, 3.0))

    def convolution(self, x: str, layer: int) -> str:
        """A depthwise causal convolution over the last ``KERNEL`` rows."""
        channels = 3 * WIDTH
        past = self.state(f"past.{layer}.conv", [1, channels, KERNEL - 1])
        columns = self.op("Concat", past, self.op("Transpose", x, perm=[0, 2, 1]), axis=2)
        kernel = self.tensor(self.rng.normal(0, 1, (channels, 1, KERNEL)))
        mixed = self.op("Conv", columns, kernel, group=channels)
        if self.plan.by_row:
            # After row j the state is columns j + 1 to j + KERNEL - 1.
            ends = [self.ints(i + 1) for i in range(KERNEL - 1)]
            stops = [self.ints(i - KERNEL + 2) if i < KERNEL - 2 else self.ints(2**62) for i in range(KERNEL - 1)]
            slices = [
                self.op("Unsqueeze", self.op("Slice", columns, start, stop, self.ints(2)), self.ints(3))
                for start, stop in zip(ends, stops, strict=True)
            ]
            kept = self.op("Transpose", self.op("Concat", *slices, axis=3), perm=[0, 2, 1, 3])
            shape: list[int | str] = [1, "n", channels, KERNEL - 1]
        else:
            kept = self.op("Slice", columns, self.ints(1 - KERNEL), self.ints(2**62), self.ints(2))
            shape = [1, channels, KERNEL - 1]
        self.output(self.cast(kept), f"present.{layer}.conv", shape, self.plan.dtype)
        return self.op("Transpose", mixed, perm=[0, 2, 1])

    def attention(self, x: str, layer: int) -> str:
        """Causal attention over keys and values that grow."""
        packed = self.op(
            "Reshape", self.op("MatMul", x, self.weight(HIDDEN, 3 * WIDTH, 2.0)), self.ints(1, -1, 3, HEADS, SIZE)
        )
        packed = self.op("Transpose", packed, perm=[2, 0, 3, 1, 4])
        q, k, v = (self.op("Gather", packed, self.ints(part, scalar=True), axis=0) for part in range(3))
        shape: list[int | str] = [1, HEADS, "past", SIZE]
        for part, new in (("key", k), ("value", v)):
            past = self.state(f"past_key_values.{layer}.{part}", shape)
            both = self.op("Concat", past, new, axis=2)
            self.output(self.cast(both), f"present.{layer}.{part}", [1, HEADS, "all", SIZE], self.plan.dtype)
            k, v = (both, v) if part == "key" else (k, both)
        scores = self.op("MatMul", q, self.op("Transpose", k, perm=[0, 1, 3, 2]))
        places = self.op("Range", self.ints(0, scalar=True), self.op("Squeeze", self.total), self.ints(1, scalar=True))
        seen = self.op("LessOrEqual", places, self.op("Unsqueeze", self.positions, self.ints(2)))
        scores = self.op("Where", seen, scores, self.tensor(np.array(-1e9)))
        out = self.op("Transpose", self.op("MatMul", self.op("Softmax", scores), v), perm=[0, 2, 1, 3])
        return self.op("MatMul", self.op("Reshape", out, self.ints(1, -1, WIDTH)), self.weight(WIDTH, HIDDEN))

    def embedded_positions(self) -> str:
        return self.op("Gather", self.weight(CONTEXT + 8, HIDDEN), self.positions)

    def norm(self, x: str) -> str:
        return self.op("LayerNormalization", x, self.tensor(np.ones(HIDDEN)))

    def state(self, name: str, shape: list[Any]) -> str:
        value = self.input(name, shape, self.plan.dtype)
        return value if self.plan.dtype == TensorProto.FLOAT else self.op("Cast", value, to=TensorProto.FLOAT)

    def cast(self, value: str) -> str:
        return value if self.plan.dtype == TensorProto.FLOAT else self.op("Cast", value, to=self.plan.dtype)

    def input(self, name: str, shape: list[Any], dtype: int) -> str:
        self.inputs.append(helper.make_tensor_value_info(name, dtype, shape))
        return name

    def output(self, value: str, name: str, shape: list[Any], dtype: int = TensorProto.FLOAT) -> None:
        self.nodes.append(helper.make_node("Identity", [value], [name]))
        self.outputs.append(helper.make_tensor_value_info(name, dtype, shape))

    def op(self, kind: str, *inputs: str, **attributes: Any) -> str:
        return self.ops(kind, list(inputs), 1, **attributes)[0]

    def ops(self, kind: str, inputs: list[str], outputs: int, **attributes: Any) -> list[str]:
        names = [f"{self.prefix}{kind}_{len(self.nodes)}_{i}" for i in range(outputs)]
        self.nodes.append(helper.make_node(kind, inputs, names, **attributes))
        return names

    def ints(self, *values: int, scalar: bool = False) -> str:
        return self.tensor(np.array(values[0] if scalar else values, np.int64))

    def weight(self, rows: int, columns: int, scale: float = 1.0) -> str:
        return self.tensor(self.rng.normal(0, scale * min(rows, HIDDEN) ** -0.5, (rows, columns)))

    def tensor(self, array: NDArray[Any]) -> str:
        name = f"{self.prefix}c{len(self.constants)}"
        typed = array if array.dtype == np.int64 else array.astype(np.float32)
        self.constants.append(numpy_helper.from_array(typed, name))
        return name


def _delta_rule() -> onnx.GraphProto:
    """One row: state and q, k, v ``[heads, size]``, a, b ``[heads, 1, 1]`` to state, output and the state once more."""
    builder = _Builder(Plan(), "row_")
    state, square = "s", [HEADS, SIZE, SIZE]
    names = [builder.input(name, [HEADS, SIZE], TensorProto.FLOAT) for name in ("q", "k", "v")]
    builder.inputs.insert(0, helper.make_tensor_value_info(state, TensorProto.FLOAT, square))
    for name in ("a", "b"):
        builder.input(name, [HEADS, 1, 1], TensorProto.FLOAT)
    q, k, v = (builder.op("Unsqueeze", name, builder.ints(1)) for name in names)
    faded = builder.op("Mul", state, "a")
    wrong = builder.op("Sub", v, builder.op("MatMul", k, faded))
    added = builder.op("MatMul", builder.op("Transpose", k, perm=[0, 2, 1]), builder.op("Mul", wrong, "b"))
    after = builder.op("Add", faded, added)
    builder.output(after, "after", square)
    builder.output(builder.op("MatMul", q, after), "out", [HEADS, 1, SIZE])
    builder.output(after, "again", square)
    return helper.make_graph(builder.nodes, "delta", builder.inputs, builder.outputs, builder.constants)
