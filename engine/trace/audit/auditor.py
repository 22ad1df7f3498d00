"""The audit of a trace: records in, findings out, in one pass."""

from collections.abc import Callable, Iterable
from typing import Protocol

from engine.records import AnyRecord, End, Header, Prefill, Round
from engine.trace.audit.acceptance import Acceptance
from engine.trace.audit.chain import Chain
from engine.trace.audit.choices import Choices
from engine.trace.audit.coins import Coins
from engine.trace.audit.counts import Counts
from engine.trace.audit.drafting import Drafting
from engine.trace.audit.effective import Effective
from engine.trace.audit.ending import Ending
from engine.trace.audit.finding import Finding, Findings, Rules
from engine.trace.audit.order import Order
from engine.trace.audit.repetition import Repetition
from engine.trace.audit.setup import Setup
from engine.trace.audit.state import StateLengths
from engine.trace.audit.values import Values
from engine.trace.audit.window import FallbackRule
from engine.trace.decoding import Unknown


class TornAt(Protocol):
    """Where a trace is torn and why: the byte offset and the number of the record that is not whole."""

    @property
    def byte(self) -> int: ...
    @property
    def record(self) -> int: ...
    @property
    def reason(self) -> str: ...


class Audit:
    """The rules A1 to A18 over one trace, fed record by record in the order of the file.

    What is absent is unknown and breaks no rule. Rules that need the whole run (A8's and A10's ends, A17, A18) speak
    when the end record comes, or in ``finish``.
    """

    def __init__(self, header: Header | None = None) -> None:
        self._found = Findings()
        self._order = Order()
        self._rules: tuple[Rules, ...] = ()
        self._rounds: tuple[Callable[[Round, Findings], None], ...] = (self._order.round,)
        self._ended = self._finished = False
        self._forked_at = 0
        if header is not None:
            self._begin(header)

    def feed(self, record: AnyRecord | Unknown) -> list[Finding]:
        """Take in the next record; what it brings to light."""
        found = self._found
        if not isinstance(record, Round):
            self._other(record)
        elif record.index >= self._forked_at:
            for see in self._rounds:
                see(record, found)
        else:
            self._order.round(record, found)
            for rules in self._rules:
                rules.kept(record, found)
        return found.take() if found.new else []

    def finish(self, torn: TornAt | None = None) -> list[Finding]:
        """The trace is over; what only the whole of it shows."""
        if self._finished:
            return []
        self._finished = True
        for rules in self._rules:
            rules.finish(self._found)
        if torn is not None:
            self._found.add(
                "torn",
                None,
                None,
                torn.byte,
                None,
                f"the trace is torn at byte {torn.byte}, in record {torn.record}: {torn.reason}; the records before it "
                "are good",
            )
        elif not self._ended:
            self._found.add(
                "end-missing",
                None,
                "end",
                None,
                None,
                "the trace has no end record: the writer died, or is still writing; the rounds so far are good",
            )
        self._found.close()
        return self._found.take()

    def _other(self, record: AnyRecord | Unknown) -> None:
        self._order.see(record, self._found)
        match record:
            case Header() if not self._rules:
                self._set_up(record)
            case Prefill():
                for rules in self._rules:
                    rules.prefill(record, self._found)
            case End() if not self._ended:
                self._ended = True
                for rules in self._rules:
                    rules.end(record, self._found)
            case _:
                pass

    def _begin(self, header: Header) -> None:
        self._order.see(header, self._found)
        self._set_up(header)

    def _set_up(self, header: Header) -> None:
        setup = Setup.of(header)
        self._forked_at = setup.forked_at
        effective = Effective(header)
        effective.begin(self._found)
        rules: list[Rules] = [
            Counts(setup),
            Chain(setup),
            Ending(setup),
            FallbackRule(setup),
            Values(setup),
            Drafting(setup),
            StateLengths(),
            effective,
            Acceptance(setup),
            Repetition(),
        ]
        if setup.matches:
            rules.append(Choices(setup))
        if setup.flips_coins:
            rules.append(Coins(setup))
        self._rules = tuple(rules)
        self._rounds = (self._order.round, *(group.round for group in rules))


def audit(records: Iterable[AnyRecord | Unknown], torn: TornAt | None = None) -> list[Finding]:
    """All findings of a whole trace, in the order they come to light.

    Args:
        records: header first.
        torn: where the trace is torn, if it is.
    """
    auditor = Audit()
    findings = [finding for record in records for finding in auditor.feed(record)]
    return findings + auditor.finish(torn)
