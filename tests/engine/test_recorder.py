"""A run is recorded while it is made; a recording that fails ends alone."""

import io
from pathlib import Path

import pytest

from engine.base.toy import ToyBase
from engine.errors import TraceError
from engine.live import LiveRun
from engine.options import Options
from engine.recorder import Recorder
from engine.records import Round
from engine.trace.audit import audit
from engine.trace.reader import Trace
from tests.engine.toys import PROMPT, DyingBase, Wanderer, tied_logits

VOCAB = 9
LOGITS_OF = tied_logits(VOCAB, 4)


def live_run(max_tokens: int = 20, below: float = 0.0) -> LiveRun:
    options = Options(max_tokens=max_tokens, k=4, fallback_below=below, fallback_window=2)
    drafter = Wanderer(LOGITS_OF, VOCAB, 0.8, 1)
    return LiveRun(ToyBase(VOCAB, LOGITS_OF), drafter, PROMPT, options, piece=lambda token: bytes([65 + token]))


def finished(recorder: Recorder) -> list[Round]:
    made = []
    while (round_ := recorder.step()) is not None:
        made.append(round_)
    return made


class Full(io.BytesIO):
    """A stream that takes so many writes and then no more."""

    def __init__(self, writes: int) -> None:
        super().__init__()
        self._left = writes

    def write(self, data: object) -> int:
        self._left -= 1
        if self._left < 0:
            raise OSError(28, "No space left on device")
        return super().write(data)  # type: ignore[arg-type]


def test_the_trace_is_the_run(tmp_path: Path) -> None:
    path = tmp_path / "run.msgpack"
    recorder = Recorder(live_run(below=4.5), path)
    made = finished(recorder)
    end = recorder.end()
    with Trace(path) as trace:
        assert trace.header == recorder.header
        assert trace.prefill == recorder.prefill
        assert [trace.round(i) for i in range(len(trace))] == made
        assert trace.events() == recorder.events != ()
        assert trace.end is not None
        assert (trace.end.reason, trace.end.emitted, trace.end.fell_back_at) == (end.reason, 20, 2)
        assert trace.piece(made[0].emitted[0] if made[0].emitted else 0) is not None
        assert trace.torn is None


def test_every_round_is_in_the_file_as_soon_as_it_is_made(tmp_path: Path) -> None:
    path = tmp_path / "run.msgpack"
    recorder = Recorder(live_run(), path)
    for count in (1, 2, 3):
        recorder.step()
        with Trace(path) as trace:
            assert len(trace) == count


@pytest.mark.parametrize(("text", "pieces", "prompt"), [("ids", None, PROMPT), ("none", None, None)])
def test_private_text_stays_out_where_asked(
    tmp_path: Path, text: str, pieces: None, prompt: tuple[int, ...] | None
) -> None:
    path = tmp_path / "run.msgpack"
    recorder = Recorder(live_run(), path, text=text)  # type: ignore[arg-type]
    finished(recorder)
    recorder.end()
    with Trace(path) as trace:
        assert (trace.piece(PROMPT[0]), trace.header.prompt) == (pieces, prompt)


@pytest.mark.parametrize("writes", [4, 6, 9])
def test_a_full_disk_ends_the_recording_and_not_the_run(writes: int) -> None:
    said: list[str] = []
    recorder = Recorder(live_run(), Full(writes), on_failure=said.append)
    made = finished(recorder)
    assert sum(round_.count for round_ in made) == 20
    assert recorder.end().reason == "max_tokens"
    assert said == [recorder.failure]
    assert recorder.failure is not None
    assert "the run goes on" in recorder.failure
    assert "no space left on device" in recorder.failure
    assert [event.code for event in recorder.events] == ["recording-failed"]


def test_a_disk_that_is_full_at_the_very_end_is_told_too(tmp_path: Path) -> None:
    roomy = Full(1000)
    recorder = Recorder(live_run(), roomy)
    finished(recorder)
    roomy._left = 1
    recorder.end()
    assert recorder.failure is not None


def test_a_recording_that_cannot_be_begun_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(TraceError, match="no trace is written"):
        Recorder(live_run(), tmp_path / "nowhere" / "run.msgpack")
    with pytest.raises(TraceError, match="no space left"):
        Recorder(live_run(), Full(1))


def test_a_fork_is_a_trace_of_its_own_that_begins_with_the_rounds_kept(tmp_path: Path) -> None:
    path = tmp_path / "run.msgpack"
    recorder = Recorder(live_run(below=2.5), path)
    made = [round_ for _ in range(5) if (round_ := recorder.step()) is not None]
    recorder.rewind(made[:2], Options(max_tokens=12, k=1))
    assert recorder.path == tmp_path / "run-fork1.msgpack"
    fork = finished(recorder)
    recorder.end()
    with Trace(path) as trunk, Trace(tmp_path / "run-fork1.msgpack") as branch:
        assert (len(trunk), trunk.end and trunk.end.reason) == (5, "aborted")
        assert [branch.round(i) for i in range(len(branch))] == made[:2] + fork
        assert branch.header.options["k"] == 1
        assert branch.header.run["forked_at"] == 2
        assert branch.end is not None
        assert branch.end.reason == "max_tokens"


def test_a_stream_cannot_hold_a_fork_and_says_so() -> None:
    stream = io.BytesIO()
    recorder = Recorder(live_run(), stream)
    made = finished(recorder)
    recorder.rewind(made[:2])
    assert recorder.failure is not None
    assert "a stream holds one run" in recorder.failure
    assert [r.emitted for r in finished(recorder)] == [r.emitted for r in made[2:]]


def test_a_run_that_breaks_is_recorded_with_its_fault(tmp_path: Path) -> None:
    path = tmp_path / "run.msgpack"
    live = LiveRun(DyingBase(VOCAB, LOGITS_OF, 2), None, PROMPT, Options(max_tokens=9), plain_samples=0)
    recorder = Recorder(live, path)
    finished(recorder)
    recorder.end()
    with Trace(path) as trace:
        assert (len(trace), trace.end and trace.end.reason) == (2, "fault")
        assert [(event.level, event.round) for event in trace.events()] == [("fault", 2)]


@pytest.mark.parametrize("sampler", ["greedy", "gumbel", "rejection"])
@pytest.mark.parametrize("form", ["one-pass", "two-pass"])
def test_the_audit_finds_nothing_in_a_recorded_run(tmp_path: Path, sampler: str, form: str) -> None:
    options = Options(
        form=form,
        k=4,
        max_tokens=60,
        sampler=sampler,
        temperature=0.0 if sampler == "greedy" else 0.9,
        fallback_below=1.6,
        fallback_window=4,
        stop_tokens=(8,),
    )
    live = LiveRun(ToyBase(VOCAB, LOGITS_OF), Wanderer(LOGITS_OF, VOCAB, 0.6, 1), PROMPT, options, candidates=3)
    recorder = Recorder(live, tmp_path / "run.msgpack")
    finished(recorder)
    recorder.end()
    with Trace(tmp_path / "run.msgpack") as trace:
        assert audit(trace.records(), trace.torn) == []
