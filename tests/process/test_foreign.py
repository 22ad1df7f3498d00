"""Engines that others wrote: what one does wrong is told, and it is not asked for what it does not do."""

import re
import sys
import textwrap
from contextlib import closing
from pathlib import Path

import pytest

from engine.errors import EngineFault, Refused
from engine.options import Options
from engine.process.launch import elsewhere
from engine.process.remote import RemoteRun
from tests.limits import HANG

ENGINE = textwrap.dedent(
    """
    import sys
    import msgpack

    class Engine:
        can = {"commands": ["step", "fork", "quit"], "options": ["k"]}

        def put(self, kind, **keys):
            sys.stdout.buffer.write(msgpack.packb({"type": kind, **keys}))
            sys.stdout.buffer.flush()

        def hello(self):
            self.put("hello", protocol=1, **self.can)

        def header(self):
            options = {"k": 2, "max_tokens": 9}
            base = {"name": "theirs", "vocab_size": 99}
            self.put("header", format="specstep", version=1, minor=0, base=base, options=options, prompt=[1])

        def prefill(self):
            self.put("prefill", positions=1, next=2)

        def round(self):
            self.put("round", index=0, form="plain", pos=1, t1=2, drafts=[], take=0, emitted=[2], next=3, consumed=2)

        def done(self, command, why):
            self.put("done", id=command["id"], why=why, rounds=1)

        def step(self, command):
            self.round()
            self.done(command, "stepped")

        def fork(self, command):
            sys.stderr.write(f"asked for {command['options']}")
            sys.exit(1)

    def serve(engine):
        engine.hello()
        engine.header()
        engine.prefill()
        engine.put("done", id=0, why="opened")
        for command in msgpack.Unpacker(sys.stdin.buffer, read_size=1):
            if command["command"] == "quit":
                break
            getattr(engine, command["command"])(command)
    """
)


@pytest.fixture
def theirs(tmp_path: Path) -> "Theirs":
    return Theirs(tmp_path / "theirs.py")


class Theirs:
    """Starts an engine whose methods are given as Python in place of the right ones."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def run(self, methods: str = "") -> RemoteRun:
        body = textwrap.indent(textwrap.dedent(methods) or "pass", "    ")
        self._path.write_text(f"{ENGINE}\nclass Theirs(Engine):\n{body}\n\nserve(Theirs())\n", encoding="utf-8")
        return RemoteRun(elsewhere(f"{sys.executable} {self._path}"), timeout=HANG)


@pytest.mark.parametrize(
    ("methods", "says"),
    [
        ("def hello(self): pass", "did not say hello .* but sent 'header' first: .* specstep watch -"),
        ("def header(self): pass", "the run is open, and sent no header before that"),
        ("def prefill(self): pass", "the run is open, and sent no prefill before that"),
        ("def hello(self): print('loading model', flush=True)", "printed 'loading model' where a record is due"),
    ],
)
def test_what_is_wrong_with_an_opening_is_told(theirs: Theirs, methods: str, says: str) -> None:
    with pytest.raises(EngineFault, match=says), closing(theirs.run(methods)) as run:
        run.open()


@pytest.mark.parametrize(
    ("methods", "says"),
    [
        ("def round(self): pass", "says that it made round 0, and sent none"),
        ("def done(self, *_): sys.exit(3)", "ended with status 3, waiting for the done of command 2, a step$"),
        (
            "def done(self, *_): self.put('done', id=7, why=''); sys.exit(3)",
            r"\(its last done was for id 7, which was not",
        ),
        ("def done(self, *_): print('verified', flush=True)", "printed 'verified' .*its stdout is for records alone"),
    ],
)
def test_what_is_wrong_with_an_answer_is_told(theirs: Theirs, methods: str, says: str) -> None:
    with closing(theirs.run(methods).open()) as run:
        run.step()
        assert run.lost is not None
        assert re.search(says, run.events[-1].message)


def test_an_engine_is_not_asked_for_what_its_hello_does_not_name(theirs: Theirs) -> None:
    with (
        closing(theirs.run().open()) as run,
        pytest.raises(Refused, match="does not fork by another tau, only by another k"),
    ):
        run.rewind((), Options(k=2, max_tokens=9, tau=0.5))
    with (
        closing(theirs.run('can = {"commands": ["step", "quit"]}').open()) as run,
        pytest.raises(Refused, match="does not fork: its commands are step, quit"),
    ):
        run.rewind(())


def test_only_what_differs_is_asked_for(theirs: Theirs) -> None:
    with closing(theirs.run().open()) as run, pytest.raises(EngineFault, match=r"asked for \{'k': 5\}"):
        run.rewind((), Options(k=5, max_tokens=9))
