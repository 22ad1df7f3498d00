"""Another bar and window over the rounds of a run: where it would have fallen back, and what that costs or saves."""

from engine.whatif.answer import Answer, Kind, flip_words, rounds_words, time_words
from engine.whatif.axes import bars_for, windows_for
from engine.whatif.limits import limits
from engine.whatif.observed import Observed
from engine.whatif.rule import Rule, rule_of

__all__ = [
    "Answer",
    "Kind",
    "Observed",
    "Rule",
    "bars_for",
    "flip_words",
    "limits",
    "rounds_words",
    "rule_of",
    "time_words",
    "windows_for",
]
