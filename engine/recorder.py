"""A tee: a run that is recorded to a trace while it is made. A recording that fails ends alone; the run goes on."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from engine.errors import TraceError
from engine.options import Options
from engine.records import AnyRecord, End, Event, Header, Prefill, Round
from engine.trace.writer import Text, TraceWriter

if TYPE_CHECKING:
    from engine.live import Stepper


class Recorder:
    """A ``Stepper`` that passes on another and writes what goes by.

    A fork (``rewind``) closes the trace with reason "aborted" and opens another beside it, ``NAME-fork1`` and so on,
    which begins with the rounds kept. ``path`` is the file being written, ``None`` for a stream. A failure is told in
    ``events``, in ``failure``, and to ``on_failure`` once.

    Raises:
        TraceError: the trace cannot be begun.
    """

    def __init__(
        self,
        source: "Stepper",
        target: Path | BinaryIO,
        *,
        text: Text = "full",
        on_failure: Callable[[str], None] = lambda _: None,
    ) -> None:
        self._source = source
        self._target = target
        self.path = target if isinstance(target, Path) else None
        self._text = text
        self._on_failure = on_failure
        self._forks = 0
        self._said = 0
        self._lost: Event | None = None
        self._writer: TraceWriter | None = self._begin(target)

    @property
    def header(self) -> Header:
        return self._source.header

    @property
    def prefill(self) -> Prefill:
        return self._source.prefill

    @property
    def events(self) -> tuple[Event, ...]:
        if self._lost is None:
            return self._source.events
        return (*self._source.events[: self._said], self._lost, *self._source.events[self._said :])

    @property
    def failure(self) -> str | None:
        """Why the recording ended before the run, if it did."""
        return None if self._lost is None else self._lost.message

    def piece(self, token: int) -> bytes | None:
        return self._source.piece(token)

    def step(self) -> Round | None:
        round_ = self._source.step()
        if round_ is not None:
            self._write(round_)
        self._write_events()
        return round_

    def rewind(
        self,
        kept: Sequence[Round],
        options: Options | None = None,
        *,
        drafter: str | None = None,
        run: Mapping[str, Any] | None = None,
    ) -> None:
        branch = self._source.end()
        self._source.rewind(kept, options, drafter=drafter, run=run)
        if self._lost is not None:
            self._said = min(self._said, len(self._source.events))
            return
        self._finish(branch)
        self._forks += 1
        self._said = 0
        try:
            self.path = self._beside()
            self._writer = self._begin(self.path)
        except TraceError as error:
            self._lose(error)
        for round_ in kept:
            self._write(round_)
        self._write_events()

    @property
    def done(self) -> bool:
        return self._source.done

    def end(self) -> End:
        """The run's end, which also ends the recording."""
        end = self._source.end()
        self._write_events()
        self._finish(end)
        return end

    def _begin(self, target: Path | BinaryIO) -> TraceWriter:
        writer = TraceWriter(target, text=self._text)
        try:
            writer.pieces(self._source.piece)
            writer.write(self._source.header)
            writer.write(self._source.prefill)
        except TraceError:
            writer.close()
            raise
        return writer

    def _beside(self) -> Path:
        if not isinstance(self._target, Path):
            raise TraceError("a stream holds one run: what follows the fork is not recorded")
        return self._target.with_stem(f"{self._target.stem}-fork{self._forks}")

    def _write_events(self) -> None:
        for event in self._source.events[self._said :]:
            if self._write(event):
                self._said += 1

    def _write(self, record: AnyRecord) -> bool:
        if self._writer is None:
            return False
        try:
            self._writer.write(record)
        except TraceError as error:
            self._lose(error)
        return self._writer is not None

    def _finish(self, end: End) -> None:
        if not self._write(end) or self._writer is None:
            return
        writer, self._writer = self._writer, None
        try:
            writer.close()
        except TraceError as error:
            self._lose(error)

    def _lose(self, error: TraceError) -> None:
        message = f"the recording ended here, the run goes on: {error}"
        self._lost = Event(level="warning", code="recording-failed", message=message)
        if self._writer is not None:
            with suppress(TraceError):
                self._writer.close()
            self._writer = None
        self._on_failure(message)
