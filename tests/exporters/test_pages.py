"""The pages for whoever brings an engine of their own: what they name is there, and their programs compile."""

import re
import subprocess
from pathlib import Path

from engine.trace.audit import audit
from engine.trace.importers import FORMATS
from engine.trace.reader import open_trace
from tests.exporters.test_cpp import EXPORTERS, compiled

PAGE = (EXPORTERS / "README.md").read_text(encoding="utf-8")
AUDIT = (EXPORTERS.parent / "AUDIT.md").read_text(encoding="utf-8")
FORMAT = (EXPORTERS.parent / "FORMAT.md").read_text(encoding="utf-8")
AROUND = """
    const specstep::Tokens prompt{1, 2}, drafts{4, 5}, targets{4, 6, 7};
    const int t1 = 3, take = 1;
    const double prefill_ms = 1, step_ms = 1, draft_ms = 1, verify_ms = 1;
"""


def rows(page: str) -> list[str]:
    """The first column of its tables."""
    return re.findall(r"^\| `?([\w./-]+)`? \|", page, re.MULTILINE)


def test_the_page_has_every_file_and_every_format() -> None:
    there = {path.name for path in EXPORTERS.iterdir() if path.suffix in (".hpp", ".cpp", ".py")} - {"__init__.py"}
    assert there | set(FORMATS) <= set(rows(PAGE))
    assert set(rows(PAGE)) - {"file", "format"} == there | set(FORMATS)


def test_its_c_plus_plus_compiles_and_records_a_clean_trace(tmp_path: Path) -> None:
    (block,) = re.findall(r"```cpp\n(.*?)```", PAGE, re.DOTALL)
    includes, calls = block.split("\n\n", 1)
    source = tmp_path / "own.cpp"
    calls = calls.replace("cache.length()", "4")
    source.write_text(f"{includes}\nint main() {{\n{AROUND}{calls}}}\n", encoding="utf-8")
    subprocess.run([compiled(source, tmp_path / "own")], cwd=tmp_path, check=True)
    with open_trace(tmp_path / "run.msgpack") as trace:
        left_unused = [finding.rule for finding in audit(trace.records(), trace.torn)]
    assert left_unused == ["A8"]


def test_the_page_of_the_audit_has_every_rule_and_names_keys_of_the_format() -> None:
    assert [row for row in rows(AUDIT) if row != "rule"] == [f"A{i}" for i in range(1, 19)]
    for line in re.findall(r"^\| A\d.*\|(.*)\|$", AUDIT, re.MULTILINE):
        for key in re.findall(r"`([a-z_.0-9]+)`", line):
            assert f"`{key.split('.')[-1]}`" in FORMAT or f'`"{key}"`' in FORMAT, key
