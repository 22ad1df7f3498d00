"""The example of a base and a drafter of one's own runs, records and is stepped."""

import subprocess
import sys
from contextlib import closing
from pathlib import Path

from engine.options import Options
from engine.process.launch import elsewhere
from engine.process.remote import RemoteRun
from engine.trace.audit import audit
from engine.trace.reader import open_trace
from recordings.exporters import own_models
from tests.limits import HANG

PROGRAM = Path(own_models.__file__)


def test_its_trace_passes_the_audit_and_its_text_is_plain_decode_s(tmp_path: Path) -> None:
    command = [sys.executable, str(PROGRAM), str(tmp_path / "run.msgpack")]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    trace = open_trace(tmp_path / "run.msgpack")
    assert audit(trace.records(), trace.torn) == []
    assert said == f"120 tokens in {len(trace)} rounds; the text is plain decode's\n"
    assert {trace.round(index).take for index in range(len(trace))} >= {0, 4}


def test_a_debugger_steps_it_by_the_options_it_was_started_with() -> None:
    asked = {"prompt": "def ", "options": {"k": 2, "max_tokens": 20}}
    with closing(RemoteRun(elsewhere(f"{sys.executable} {PROGRAM}", asked), timeout=HANG).open()) as run:
        assert (run.header.prompt, run.header.options["k"]) == (tuple(b"def "), 2)
        first = run.step()
        assert first is not None
        run.rewind([first], Options(k=1, max_tokens=20))
        assert run.header.run["forked_at"] == 1
        while (round_ := run.step()) is not None:
            assert len(round_.drafts or ()) <= 1
        assert run.end().emitted == 20
