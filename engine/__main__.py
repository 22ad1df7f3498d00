"""``python -m engine``: the commands that need no screen."""

from engine.cli import app

app()
