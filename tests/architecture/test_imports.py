"""What is loaded, and when: no screen in the engine, nothing slow before it is needed."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.commands import recorded
from tests.limits import HANG

ROOT = Path(__file__).parents[2]
MODULES = sorted(
    ".".join(path.relative_to(ROOT).with_suffix("").parts)
    for path in (ROOT / "engine").rglob("*.py")
    if path.name not in ("__init__.py", "__main__.py") and "recipe" not in path.parts
)


def loaded(code: str, *arguments: str | Path) -> set[str]:
    """The top-level modules that a fresh interpreter holds after ``code``."""
    report = "\nimport sys; print(' '.join({name.split('.')[0] for name in sys.modules}), file=sys.stderr)"
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


@pytest.mark.parametrize("command", ["stats", "show --round 0", "trace info"])
def test_reading_a_trace_loads_neither_the_screen_nor_a_model_runtime(tmp_path: Path, command: str) -> None:
    trace = recorded(tmp_path / "run.msgpack")
    code = "import sys; from engine.cli import app; app(sys.argv[1:], standalone_mode=False)"
    assert not {"textual", "rich", "tui", "onnxruntime", "tokenizers"} & loaded(code, *command.split(), trace)
