"""How the screen comes by what it shows: ahead of its own start; and a live run, by an engine here or elsewhere."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from engine import loads
from engine.loading import Loading
from engine.paths import loads_file
from engine.stages import Stage, heard_by
from tui.background import begun

if TYPE_CHECKING:
    from engine.process.remote import RemoteRun
    from engine.records import RoundSource
    from engine.request import LiveRequest
    from tui.live import LiveSource, Stepper


_ENDS = 10.0
"""Seconds within which an opening that was given up has ended its engine."""


class Ahead:
    """Opens a source in a thread, from now on; called, it waits for the source, or raises why there is none."""

    def __init__(self, opener: "Callable[[], RoundSource]") -> None:
        self._opening = begun(opener, "open")

    @property
    def there(self) -> bool:
        """Whether the source can be had without waiting."""
        return self._opening.done() and self._opening.exception() is None

    def check(self) -> None:
        """Raise why there is no source, if that is known by now."""
        if self._opening.done():
            self._opening.result()

    def __call__(self) -> "RoundSource":
        return self._opening.result()

    async def come(self) -> "RoundSource":
        """The source, when it is there; whoever gives up waiting leaves no thread behind that waits on."""
        return await asyncio.wrap_future(self._opening)


class Heard:
    """The stages of an opening in this process so far, as ``heard_by`` tells them."""

    def __init__(self) -> None:
        self.stages: tuple[Stage, ...] = ()

    def __call__(self, stage: Stage) -> None:
        self.stages = (*(self.stages[:-1] if stage.done else self.stages), stage)


class Wanted(NamedTuple):
    """What to run, and where: ``words`` are the keys of the request that an ``engine`` of another's is to be told."""

    request: "LiveRequest"
    record: Path | None = None
    engine: str | None = None
    words: dict[str, Any] | None = None
    timeout: float = 120.0
    in_process: bool = False


class Live:
    """A live run that is opened when the screen is up, and ended, with its recording, when the screen is gone."""

    def __init__(self, wanted: Wanted) -> None:
        self._wanted = wanted
        self._source: LiveSource | None = None
        self._engine: RemoteRun | None = None
        self._given_up = False
        self._heard = Heard()
        self._idle = Event()
        self._idle.set()
        request = wanted.request
        self._key = loads.key_of(request.model, request.provider.name, "screen")
        if wanted.engine is not None:
            self._key += f" by {wanted.engine}"
        if wanted.in_process:
            self._key += " in this process"
        self.loading = Loading(self.stages, loads.earlier(loads_file(), self._key))

    def stages(self) -> tuple[Stage, ...]:
        """What the opening was at so far; the last of them it is at still."""
        engine = self._engine
        first = "starting the engine" if self._wanted.engine is None else f"starting {self._wanted.engine}"
        if self._wanted.in_process:
            return (Stage("starting the engine in this process"), *self._heard.stages)
        return (Stage(first),) if engine is None else (Stage(first), *engine.stages)

    def stop(self) -> None:
        """Give up the opening at once, from another thread than it runs in."""
        self._given_up = True
        if self._engine is not None:
            self._engine.kill()

    def open(self) -> "LiveSource":
        """Load the model, read the prompt, begin the recording.

        Raises:
            SpecstepError: any of it cannot be done.
        """
        self._idle.clear()
        try:
            return self._opened()
        finally:
            self._idle.set()

    @property
    def stuck(self) -> bool:
        """Whether a model is being loaded in this process, which nobody wants any more and nobody can stop."""
        source = self._source
        return self._wanted.in_process and (source is None or source.forking)

    def close(self) -> None:
        """End the run and the recording. An engine that is still being started is waited for, to be ended too."""
        if not self._wanted.in_process:
            self._idle.wait(_ENDS)
        if self._source is not None:
            self._source.branches[-1].close()
        elif self._engine is not None:
            self._engine.close()

    def _opened(self) -> "LiveSource":
        from tui.live import LiveSource  # noqa: PLC0415 (after the first paint, as all below)

        run: Stepper
        if self._wanted.in_process:
            from engine.faults.running import opened  # noqa: PLC0415 (onnxruntime)

            with heard_by(self._heard):
                run = opened(self._wanted.request)
        else:
            self._engine = self._started()
            if self._given_up:
                self._engine.kill()
            run = self._engine.open()
        loads.keep(loads_file(), self._key, self.loading.times())
        if self._wanted.record is not None:
            from engine.recorder import Recorder  # noqa: PLC0415

            run = Recorder(run, self._wanted.record)
        self._source = LiveSource(run, self._engine)
        return self._source

    def _started(self) -> "RemoteRun":
        from engine.process.launch import elsewhere, local  # noqa: PLC0415
        from engine.process.remote import RemoteRun  # noqa: PLC0415

        wanted = self._wanted
        if wanted.engine is None:
            launch = local(msgspec.to_builtins(wanted.request))
        else:
            launch = elsewhere(wanted.engine, wanted.words)
        return RemoteRun(launch, timeout=wanted.timeout)
