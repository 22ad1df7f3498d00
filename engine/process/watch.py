"""Watches an engine that somebody else runs: its runs as they come, and once more after the connection broke."""

from collections.abc import Callable
from typing import NamedTuple

from engine.branch import Branch
from engine.errors import TraceError
from engine.process.feed import Feed
from engine.records import AnyRecord, End, Event, Header, Prefill, Round
from engine.trace.decoding import Unknown
from engine.trace.follow import RecordStream


class Change(NamedTuple):
    """What a look brought: how many new rounds, and whether another branch is the current one now."""

    rounds: int
    branch: bool


class Watched:
    """The newest run that a feed tells of, as a ``RoundSource``; ``branches`` are all of them, oldest first.

    Nothing comes by itself: ``refresh`` looks, and does not wait. A stream that breaks off and begins again tells its
    rounds once more; those that are known are not taken in twice. ``hear`` is called with all bytes.
    """

    def __init__(self, feed: Feed, hear: Callable[[bytes], None] = lambda _: None) -> None:
        self.branches: list[Branch] = []
        self.over = False
        self.connected = False
        self._feed = feed
        self._hear = hear
        self._stream = RecordStream()
        self._branch: Branch | None = None
        self._known = 0

    @property
    def name(self) -> str:
        """What is watched."""
        return self._feed.name

    @property
    def header(self) -> Header:
        return self._current.header

    @property
    def prefill(self) -> Prefill | None:
        return self._current.prefill

    @property
    def end(self) -> End | None:
        return self._current.end

    @property
    def live(self) -> bool:
        """Whether more may come."""
        return not self.over

    def __len__(self) -> int:
        return len(self._current)

    def round(self, index: int) -> Round:
        """The round at ``index``."""
        return self._current.round(index)

    def events(self) -> tuple[Event, ...]:
        """What was said so far."""
        return self._current.events()

    def piece(self, token: int) -> bytes | None:
        """The bytes that a token stands for."""
        return self._current.piece(token)

    @property
    def begun(self) -> bool:
        """Whether there is a run. Before that only ``refresh`` can be used."""
        return self._branch is not None

    def refresh(self) -> Change:
        """Take in what has come.

        Raises:
            TraceError: what comes is no trace, or cannot be read.
        """
        before, count = self._branch, 0 if self._branch is None else len(self._branch)
        if not self.over:
            data = self._feed.read()
            if data is None:
                self._broke_off()
            elif data:
                self.connected = True
                self._hear(data)
                self._take_in(data)
        if self._branch is None:
            return Change(0, False)
        return Change(len(self._branch) - (count if before is self._branch else 0), before is not self._branch)

    def close(self) -> None:
        """Watch no more."""
        self.over = True
        self._feed.close()

    @property
    def _current(self) -> Branch:
        assert self._branch is not None, "there is no run yet"
        return self._branch

    def _take_in(self, data: bytes) -> None:
        try:
            for record in self._stream.feed(data):
                self._take(record)
        except TraceError as error:
            if self._branch is None:
                raise
            self._say("fault", "torn", f"{self.name}: {error}")
            self.over = True
        self.over = self.over or (self._feed.one_run and self._stream.ended and not self._stream.greeted)

    def _broke_off(self) -> None:
        torn, ended = self._stream.framer.torn(), self._stream.ended and not self._stream.greeted
        self.connected = False
        if torn is not None and self._branch is not None:
            self._say("warning", "torn", f"{self.name} broke off: {torn}")
        self.over = ended or not self._feed.again
        self._stream = RecordStream()

    def _say(self, level: str, code: str, message: str) -> None:
        self._current.take(Event(round=len(self._current), level=level, code=code, message=message))

    def _take(self, record: AnyRecord | Unknown) -> None:
        match record:
            case Header():
                self._begin(record)
            case Round():
                self._take_round(record)
            case Unknown(type="done", fields={"why": "quit"}):
                self.over = True
            case Event(code="bad-command" | "opening"):
                pass
            case Event() if self._known and record in self._current.events():
                pass
            case _ if self._branch is not None:
                self._branch.take(record)

    def _begin(self, header: Header) -> None:
        """A run, or one that is known: then its first ``_known`` rounds are told once more."""
        known = next((branch for branch in reversed(self.branches) if branch.header == header), None)
        if known is not None:
            self._branch, self._known = known, len(known)
            return
        kept = header.run.get("forked_at")
        if isinstance(kept, int) and self._branch is not None:
            self._add(self._branch.fork(header, min(kept, len(self._branch))))
        else:
            self._add(Branch(header))

    def _add(self, branch: Branch) -> None:
        self.branches.append(branch)
        self._branch, self._known = branch, 0

    def _take_round(self, round_: Round) -> None:
        branch = self._current
        if round_.index < self._known:
            if branch.round(round_.index) == round_:
                return
            branch = branch.fork(branch.header, round_.index)
            self._add(branch)
        elif round_.index < len(branch):
            self.branches.remove(branch)
            branch = branch.fork(branch.header, round_.index)
            self._add(branch)
        branch.take(round_)
