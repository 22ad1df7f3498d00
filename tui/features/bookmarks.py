"""Marks on rounds: set, listed, gone to, and kept for the next time the trace is opened."""

from engine.errors import SpecstepError
from engine.paths import marks_dir
from tui.bookmarks import Sidecar
from tui.features.feature import Feature, Host
from tui.session import Session


class Marking(Feature):
    """Those of a trace are kept in a file; those of a live run last as long as it is shown."""

    name = "bookmarks"

    def __init__(self, host: Host) -> None:
        super().__init__(host)
        self._kept: Sidecar | None = None

    def opened(self, session: Session) -> None:
        from engine.trace.reader import Trace  # noqa: PLC0415 (numpy: after the first paint)

        self._kept = None
        if not isinstance(session.source, Trace) or session.source.live:
            return
        try:
            self._kept = Sidecar(marks_dir(), session.source.path)
            session.bookmarks = self._kept.load()
        except SpecstepError as error:
            session.note = str(error)

    def set(self) -> None:
        """Ask for a name, and mark the round at the cursor."""
        session = self.host.session
        if session is None:
            return
        session.pause()
        index = session.moment.index
        if index < 0:
            self.host.say("there is no round yet that could be marked")
            return
        known = session.bookmarks.names.get(index)
        name = known if known else f"mark {len(session.bookmarks) + 1}"
        hint = f"A name for round {index}, and enter; {session.key('mark.go')} lists the marks. Escape leaves it."

        def answer(text: str) -> None:
            session.bookmarks.set(index, text)
            self.keep(session, f"round {index} is marked: {text.strip()}")

        self.host.ask("mark", hint, name, answer, over=True)

    def go(self) -> None:
        """The list of marks; with a count, to the mark of that number."""
        session = self.host.session
        if session is None:
            return
        session.pause()
        rounds, count = session.bookmarks.rounds, self.host.count()
        if count is None:
            from tui.screens.bookmarks import BookmarksScreen  # noqa: PLC0415 (where it is asked for)

            self.host.push(BookmarksScreen(self.host.marks, self, session))
        elif 1 <= count <= len(rounds):
            self.to(session, rounds[count - 1])
        else:
            self.host.say(f"there is no mark {count}: {len(rounds) or 'none'} {'is' if len(rounds) < 2 else 'are'} set")

    def to(self, session: Session, index: int) -> None:
        """To a marked round."""
        session.jump(index)
        session.note = f"mark: {session.bookmarks.names[index] or 'without a name'}"
        self.host.after()

    def remove(self, session: Session, index: int) -> None:
        """Take a mark off."""
        session.bookmarks.remove(index)
        self.keep(session, f"round {index} is no longer marked")

    def keep(self, session: Session, note: str) -> None:
        """Write the marks down where there is a trace that they belong to, and say so."""
        try:
            if self._kept is not None:
                self._kept.save(session.bookmarks)
        except SpecstepError as error:
            note = f"{note}, but it is not kept: {error}"
        self.host.say(note)
