"""The features there are; those that come first are asked first."""

from tui.features.events import Events
from tui.features.feature import Feature
from tui.features.places import Places
from tui.features.saving import Saving

FEATURES: tuple[type[Feature], ...] = (
    Events,
    Places,
    Saving,
)
