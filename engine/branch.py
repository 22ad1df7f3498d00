"""One run as its records arrive: a ``RoundSource`` that grows, and can be saved as a trace."""

from collections.abc import Callable
from pathlib import Path

from engine.kept import KeptRounds
from engine.records import AnyRecord, End, Event, Header, Prefill, Round, RoundSource, Tokens
from engine.trace.decoding import Unknown
from engine.trace.progress import Progress


class Branch:
    """The records of one run so far. ``piece`` knows tokens beside those that ``tokens`` records name."""

    def __init__(
        self,
        header: Header,
        prefill: Prefill | None = None,
        *,
        rounds: KeptRounds | None = None,
        events: tuple[Event, ...] = (),
        piece: Callable[[int], bytes | None] = lambda _: None,
    ) -> None:
        self.header = header
        self.prefill = prefill
        self.end: End | None = None
        self.rounds = KeptRounds() if rounds is None else rounds
        self._events = list(events)
        self._piece = piece
        self._pieces: dict[int, bytes] = {}

    @property
    def live(self) -> bool:
        """Whether more may come."""
        return self.end is None

    def __len__(self) -> int:
        return len(self.rounds)

    def round(self, index: int) -> Round:
        """The round at ``index``."""
        return self.rounds[index]

    def events(self) -> tuple[Event, ...]:
        """What was said so far."""
        return tuple(self._events)

    def piece(self, token: int) -> bytes | None:
        """The bytes that a token stands for."""
        known = self._pieces.get(token)
        return self._piece(token) if known is None else known

    def take(self, record: AnyRecord | Unknown) -> None:
        """Take in the next record; those that say nothing about the run are passed over."""
        match record:
            case Round():
                self.rounds.append(record)
            case Event():
                self._events.append(record)
            case Tokens():
                self._pieces.update(record.pieces)
            case Prefill():
                self.prefill = record
            case End():
                self.end = record
            case _:
                pass

    def fork(self, header: Header, kept: int) -> "Branch":
        """Another run that has the first ``kept`` rounds in common with this one."""
        events = tuple(event for event in self._events if event.round is None or event.round < kept)
        branch = Branch(header, self.prefill, rounds=self.rounds.first(kept), events=events, piece=self._piece)
        branch._pieces = self._pieces
        return branch


def save(source: RoundSource, path: Path) -> None:
    """Write what a source holds as a trace; a run that is not over ends as "aborted".

    Raises:
        TraceError: the file cannot be written.
    """
    from engine.trace.writer import TraceWriter  # noqa: PLC0415 (slow to import, and seldom needed)

    with TraceWriter(path) as writer:
        writer.pieces(source.piece)
        writer.write(source.header)
        if source.prefill is not None:
            writer.write(source.prefill)
        events = list(source.events())
        so_far = Progress()
        for index in range(len(source)):
            round_ = source.round(index)
            so_far.note(round_)
            writer.write(round_)
            while events and (events[0].round is None or events[0].round <= index):
                writer.write(events.pop(0))
        for event in events:
            writer.write(event)
        aborted = End(reason="aborted", rounds=so_far.rounds, emitted=so_far.emitted, fell_back_at=so_far.fell_back_at)
        writer.write(source.end or aborted)
