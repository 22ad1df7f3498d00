"""What is loaded, and when: no screen in the engine, nothing slow before it is needed."""

import subprocess
import sys
from pathlib import Path

import pytest

from engine.commands.table import COMMANDS
from tests.cli.commands import recorded
from tests.limits import HANG

ROOT = Path(__file__).parents[2]
MODULES = sorted(
    ".".join(path.relative_to(ROOT).with_suffix("").parts)
    for path in (ROOT / "engine").rglob("*.py")
    if path.name not in ("__init__.py", "__main__.py") and "recipe" not in path.parts
)


def loaded(code: str, *arguments: str | Path, whole: bool = False) -> set[str]:
    """The modules that a fresh interpreter holds after ``code``: those at the top, or all by their whole names."""
    name = "name" if whole else "name.split('.')[0]"
    report = f"\nimport sys; print(' '.join({{{name} for name in sys.modules}}), file=sys.stderr)"
    done = subprocess.run(
        [sys.executable, "-c", code + report, *map(str, arguments)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
        timeout=HANG,
    )
    return set(done.stderr.split())


def test_no_module_of_the_engine_loads_the_screen() -> None:
    assert not {"textual", "rich", "tui"} & loaded(f"import {', '.join(MODULES)}")


def test_the_command_line_starts_without_numpy_onnxruntime_or_the_screen() -> None:
    assert not {"textual", "rich", "tui", "numpy", "onnxruntime", "tokenizers"} & loaded("import engine.cli")


def test_the_engine_of_a_screen_is_started_without_typer() -> None:
    used = "engine.__main__, engine.commands.ending, engine.commands.requests, engine.commands.serving"
    assert not {"textual", "rich", "tui", "typer", "pydantic"} & loaded(f"import {used}, engine.process.service")


@pytest.mark.parametrize("command", ["stats", "show --round 0", "trace info"])
def test_reading_a_trace_loads_neither_the_screen_nor_a_model_runtime(tmp_path: Path, command: str) -> None:
    trace = recorded(tmp_path / "run.msgpack")
    code = "import sys; from engine.cli import app; app(sys.argv[1:], standalone_mode=False)"
    slow = {"textual", "rich", "tui", "numpy", "onnxruntime", "tokenizers"}
    assert not slow & loaded(code, *command.split(), trace)


def test_a_command_loads_none_of_the_others(tmp_path: Path) -> None:
    trace = recorded(tmp_path / "run.msgpack")
    code = "import sys; from engine.cli import app; app(sys.argv[1:], standalone_mode=False)"
    others = {place.partition(":")[0] for name, place in COMMANDS.items() if name != "trace"}
    # What they have in common stands in modules of some of them.
    shared = {"engine.commands.show"}
    assert not (others - shared) & loaded(code, "trace", "info", trace, whole=True)
