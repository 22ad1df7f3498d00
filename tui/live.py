"""A running engine as a source: rounds are made elsewhere, handed over one by one, and kept."""

from pathlib import Path
from threading import Lock
from typing import Protocol

from engine.records import End, Event, Header, Prefill, Round, RoundSource


class Stepper(Protocol):
    """A run that is made round by round; ``engine.live`` has the real one. ``step`` may take long and blocks."""

    @property
    def header(self) -> Header: ...
    @property
    def prefill(self) -> Prefill: ...
    @property
    def events(self) -> tuple[Event, ...]: ...
    def piece(self, token: int) -> bytes | None: ...
    def step(self) -> Round | None: ...
    def end(self) -> End: ...


class LiveSource:
    """The rounds that a stepper has made so far, as a ``RoundSource``.

    ``make`` blocks and belongs in a thread. What comes of it is handed over with ``append``, ``finish`` or ``fail`` by
    whoever owns the state.
    """

    live = True

    def __init__(self, stepper: Stepper) -> None:
        self.stepper = stepper
        self.header = stepper.header
        self.prefill: Prefill | None = stepper.prefill
        self.end: End | None = None
        self._rounds: list[Round] = []
        self._fault: tuple[Event, ...] = ()
        self._emitted = 0
        self._running = Lock()

    def __len__(self) -> int:
        return len(self._rounds)

    def round(self, index: int) -> Round:
        """The round at ``index``."""
        return self._rounds[index]

    def events(self) -> tuple[Event, ...]:
        """What was said so far."""
        return (*self.stepper.events, *self._fault)

    def piece(self, token: int) -> bytes | None:
        """The bytes that a token stands for."""
        return self.stepper.piece(token)

    def make(self) -> Round | None:
        """Let the engine make one round; ``None`` when the run is over. Raises whatever breaks the run."""
        with self._running:
            return self.stepper.step()

    @property
    def spent(self) -> bool:
        """Whether the last round was the last by the run's options, so that ``make`` has only that left to say."""
        options = self.header.options
        limit, stops = options.get("max_tokens"), options.get("stop_tokens") or ()
        last = self._rounds[-1].emitted or () if self._rounds else ()
        return self.end is None and ((limit is not None and self._emitted >= limit) or any(t in stops for t in last))

    def append(self, round_: Round) -> None:
        """Take in the next round."""
        self._rounds.append(round_)
        self._emitted += round_.count

    def finish(self) -> None:
        """The run is over; nothing more will be made."""
        self.end = self.stepper.end()

    def fail(self, message: str) -> None:
        """The run broke in a way that the stepper did not report itself."""
        self._fault = (Event(round=len(self), level="fault", code="fault", message=message),)
        self.end = End(reason="fault", rounds=len(self), emitted=self._emitted)

    def close(self) -> None:
        """End a recording, once the round that is being made is done."""
        with self._running:
            self.stepper.end()


def save(source: RoundSource, path: Path) -> None:
    """Write what a source holds as a trace; a run that is not over ends as "aborted".

    Raises:
        TraceError: the file cannot be written.
    """
    from engine.trace.writer import TraceWriter  # noqa: PLC0415 (slow to import, and seldom needed)

    writer = TraceWriter(path)
    try:
        writer.pieces(source.piece)
        writer.write(source.header)
        if source.prefill is not None:
            writer.write(source.prefill)
        events = list(source.events())
        for index in range(len(source)):
            writer.write(source.round(index))
            while events and (events[0].round is None or events[0].round <= index):
                writer.write(events.pop(0))
        for event in events:
            writer.write(event)
        emitted = sum(source.round(index).count for index in range(len(source)))
        writer.write(source.end or End(reason="aborted", rounds=len(source), emitted=emitted))
    finally:
        writer.close()
