"""What all tests of the screen need."""

import pytest

from tests.tui.quiet import QuietLoop, quiet
from tui.screens.main import MainScreen


def pytest_asyncio_loop_factories() -> dict[str, type[QuietLoop]]:
    """The loop under every test here."""
    return {"quiet": QuietLoop}


@pytest.fixture(autouse=True)
def digits_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a busy machine more than a second may pass between two keys of a count."""
    monkeypatch.setattr(MainScreen, "DIGIT_WAITS", 600.0)


@pytest.fixture(autouse=True)
def pilots_wait_for_a_quiet_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    """A pilot goes on when all messages are handled, and not when some time has passed."""
    monkeypatch.setattr("textual.app.wait_for_idle", quiet)
    monkeypatch.setattr("textual.pilot.wait_for_idle", quiet)
