"""Audits what is shown, in the background, and walks over the findings."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from textual.timer import Timer
from textual.worker import get_current_worker

from engine.errors import TraceError
from tui import layout
from tui.features.feature import Feature, Host
from tui.findings import Found
from tui.panes.findings import laid
from tui.series import Fact
from tui.session import Session

if TYPE_CHECKING:
    from engine.trace.audit.finding import Finding
    from engine.trace.audit.report import Report
    from engine.trace.reader import Trace
    from tui.auditing import Auditing

_LOOK = 0.2
"""Seconds between two looks at what a thread has found."""
_SLICE = 64
"""Rounds of a source without a file that are audited at a time."""


class Findings(Feature):
    """A trace is audited in a thread, from its file; any other source as its rounds come."""

    name = "findings"

    def __init__(self, host: Host) -> None:
        super().__init__(host)
        self._session: Session | None = None
        self._auditing: Auditing | None = None
        self._latest: Report | None = None
        self._taken = 0
        self._looking: Timer | None = None

    def opened(self, session: Session) -> None:
        self._session, self._auditing, self._latest, self._taken = session, None, None, 0
        self._stop_looking()
        self.host.later(lambda: self._begin(session))

    def _begin(self, session: Session) -> None:
        if session is not self._session:
            return
        from engine.trace.reader import Trace  # noqa: PLC0415 (what reads and audits is loaded for a source of its kind)
        from tui.auditing import Auditing  # noqa: PLC0415 (numpy)

        if isinstance(session.source, Trace) and not session.source.live:
            self._in_a_thread(session, session.source)
        else:
            self._auditing = Auditing(session.source)
            self._and_show()

    def grew(self, session: Session) -> None:
        if session is self._session:
            self._go_on()

    def changed(self, session: Session) -> None:
        if self.host.active != layout.FINDINGS:
            session.found.follow(session.moment.index)

    def scrolled(self, step: int, /) -> bool:
        found = self._here()
        if found is not None:
            found.choose(step)
        return found is not None

    def wheeled(self, pane: int, step: int, /) -> bool:
        session = self.host.session
        if session is None or pane != layout.FINDINGS:
            return False
        session.found.choose(step)
        return True

    def clicked(self, pane: int, row: int, width: int, height: int, /) -> bool:
        session = self.host.session
        if session is None or pane != layout.FINDINGS:
            return False
        rows = laid(session, self.host.marks, width, height)
        number = rows[row][0] if 0 <= row < len(rows) else None
        if number is not None and number == session.found.chosen:
            self._go(session)
        elif number is not None:
            session.found.chosen = number
        return True

    def entered(self) -> bool:
        session = self.host.session
        if session is None or self._here() is None:
            return False
        self._go(session)
        return True

    def _go(self, session: Session) -> None:
        """To the round of the chosen finding."""
        found = session.found
        finding = found.all[found.chosen]
        if finding.round is None or not 0 <= finding.round < len(session.source):
            self.host.say("this finding is about the run as a whole, not about one round")
        else:
            session.jump(finding.round)
            session.note = f"finding {found.chosen + 1} of {len(found.all)}: {finding.message}"

    def _here(self) -> Found | None:
        """The findings, if their list has the keys."""
        session = self.host.session
        at_list = session is not None and self.host.active == layout.FINDINGS and session.found.all
        return session.found if session is not None and at_list else None

    # A source without a file.

    def _go_on(self) -> None:
        session, auditing = self._session, self._auditing
        if session is None or auditing is None:
            return
        found = session.found
        try:
            if auditing.behind and not found.broken:
                self._take(session, auditing.go_on(_SLICE))
        except TraceError as error:
            found.broken = f"audited up to here only: {error}"
        found.rounds, found.done = auditing.rounds, auditing.done
        if not auditing.behind or found.broken:
            self._stop_looking()
        elif self._looking is None:
            self._looking = self.host.every(1 / 30, self._and_show)

    def _and_show(self) -> None:
        self._go_on()
        self.host.after()

    # A file.

    def _in_a_thread(self, session: Session, trace: "Trace") -> None:
        from tui.auditing import audit_file  # noqa: PLC0415

        def tell(made: "Report") -> None:
            if self._session is session:
                self._latest = made

        def job() -> None:
            worker = get_current_worker()
            audit_file(trace.path, tell, lambda: worker.is_cancelled or self._session is not session)

        self.host.thread(job, lambda _: self._finished(session, ""), lambda error: self._finished(session, str(error)))
        self._looking = self.host.every(_LOOK, self._look)

    def _look(self) -> None:
        session, made, self._latest = self._session, self._latest, None
        if session is None or made is None:
            return
        self._take(session, made.findings[self._taken :])
        session.found.rounds = made.rounds
        self.host.after()

    def _finished(self, session: Session, broken: str) -> None:
        if session is not self._session:
            return
        self._look()
        self._stop_looking()
        session.found.done, session.found.broken = not broken, broken
        self.host.after()

    # Both.

    def _take(self, session: Session, findings: "Sequence[Finding]") -> None:
        self._taken += len(findings)
        session.found.add(findings)
        for finding in findings:
            if finding.round is not None:
                session.series.mark(finding.round, Fact.FINDING)

    def _stop_looking(self) -> None:
        if self._looking is not None:
            self._looking.stop()
            self._looking = None
