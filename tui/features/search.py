"""Searches the text of the run, in the background where it is long, and walks over what is found."""

from typing import TYPE_CHECKING

from textual.timer import Timer
from textual.worker import get_current_worker

from engine.errors import TraceError
from tui.features.feature import Feature, Host
from tui.search import HINT, Search, query, searched
from tui.session import Session

if TYPE_CHECKING:
    from engine.trace.reader import Trace

_LOOK = 0.1
"""Seconds between two looks at how far a search is."""
_SLICE = 512
"""Rounds that are searched at a time where that holds the screen up."""


class Searching(Feature):
    """A trace is searched in a thread, from its file; any other source here, and each of its rounds that comes."""

    name = "search"

    def __init__(self, host: Host) -> None:
        super().__init__(host)
        self._typed = ""
        self._looking: Timer | None = None
        self._threaded = False
        self._wanted = 0

    def opened(self, session: Session) -> None:
        if session.search is None:
            self._stop_looking()

    def grew(self, session: Session) -> None:
        if session.search is not None and not self._threaded:
            self._go_on(session, session.search)

    def ask(self) -> None:
        """Ask what to look for."""
        session = self.host.session
        if session is None:
            return
        session.pause()
        self.host.ask("search", HINT, self._typed, self._begin, over=True)

    def step(self, direction: int) -> None:
        """To the next (1) or previous (-1) match, as many as the count says."""
        session = self.host.session
        if session is None or session.search is None:
            self.host.say(f"nothing is looked for: {'/' if session is None else session.key('search')} asks for a text")
            return
        search = session.search

        def walk(session: Session, count: int) -> None:
            session.pause()
            self._wanted = 0
            for _ in range(count):
                if not self._walk(session, search, direction):
                    return

        self.host.move(walk)

    def escaped(self) -> bool:
        session = self.host.session
        if session is None or session.search is None:
            return False
        session.search = None
        session.note = ""
        self._stop_looking()
        return True

    def _begin(self, typed: str) -> None:
        session = self.host.session
        if session is None:
            return
        wanted = query(typed)
        self._typed = typed
        self._stop_looking()
        from engine.trace.reader import Trace  # noqa: PLC0415 (numpy: after the first paint)

        source = session.source
        search = session.search = Search(wanted, source.piece)
        self._threaded = isinstance(source, Trace) and not source.live
        self._wanted = 1
        if isinstance(source, Trace) and self._threaded:
            self._in_a_thread(session, source, search)
        self._looking = self.host.every(_LOOK, self._look)
        self._look()

    def _in_a_thread(self, session: Session, trace: "Trace", search: Search) -> None:
        def job() -> None:
            worker = get_current_worker()
            searched(trace.path, search, lambda: worker.is_cancelled or session.search is not search)

        def failed(error: Exception) -> None:
            search.broken = str(error)

        self.host.thread(job, lambda _: self._look(), failed)

    def _look(self) -> None:
        """Search on, if that is done here, and go to a match that was waited for."""
        session = self.host.session
        search = None if session is None else session.search
        if session is None or search is None:
            self._stop_looking()
            return
        if not self._threaded:
            self._go_on(session, search)
        if self._over(session, search):
            self._stop_looking()
        if self._wanted:
            self._first(session, search)
        self.host.after()

    def _go_on(self, session: Session, search: Search) -> None:
        stop = min(search.rounds + _SLICE, len(session.source))
        try:
            search.feed([session.round(index) for index in range(search.rounds, stop)])
        except TraceError as error:
            search.broken = str(error)

    def _over(self, session: Session, search: Search) -> bool:
        return bool(search.broken) or search.rounds >= len(session.source)

    def _first(self, session: Session, search: Search) -> None:
        """To the first match at the cursor or behind it; around the end only when all is searched."""
        place = search.next(session.moment.index - 1) if search.chosen is None else search.chosen + 1
        if place is not None and place < len(search.matches):
            self._wanted = 0
            self._to(session, search, place, "")
        elif not self._over(session, search):
            share = 100 * search.rounds // max(len(session.source), 1)
            session.note = f"searching, {share}% so far: {search.told}"
        elif search.matches:
            self._wanted = 0
            self._to(session, search, 0, "from the start again: ")
        else:
            self._wanted = 0
            session.note = f"{search.told}; {_elsewhere(search)}"

    def _walk(self, session: Session, search: Search, direction: int) -> bool:
        """One match on or back; whether there was one yet."""
        if not search.matches:
            self._wanted = 1
            self._first(session, search)
            return False
        chosen, index = search.chosen, session.moment.index
        if chosen is not None and search.matches[chosen].round == index:
            place: int | None = chosen + direction
        else:
            place = search.next(index) if direction > 0 else search.previous(index)
        if place is not None and 0 <= place < len(search.matches):
            self._to(session, search, place, "")
            return True
        if not self._over(session, search):
            on, back = session.key("search.next"), session.key("search.previous")
            session.note = f"searching: {search.told} so far, {on} and {back} wait for more"
            return False
        if direction > 0:
            self._to(session, search, 0, "from the start again: ")
        else:
            self._to(session, search, len(search.matches) - 1, "from the end again: ")
        return True

    def _to(self, session: Session, search: Search, place: int, how: str) -> None:
        search.chosen = place
        session.jump(search.matches[place].round)
        more = "" if self._over(session, search) else " so far"
        session.note = f"{how}match {place + 1} of {len(search.matches)}{more} of {search.query.text!r}"

    def _stop_looking(self) -> None:
        if self._looking is not None:
            self._looking.stop()
            self._looking = None


def _elsewhere(search: Search) -> str:
    if search.broken:
        return f"searched up to here only: {search.broken}"
    return "what the run emitted was not searched" if search.query.drafts else "rejected drafts were not searched"
