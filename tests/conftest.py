"""Settings for all tests: on a slow machine no example is too slow, and the same examples are tried every time."""

import os
from collections.abc import Iterator

import pytest
from hypothesis import settings

settings.register_profile("gate", deadline=None, derandomize=True, database=None)
settings.load_profile("gate")


@pytest.fixture(autouse=True, scope="session")
def own_folders(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """What is kept between two starts is kept apart from that of whoever runs the tests."""
    kinds = ("CONFIG", "DATA", "STATE", "CACHE")
    kept = {name: os.environ.get(name) for name in (f"XDG_{kind}_HOME" for kind in kinds)}
    for name in kept:
        os.environ[name] = str(tmp_path_factory.mktemp(name.lower()))
    yield
    for name, value in kept.items():
        os.environ.pop(name)
        if value is not None:
            os.environ[name] = value
