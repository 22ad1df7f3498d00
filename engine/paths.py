"""Where specstep keeps what it was given, by the platform's own rules (on Linux the XDG directories)."""

from pathlib import Path

import platformdirs

APP = "specstep"


def models_dir() -> Path:
    """The folder of the models that were added, one folder each. It is made when the first is added."""
    return Path(platformdirs.user_data_dir(APP, appauthor=False)) / "models"


def config_file() -> Path:
    """The file in which a person sets keys and the theme. It need not be there."""
    return Path(platformdirs.user_config_dir(APP, appauthor=False)) / "config.toml"


def recent_file() -> Path:
    """The list of the traces that were opened last."""
    return Path(platformdirs.user_state_dir(APP, appauthor=False)) / "recent.json"


def marks_dir() -> Path:
    """The folder of the marks that were set in traces, a file for each trace."""
    return Path(platformdirs.user_state_dir(APP, appauthor=False)) / "marks"


def copies_dir() -> Path:
    """The folder of what was copied from the screen, a file each."""
    return Path(platformdirs.user_state_dir(APP, appauthor=False)) / "copies"
