"""What an audit has found so far, as the screen holds it. Pure."""

from collections import defaultdict
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from engine.trace.audit.finding import Finding

RULES = 18
"""A1 to A18."""


class Found:
    """The findings, by number and by round, and how far the audit has come.

    ``rounds`` of them are audited; ``done`` says that nothing more can come of the rounds there are, ``broken`` why
    the audit stopped before that. ``chosen`` is the finding at the cursor of the list.
    """

    def __init__(self) -> None:
        self.all: list[Finding] = []
        self.rounds = 0
        self.done = False
        self.broken = ""
        self.chosen = 0
        self._by_round: dict[int, list[Finding]] = defaultdict(list)

    @property
    def told(self) -> str:
        """How many there are, as in "3 findings"; empty where there is none."""
        return f"{len(self.all)} finding{'s' if len(self.all) > 1 else ''}" if self.all else ""

    def add(self, findings: "Sequence[Finding]") -> None:
        """Take in more findings."""
        self.all += findings
        for finding in findings:
            if finding.round is not None:
                self._by_round[finding.round].append(finding)

    def replace(self, rule: str, findings: "Sequence[Finding]") -> None:
        """Take in all findings of a rule, in place of those of it that there were."""
        kept = [finding for finding in self.all if finding.rule != rule]
        self.all, self.chosen = [], 0
        self._by_round.clear()
        self.add([*kept, *findings])

    def at(self, index: int) -> "Sequence[Finding]":
        """The findings of a round."""
        return self._by_round.get(index, ())

    def follow(self, index: int) -> None:
        """Choose the first finding of a round, if it has one."""
        if self._by_round.get(index) and self.all[self.chosen].round != index:
            self.chosen = self.all.index(self._by_round[index][0])

    def choose(self, step: int) -> None:
        """Move the list's cursor."""
        self.chosen = max(0, min(self.chosen + step, len(self.all) - 1))
