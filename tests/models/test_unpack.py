"""What a bundle's graphs read can be read back."""

from pathlib import Path

import numpy as np
import pytest

from engine.models.bundle_writer import Networks
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


@pytest.mark.parametrize("kind", ["mtp", "dflash", "dflash2"])
def test_the_weights_of_a_drafter_come_back_too(tmp_path: Path, kind: str) -> None:
    nets = tiny.networks(1)
    tiny.write(tmp_path, nets)
    weights = {f"{kind}.{name}": array for name, array in (getattr(nets, kind) or {}).items()}
    found = unstacked(stored(tmp_path / f"{kind}.onnx"), {name: array.shape for name, array in weights.items()})
    assert found.keys() == weights.keys()
    for name, array in weights.items():
        np.testing.assert_array_equal(found[name], array)


@pytest.mark.parametrize("storage", list(Storage))
def test_what_was_read_back_makes_the_same_bundle_again(tmp_path: Path, storage: Storage) -> None:
    nets = tiny.networks(1)
    tiny.write(tmp_path / "first", nets, storage=storage)
    read: dict[str, dict[str, np.ndarray]] = {}
    for kind, prefix in (("base", ""), *((kind, f"{kind}.") for kind in ("mtp", "dflash", "dflash2"))):
        shapes = {prefix + name: array.shape for name, array in getattr(nets, kind).items()}
        arrays = unstacked(stored(tmp_path / "first" / f"{kind}.onnx"), shapes)
        read[kind] = {name.removeprefix(prefix): array for name, array in arrays.items()}
    tiny.write(tmp_path / "again", Networks(**read), storage=storage)
    files = {path.name for path in (tmp_path / "first").iterdir()}
    assert {"base.onnx", "dflash2.onnx", "weights.bin", "bundle.json"} < files
    for name in files:
        assert (tmp_path / "again" / name).read_bytes() == (tmp_path / "first" / name).read_bytes(), name


def test_a_weight_that_the_graph_does_not_read_is_named(tmp_path: Path) -> None:
    tiny.write(tmp_path, tiny.networks(1))
    with pytest.raises(ValueError, match=r"the graph has no layers\.9\.norm"):
        unstacked(stored(tmp_path / "base.onnx"), {"layers.9.norm": (1,)})
