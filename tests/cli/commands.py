"""Runs the command line, in this process or in one of its own."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

from typer.testing import CliRunner

from engine.cli import app
from tests.limits import HANG

ROOT = Path(__file__).parents[2]
TOY = ("--model", "toy", "--drafter", "scripted:takes=3-1-0-2")


class Finished(NamedTuple):
    """A finished command."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


def specstep(*arguments: str | Path, stdin: str | None = None, env: dict[str, str] | None = None) -> Finished:
    """Run a command in this process."""
    result = CliRunner(env=env).invoke(app, [str(argument) for argument in arguments], input=stdin)
    return Finished(result.exit_code, result.stdout, result.stderr)


def process(*arguments: str | Path, **options: Any) -> subprocess.CompletedProcess[bytes]:
    """Run a command as a process of its own."""
    command = [sys.executable, "-m", "engine", *map(str, arguments)]
    return subprocess.run(
        command, cwd=ROOT, env=dict(os.environ), check=False, timeout=HANG, **{"capture_output": True, **options}
    )


def recorded(path: Path, *arguments: str) -> Path:
    """A trace of a toy run."""
    made = specstep("record", *TOY, "--prompt", "hello", "--max-tokens", "40", "-o", path, *arguments)
    assert made.code == 0, made.err
    return path
