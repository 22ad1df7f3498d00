"""The branches of a live run: listed, shown one in place of another, renamed."""

from tui.features.feature import Feature
from tui.live import LiveSource
from tui.screens.branches import BranchesScreen


class Branches(Feature):
    """A list of what was forked off."""

    name = "branches"

    def list(self) -> None:
        """Show the list."""
        session = self.host.session
        if session is None:
            return
        session.pause()
        source = session.source
        if not isinstance(source, LiveSource):
            self.host.say("only a live run has branches")
            return
        self.host.after()
        self.host.push(BranchesScreen(self.host.marks, source.branches, source, self._show, self._rename))

    def _show(self, branch: LiveSource) -> None:
        if self.host.session is None or self.host.session.source is branch:
            return
        self.host.show(branch)
        self.host.move(lambda session, _: session.jump(session.last))
        goes_on, fork = branch is branch.branches[-1], self.host.session.key("run.options")
        self.host.say(f"this is {branch.name}" + ("" if goes_on else f": {fork} goes on from one of its rounds"))

    def _rename(self, branch: LiveSource) -> None:
        def answer(name: str) -> None:
            branch.rename(name.strip())
            self.host.say(f"this branch is {branch.name} now")

        hint = f"Another name for the branch {branch.name}; escape leaves it."
        self.host.ask("name", hint, branch.name, answer, over=True)
