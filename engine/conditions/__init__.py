"""A small language of conditions over rounds: what to stop at, and which rounds to show."""

from engine.conditions.about import About
from engine.conditions.condition import Condition
from engine.conditions.kinds import BadCondition
from engine.conditions.stop import Lookout, Stop

__all__ = ["About", "BadCondition", "Condition", "Lookout", "Stop"]
