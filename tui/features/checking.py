"""Checks what is shown against a model that runs here, in a process of its own, and lists what differs."""

import tempfile
from pathlib import Path

from textual.worker import get_current_worker

from engine.errors import SpecstepError
from tui import layout
from tui.checking import HINT, RULE, Checked, checked, command, options_of, run
from tui.features.feature import Feature
from tui.live import save
from tui.series import Fact
from tui.session import Session


class Checking(Feature):
    """One at a time; asked for again while it runs, it is given up."""

    name = "checking"
    _running: object | None = None
    _said = "bundled"

    def ask(self) -> None:
        """Ask for the model, and run."""
        session = self.host.session
        if session is None:
            return
        if self._running is not None:
            self._running = None
            self.host.say("the check is given up")
            return
        if not len(session.source):
            self.host.say("there is no round yet: nothing to check")
            return
        session.pause()
        self.host.after()
        self.host.ask("model", HINT, self._said, lambda text: self._begin(session, text), over=True)

    def _begin(self, session: Session, text: str) -> None:
        path = getattr(session.source, "path", None)
        options = options_of(text)
        self._said = text
        token = self._running = object()

        def job() -> str | None:
            worker = get_current_worker()
            with tempfile.TemporaryDirectory(prefix="specstep-") as scratch:
                trace = path if isinstance(path, Path) else Path(scratch) / "run.msgpack"
                if trace != path:
                    save(session.source, trace)
                return run(command(trace, options), lambda: worker.is_cancelled or self._running is not token)

        def done(answer: str | None) -> None:
            if answer is None or self._running is not token:
                return
            self._running = None
            self._take(session, checked(answer, session.source.piece))

        def failed(error: SpecstepError) -> None:
            if self._running is token:
                self._running = None
                self.host.say(str(error))

        self.host.say(f"checking against {text}: this may take a while, M gives it up")
        self.host.thread(job, done, failed)

    def _take(self, session: Session, found: Checked) -> None:
        session.found.replace(RULE, found.findings)
        for finding in found.findings:
            if finding.round is not None:
                session.series.mark(finding.round, Fact.FINDING)
        if found.findings and session is self.host.session:
            session.found.chosen = next(i for i, each in enumerate(session.found.all) if each.rule == RULE)
            self.host.look_at(layout.FINDINGS)
        count = len(found.findings) - 1
        differ = f"{count} {'difference' if count == 1 else 'differences'} from the model, among the findings"
        self.host.say(differ if found.findings else found.told)
        self.host.after()
