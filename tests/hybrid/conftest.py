"""Every graph is written and loaded once."""

from collections.abc import Callable

import pytest

from engine.models.bundled import Bundle
from engine.session import Session
from tests.hybrid.tiny_hybrid import Plan, write
from tests.models.tiny import networks
from tests.models.tiny import write as write_bundle

Graphs = Callable[[Plan], Session]


@pytest.fixture(scope="session")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Graphs:
    folder = tmp_path_factory.mktemp("hybrid")
    known: dict[Plan, Session] = {}

    def session(plan: Plan) -> Session:
        if plan not in known:
            known[plan] = Session(write(folder, plan))
        return known[plan]

    return session


@pytest.fixture(scope="session")
def heads(tmp_path_factory: pytest.TempPathFactory) -> Bundle:
    """Drafters that read hidden states and taps of the width that these bases give."""
    return write_bundle(tmp_path_factory.mktemp("heads"), networks(seed=3))
