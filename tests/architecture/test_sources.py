"""What every file of the project keeps to."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FOLDERS = ("engine", "tui", "tests", "recordings", "benchmarks")
SOURCES = [path for folder in FOLDERS for path in sorted((ROOT / folder).rglob("*.py"))]
LONGEST = 400
MACHINE = re.compile(r"(?<![\w.])/(?:" + "|".join(("home", "root", "work", "Users", "mnt")) + r")/\w")


def texts() -> Iterator[Path]:
    yield from (ROOT / name for name in ("README.md", "pyproject.toml", ".ci/run"))
    for folder in FOLDERS:
        for path in sorted((ROOT / folder).rglob("*")):
            if path.suffix in {".py", ".md", ".json", ".tcss", ".toml", ".txt", ".svg"} and path.is_file():
                yield path


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_module_is_short_and_says_what_it_is_for(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert text.count("\n") <= LONGEST
    if text.strip():
        assert ast.get_docstring(ast.parse(text))


def test_no_file_names_a_place_on_somebodys_machine() -> None:
    found = [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()[:100]}"
        for path in texts()
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if MACHINE.search(line)
    ]
    assert found == []


def test_no_module_is_named_after_nothing() -> None:
    vague = {"utils", "util", "helpers", "helper", "common", "misc", "manager", "registry", "factory"}
    assert [path for path in SOURCES if path.stem in vague] == []
