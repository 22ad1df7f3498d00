"""Graphs that are no base, each with a sentence that says why."""

from collections.abc import Callable
from pathlib import Path

import onnx
import pytest
from onnx import TensorProto, helper

from engine.base.arrays import ArrayPasses
from engine.errors import ModelError
from engine.session import Session
from tests.hybrid.tiny_hybrid import Plan, write


def changed(folder: Path, change: Callable[[onnx.GraphProto], None]) -> Session:
    path = write(folder, Plan())
    model = onnx.load(str(path))
    change(model.graph)
    onnx.save(model, str(path))
    return Session(path)


def drop_output(name: str) -> Callable[[onnx.GraphProto], None]:
    def change(graph: onnx.GraphProto) -> None:
        kept = [output for output in graph.output if output.name != name]
        del graph.output[:]
        graph.output.extend(kept)

    return change


def add_input(name: str, dtype: int, shape: list[int | str]) -> Callable[[onnx.GraphProto], None]:
    def change(graph: onnx.GraphProto) -> None:
        graph.input.append(helper.make_tensor_value_info(name, dtype, shape))

    return change


def add_state(dtype: int, past: list[int | str], present: list[int | str]) -> Callable[[onnx.GraphProto], None]:
    def change(graph: onnx.GraphProto) -> None:
        add_input("past.9.conv", dtype, past)(graph)
        axes = helper.make_node("Constant", [], ["axes"], value_ints=list(range(1, 1 + len(present) - len(past))))
        graph.node.extend([axes, helper.make_node("Unsqueeze", ["past.9.conv", "axes"], ["present.9.conv"])])
        graph.output.append(helper.make_tensor_value_info("present.9.conv", dtype, present))

    return change


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (drop_output("present.0.conv"), "the graph has no present.0.conv"),
        (drop_output("logits"), "the graph has no logits"),
        (add_input("pixel_values", TensorProto.FLOAT, [1, 3]), "the graph wants pixel_values"),
        (add_state(TensorProto.INT64, [1, 4], [1, "n", 4]), r"past.9.conv is tensor\(int64\): a state has to be float"),
        (add_state(TensorProto.FLOAT, [1, 4], [1, "n", "m", 4]), "present.9.conv has 2 more axes than past.9.conv"),
        (add_state(TensorProto.FLOAT, [1, "a", 4], [1, "n", "a", 4]), "present.9.conv has 1 more axes"),
        (add_state(TensorProto.FLOAT, [1, "a", "b"], [1, "n", "a", "b"]), "where dimension 2 has to be fixed"),
    ],
)
def test_a_graph_that_cannot_be_a_base_is_a_model_error(
    tmp_path: Path, change: Callable[[onnx.GraphProto], None], says: str
) -> None:
    session = changed(tmp_path, change)
    with pytest.raises(ModelError, match=says):
        ArrayPasses(session)


def test_a_graph_with_logits_of_the_last_row_only_cannot_verify(tmp_path: Path) -> None:
    session = Session(write(tmp_path, Plan(last_row_only=True)))
    with pytest.raises(ModelError, match="logits of the last row only, and cannot verify a draft"):
        ArrayPasses(session)
