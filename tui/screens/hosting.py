"""The host of the features: tells them what happens, loads those that wait for their keys, does what they ask for."""

from collections.abc import Callable
from typing import TypeVar

from textual import work
from textual.message import Message
from textual.screen import ModalScreen
from textual.timer import Timer

from engine.errors import SpecstepError, TraceError
from engine.records import RoundSource
from tui.features.all import TOLD, keyed
from tui.features.feature import Feature
from tui.keys import KEYS, Key
from tui.lines import Line
from tui.live import LiveSource
from tui.marks import Marks
from tui.screens.counts import CountScreen
from tui.session import Session
from tui.waiting import Waiting

T = TypeVar("T")


class HostScreen(CountScreen):
    """The ``Host`` of the features. ``features`` are those that are told of the run."""

    class Done(Message):
        """A thread is done with something; ``then`` takes it in."""

        def __init__(self, then: Callable[[], object]) -> None:
            super().__init__()
            self.then = then

    def __init__(self, marks: Marks, waiting: Waiting, keys: tuple[Key, ...] = KEYS) -> None:
        super().__init__(marks, waiting, keys)
        self.features: dict[str, Feature] = {kind.name: kind(self) for kind in TOLD}
        self._keyed: dict[str, Feature] = {}

    @property
    def session(self) -> Session | None:
        """The state shown, once the source is open."""
        return self._session

    def feature(self, name: str) -> Feature:
        """A feature by its name, loaded if this is its first key."""
        if name in self.features:
            return self.features[name]
        if name not in self._keyed:
            self._keyed[name] = keyed(name)(self)
        return self._keyed[name]

    def action_do(self, name: str, *arguments: object) -> None:
        """An action of a feature: ``feature.method``."""
        feature, _, method = name.partition(".")
        getattr(self.feature(feature), method)(*arguments)

    # What features are told.

    def begin(self, source: RoundSource) -> Session:
        session = super().begin(source)
        for feature in self.features.values():
            feature.opened(session)
        return session

    def grew(self, session: Session) -> None:
        for feature in self.features.values():
            feature.grew(session)

    def after(self) -> None:
        if self._session is not None:
            for feature in self.features.values():
                feature.changed(self._session)
        super().after()

    def caption(self, width: int, /) -> list[Line]:
        return [line for feature in self.features.values() for line in feature.caption(width)]

    # What features use: see ``Host``.

    def move(self, change: Callable[[Session, int], object]) -> None:
        session = self._session
        if session is None:
            return
        before = session.moment
        try:
            change(session, self.count() or 1)
        except TraceError as error:
            session.moment, session.note = before, str(error)
        self.after()

    def look_at(self, number: int) -> None:
        self.active = number

    def say(self, note: str) -> None:
        if self._session is not None:
            self._session.note = note
        self.after()

    def picture(self) -> str:
        return self.app.export_screenshot(title="specstep")

    def copy(self, text: str) -> None:
        self.app.copy_to_clipboard(text)

    def push(self, screen: ModalScreen[None]) -> None:
        self.app.push_screen(screen)

    def show(self, source: RoundSource) -> None:
        before = self._session
        if before is not None:
            before.interrupt()
            if isinstance(before.source, LiveSource):
                before.source.interrupt()
        self.begin(source)
        self.after()

    def every(self, seconds: float, call: Callable[[], object]) -> Timer:
        return self.set_interval(seconds, call)

    def later(self, call: Callable[[], object]) -> None:
        self.call_after_refresh(call)

    def thread(
        self, job: Callable[[], T], done: Callable[[T], object], failed: Callable[[SpecstepError], object]
    ) -> None:
        self._work(job, done, failed)

    @work(thread=True, group="job")
    def _work(
        self, job: Callable[[], T], done: Callable[[T], object], failed: Callable[[SpecstepError], object]
    ) -> None:
        try:
            came = job()
        except SpecstepError as error:
            fault = error
            self.post_message(self.Done(lambda: failed(fault)))
        else:
            self.post_message(self.Done(lambda: done(came)))

    def on_host_screen_done(self, message: Done) -> None:
        """Take in what a feature's thread brought."""
        message.then()
