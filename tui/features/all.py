"""The features there are; those that come first are asked first."""

from tui.features.about import About
from tui.features.bookmarks import Marking
from tui.features.branches import Branches
from tui.features.breaks import Breaks
from tui.features.candidates import Candidates
from tui.features.compare import Compare
from tui.features.events import Events
from tui.features.exporting import Exporting
from tui.features.feature import Feature
from tui.features.findings import Findings
from tui.features.following import Following
from tui.features.opening import Opening
from tui.features.places import Places
from tui.features.saving import Saving
from tui.features.search import Searching
from tui.features.touring import Touring
from tui.features.whatif import Asking

FEATURES: tuple[type[Feature], ...] = (
    Touring,
    Breaks,
    Asking,
    Compare,
    Branches,
    Events,
    Places,
    Saving,
    Findings,
    Following,
    Opening,
    Searching,
    Marking,
    Candidates,
    Exporting,
    About,
)
