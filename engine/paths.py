"""Where specstep keeps what it was given, by the platform's own rules (on Linux the XDG directories)."""

from pathlib import Path

import platformdirs

APP = "specstep"


def models_dir() -> Path:
    """The folder of the models that were added, one folder each. It is made when the first is added."""
    return Path(platformdirs.user_data_dir(APP, appauthor=False)) / "models"
