"""A1: the records of a trace, in order."""

from engine.records import FORMAT, VERSION, AnyRecord, Check, End, Header, Prefill, Round
from engine.trace.audit.finding import Findings
from engine.trace.decoding import Unknown


class Order:
    """A header of a known version first, one prefill before the rounds, rounds counted from 0, one end behind them."""

    def __init__(self) -> None:
        self._begun = self._said_headless = self._prefilled = self._ended = False
        self._expected = 0
        self._rounds = self._emitted = 0

    def round(self, round_: Round, found: Findings) -> None:
        """The next round."""
        index, emitted = round_.index, round_.emitted
        if index != self._expected or self._ended or not self._begun:
            self._round_is_out(round_, found)
        self._expected = index + 1
        self._rounds += 1
        self._emitted += round_.count if emitted is None else len(emitted)

    def see(self, record: AnyRecord | Unknown, found: Findings) -> None:
        """The next record of any other type."""
        match record:
            case Header():
                self._header(record, found)
            case Prefill():
                self._prefill(found)
            case Check():
                self._check(record, found)
            case End():
                if self._ended:
                    found.add("A1", None, "end", 2, 1, "the trace has a second end record: a run ends once")
                self._ended = True
            case _:
                pass

    def _header(self, header: Header, found: Findings) -> None:
        if self._begun or self._rounds:
            found.add("A1", None, "header", 2, 1, "a header stands behind other records: it comes first, and once")
        self._begun = True
        if header.format != FORMAT:
            found.add(
                "A1", None, "format", header.format, FORMAT, f"the format is {header.format!r} and not {FORMAT!r}"
            )
        if header.version != VERSION:
            found.add(
                "A1",
                None,
                "version",
                header.version,
                VERSION,
                f"the trace has version {header.version}; this audit knows version {VERSION}",
            )

    def _round_is_out(self, round_: Round, found: Findings) -> None:
        index = round_.index
        if not self._begun and not self._said_headless:
            self._said_headless = True
            found.add("A1", index, "header", None, None, "rounds begin without a header: it is the first record")
        if index != self._expected:
            how = "a record was lost" if index > self._expected else "a record was written twice or out of order"
            before = f"follows round {self._expected - 1}" if self._rounds else "is the first round"
            found.add("A1", index, "index", index, self._expected, f"round {index} {before}: {how}")
        if self._ended:
            found.add("A1", index, "end", None, None, f"round {index} stands behind the end record")

    def _prefill(self, found: Findings) -> None:
        if self._rounds:
            found.add("A1", None, "prefill", None, None, "the prefill stands behind the first round, not before it")
        elif self._prefilled:
            found.add("A1", None, "prefill", 2, 1, "the trace has a second prefill: a run has one")
        self._prefilled = True

    def _check(self, check: Check, found: Findings) -> None:
        for field, recorded, counted in (
            ("round", check.round, self._rounds),
            ("tokens", check.tokens, self._emitted),
        ):
            if recorded != counted:
                found.add(
                    "A1",
                    None,
                    f"check.{field}",
                    recorded,
                    counted,
                    f"a check record stands behind {counted} {'rounds' if field == 'round' else 'tokens'} but says "
                    f"{recorded}: records before it were lost or doubled",
                )
