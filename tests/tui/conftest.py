"""What all tests of the screen need."""

import pytest

from tui.screens.main import MainScreen


@pytest.fixture(autouse=True)
def digits_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a busy machine more than a second may pass between two keys of a count."""
    monkeypatch.setattr(MainScreen, "DIGIT_WAITS", 600.0)
