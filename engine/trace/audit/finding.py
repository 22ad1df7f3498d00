"""What an audit finds, and what a group of rules looks like to the auditor."""

from typing import Any

import msgspec

from engine.records import End, Prefill, Round

LISTED = 100
"""How many findings of one rule on one field are listed; those behind are only counted."""


class Finding(msgspec.Struct, frozen=True):
    """One thing that does not hold.

    ``rule`` is "A1".."A18", "torn" or "end-missing"; ``round`` is the round's index, ``None`` where it is about the
    whole run; ``recorded`` is what the trace says of ``field`` and ``recomputed`` what the audit made of the rest.
    """

    rule: str
    round: int | None
    field: str | None
    recorded: Any
    recomputed: Any
    message: str


class Findings:
    """Findings as they are made. A fault that breaks every round is listed ``LISTED`` times, then only counted."""

    def __init__(self) -> None:
        self.new: list[Finding] = []
        self._counts: dict[tuple[str, str | None], int] = {}

    def add(
        self, rule: str, round_: int | None, field: str | None, recorded: Any, recomputed: Any, message: str
    ) -> None:
        """Take in a finding."""
        if self._is_listed(rule, field):
            self.new.append(Finding(rule, round_, field, recorded, recomputed, message))

    def put(self, finding: Finding) -> None:
        """Take in a finding that is made already."""
        if self._is_listed(finding.rule, finding.field):
            self.new.append(finding)

    def _is_listed(self, rule: str, field: str | None) -> bool:
        """Count one more finding; whether it is among the first."""
        count = self._counts[rule, field] = self._counts.get((rule, field), 0) + 1
        return count <= LISTED

    def take(self) -> list[Finding]:
        """The findings since the last call."""
        new, self.new = self.new, []
        return new

    def close(self) -> None:
        """Say how many were not listed."""
        for (rule, field), count in self._counts.items():
            if count > LISTED:
                self.new.append(
                    Finding(
                        rule,
                        None,
                        field,
                        count,
                        0,
                        f"{count - LISTED} further findings of rule {rule} on {field} are not listed: "
                        f"the first {LISTED} stand above",
                    )
                )


class Rules:
    """A group of rules over one trace. It is shown the records in order and overrides what it looks at."""

    def prefill(self, prefill: Prefill, found: Findings) -> None:
        """The prompt's pass."""

    def round(self, round_: Round, found: Findings) -> None:
        """The next round."""

    def kept(self, round_: Round, found: Findings) -> None:
        """A round that a fork took over, made by options that are not the header's: rules on options leave it out."""
        self.round(round_, found)

    def end(self, end: End, found: Findings) -> None:
        """The run's own summary."""

    def finish(self, found: Findings) -> None:
        """The trace is over, with or without an end record."""
