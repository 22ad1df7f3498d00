"""Where specstep keeps what it was given, by the platform's own rules (on Linux the XDG directories)."""

import tempfile
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


def loads_file() -> Path:
    """How long models took to load, to estimate the next time by."""
    return Path(platformdirs.user_cache_dir(APP, appauthor=False)) / "loads.json"


def copies_dir() -> Path:
    """The folder of what was copied from the screen, a file each."""
    return Path(platformdirs.user_state_dir(APP, appauthor=False)) / "copies"


def every() -> dict[str, Path]:
    """All of them, by what they hold, and the folder of what lives only as long as the program."""
    return {
        "config": config_file(),
        "recent": recent_file(),
        "marks": marks_dir(),
        "copies": copies_dir(),
        "added": models_dir(),
        "loads": loads_file(),
        "temporary": Path(tempfile.gettempdir()),
    }
