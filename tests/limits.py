"""How long a test waits for something that a slow machine does late and a broken program never does."""

HANG = 300.0
"""Seconds. Nothing is asserted about a time: this only ends what would wait for ever."""
