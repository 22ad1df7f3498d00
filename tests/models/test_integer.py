"""Block drafters of an int8 bundle are multiplied in int8, and give nearly what they give in float32."""

from pathlib import Path

import numpy as np
import onnx
import pytest
from numpy.typing import NDArray

from engine.models.unpack import stored, unstacked
from engine.models.weights import Storage
from engine.session import Session
from tests.models import tiny

KINDS = ("dflash", "dflash2")


def logits(session: Session) -> NDArray[np.float32]:
    rng = np.random.default_rng(5)
    feeds: dict[str, NDArray[np.generic]] = {"input_ids": np.array([[65]])}
    for name in session.inputs:
        if name.startswith("past_key_values."):
            feeds[name] = np.zeros((1, 0, session.size(name, 2), session.size(name, 3)), np.float32)
    feeds["taps"] = rng.normal(size=(1, 6, session.size("taps"))).astype(np.float32)
    return np.asarray(session.run(["logits"], feeds)[0])


@pytest.mark.parametrize("kind", KINDS)
def test_integer_products_are_near_the_float_ones(tmp_path: Path, kind: str) -> None:
    nets = tiny.networks(3)
    for storage in (Storage.FLOAT32, Storage.INT8):
        tiny.write(tmp_path / storage, nets, storage=storage)
    exact, near = (logits(Session(tmp_path / storage / f"{kind}.onnx")) for storage in (Storage.FLOAT32, Storage.INT8))
    assert np.corrcoef(exact.ravel(), near.ravel())[0, 1] > 0.99
    assert not np.array_equal(exact, near)


@pytest.mark.parametrize("kind", KINDS)
def test_only_the_drafters_multiply_integers(tmp_path: Path, kind: str) -> None:
    tiny.write(tmp_path, tiny.networks(3), storage=Storage.INT8)
    ops = {
        name: {node.op_type for node in onnx.load(str(tmp_path / f"{name}.onnx")).graph.node}
        for name in ("base", "mtp", kind)
    }
    assert [name for name in ops if "DynamicQuantizeMatMul" in ops[name]] == [kind]


@pytest.mark.parametrize("kind", KINDS)
def test_the_weights_of_an_integer_graph_come_back(tmp_path: Path, kind: str) -> None:
    nets = tiny.networks(3)
    tiny.write(tmp_path, nets, storage=Storage.INT8)
    wanted = {f"{kind}.{name}": array for name, array in (getattr(nets, kind) or {}).items() if "_proj.weight" in name}
    found = unstacked(stored(tmp_path / f"{kind}.onnx"), {name: array.shape for name, array in wanted.items()})
    for name, array in wanted.items():
        np.testing.assert_allclose(found[name], array, rtol=0, atol=0.01 * float(np.abs(array).max()))
