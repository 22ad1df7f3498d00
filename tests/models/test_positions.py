"""A rotation is told the position of every row: a provider may not count on from the first one (OpenVINO does not)."""

from pathlib import Path

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from onnx import TensorProto, helper

from tests.models import tiny


@pytest.mark.parametrize(("past", "new"), [(0, 1), (5, 1), (11, 4)])
@pytest.mark.parametrize("kind", ["dflash", "dflash2"])
def test_every_row_of_a_block_drafter_has_a_position_of_its_own(tmp_path: Path, kind: str, past: int, new: int) -> None:
    tiny.write(tmp_path, tiny.networks(3))
    model = onnx.load(str(tmp_path / f"{kind}.onnx"))
    positions = [node.input[1] for node in model.graph.node if node.op_type == "RotaryEmbedding"]
    for name in dict.fromkeys(positions):
        model.graph.output.append(helper.make_tensor_value_info(name, TensorProto.INT64, None))
    session = ort.InferenceSession(model.SerializeToString())
    sizes = {"P": past, "S": new}
    types = {"tensor(float)": np.float32, "tensor(int64)": np.int64}
    feeds = {
        node.name: np.zeros([sizes.get(size, size) for size in node.shape], types[node.type])
        for node in session.get_inputs()
    }

    rows = session.run(positions, feeds)

    block = np.arange(past + new, past + new + tiny.BLOCK)
    assert len(rows) == 2 * 2
    for query, key in zip(rows[::2], rows[1::2], strict=True):
        np.testing.assert_array_equal(query, block[None])
        np.testing.assert_array_equal(key, np.arange(past, past + new + tiny.BLOCK)[None])


def test_no_other_graph_of_a_bundle_rotates_by_a_first_position(tmp_path: Path) -> None:
    """The others rotate inside GroupQueryAttention, by the lengths that it is given."""
    tiny.write(tmp_path, tiny.networks(3))
    for name in ("base", "mtp"):
        ops = {node.op_type for node in onnx.load(str(tmp_path / f"{name}.onnx")).graph.node}
        assert "GroupQueryAttention" in ops
        assert "RotaryEmbedding" not in ops
