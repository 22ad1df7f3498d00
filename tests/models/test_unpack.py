"""What a bundle's graphs read can be read back."""

from pathlib import Path

import numpy as np
import pytest

from engine.models.unpack import stored, unstacked
from engine.models.weights import Storage
from tests.models import tiny


@pytest.mark.parametrize("storage", list(Storage))
def test_the_weights_of_a_graph_come_back_as_they_were_written(tmp_path: Path, storage: Storage) -> None:
    nets = tiny.networks(1)
    tiny.write(tmp_path, nets, storage=storage)
    found = unstacked(stored(tmp_path / "base.onnx"), {name: array.shape for name, array in nets.base.items()})
    assert found.keys() == nets.base.keys()
    for name, array in nets.base.items():
        tolerance = 0.0 if storage is Storage.FLOAT32 else 0.01 * float(np.abs(array).max())
        np.testing.assert_allclose(found[name], array, rtol=0, atol=tolerance)


def test_a_weight_that_the_graph_does_not_read_is_named(tmp_path: Path) -> None:
    tiny.write(tmp_path, tiny.networks(1))
    with pytest.raises(ValueError, match=r"the graph has no layers\.9\.norm"):
        unstacked(stored(tmp_path / "base.onnx"), {"layers.9.norm": (1,)})
