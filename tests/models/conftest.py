"""One tiny bundle for all tests that only read it."""

import pytest

from engine.models.bundle_writer import Networks
from engine.models.bundled import Bundle
from tests.models.reference import Reference
from tests.models.tiny import SIZES, networks, write


@pytest.fixture(scope="session")
def nets() -> Networks:
    return networks(seed=3)


@pytest.fixture(scope="session")
def bundle(nets: Networks, tmp_path_factory: pytest.TempPathFactory) -> Bundle:
    return write(tmp_path_factory.mktemp("tiny"), nets)


@pytest.fixture(scope="session")
def reference(nets: Networks) -> Reference:
    return Reference(SIZES, nets.base)
