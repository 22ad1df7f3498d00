"""What a run of rounds can stop at: a condition, or its end."""

from engine.branch import Branch
from engine.conditions import Condition
from engine.conditions.fields import FIELDS
from engine.conditions.scan import Scan

END = "end"
"""Stop at no round: the run goes on until it is over."""
CONDITIONS = (END, *(field.name for field in FIELDS))
"""What an engine says it can stop at: the names of the language, as conditions are made of them."""


def names_in(text: str) -> frozenset[str]:
    """The names that an engine must know to stop at this.

    Raises:
        BadCondition: ``text`` is neither a condition nor ``END``.
    """
    return frozenset() if text == END else Condition(text).names


class Until:
    """Looks at the rounds that a branch gets from here on.

    Raises:
        BadCondition: ``text`` is neither a condition nor ``END``.
    """

    def __init__(self, text: str, branch: Branch) -> None:
        self._scan: Scan | None = None
        self._start = len(branch)
        if text != END:
            condition = Condition(text)
            self._scan = Scan(branch, condition, 0 if condition.past else self._start)

    def met(self) -> bool:
        """Whether one of the rounds that came meets the condition."""
        scan = self._scan
        if scan is None:
            return False
        while not scan.complete:
            scan.advance(1024)
        return scan.after(self._start - 1) is not None
