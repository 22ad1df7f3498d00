"""The features there are: those that are told of the run, and those that are loaded at their first key."""

from importlib import import_module

from tui.features.bookmarks import Marking
from tui.features.breaks import Breaks
from tui.features.feature import Feature
from tui.features.findings import Findings
from tui.features.following import Following
from tui.features.opening import Opening
from tui.features.reading import Reading
from tui.features.search import Searching
from tui.features.touring import Touring
from tui.features.whatif import Asking

TOLD: tuple[type[Feature], ...] = (
    Touring,
    Breaks,
    Asking,
    Findings,
    Following,
    Opening,
    Searching,
    Marking,
    Reading,
)
"""Those with hooks, there from the start; those that come first are asked first, and ``Reading`` tells the others."""

KEYED = {
    "about": "tui.features.about:About",
    "branches": "tui.features.branches:Branches",
    "candidates": "tui.features.candidates:Candidates",
    "checking": "tui.features.checking:Checking",
    "compare": "tui.features.compare:Compare",
    "events": "tui.features.events:Events",
    "export": "tui.features.exporting:Exporting",
    "places": "tui.features.places:Places",
    "saving": "tui.features.saving:Saving",
}
"""Those that only have keys, by the name in the keys' actions: the module, and the class in it."""


def keyed(name: str) -> type[Feature]:
    """Load one of ``KEYED``."""
    module, _, kind = KEYED[name].partition(":")
    loaded: type[Feature] = getattr(import_module(module), kind)
    return loaded
