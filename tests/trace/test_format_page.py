"""The page that explains the format is right: its program makes its bytes, and they are a clean trace."""

import re
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgpack
import msgspec
import pytest

from engine.errors import TraceError
from engine.records import AnyRecord
from engine.trace.audit import audit
from engine.trace.reader import open_trace

PAGE = (Path(__file__).parents[2] / "recordings" / "FORMAT.md").read_text()


def block(kind: str) -> str:
    """The page's only block of that kind."""
    (found,) = re.findall(rf"```{kind}\n(.*?)```", PAGE, re.DOTALL)
    return str(found)


def shown_bytes() -> bytes:
    """The bytes of the example, each line ``offset  bytes  text``."""
    data = b""
    for line in block("hex").splitlines():
        assert int(line[:4], 16) == len(data)
        data += bytes.fromhex(line[6:53])
    return data


def test_the_program_on_the_page_makes_the_bytes_on_the_page(tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-c", block("python"), str(tmp_path / "made")], check=True)
    assert (tmp_path / "made").read_bytes() == shown_bytes()


def test_the_example_is_a_clean_trace(tmp_path: Path) -> None:
    path = tmp_path / "example"
    path.write_bytes(shown_bytes())
    trace = open_trace(path)
    assert trace.torn is None
    assert audit(trace.records(), trace.torn) == []
    assert trace.counts.tolist() == [2, 2]
    text = b"".join(trace.piece(token) or b"" for at in (0, 1) for token in trace.round(at).emitted or ())
    assert text.decode() == " aä!"


LEAST: tuple[dict[str, Any], ...] = (
    {"type": "header", "format": "specstep", "version": 1, "minor": 0, "base": {"name": "mine"}},
    {"type": "prefill", "positions": 3},
    {"type": "round", "index": 0, "form": "plain"},
    {"type": "end", "reason": "max_tokens"},
)


def written(path: Path, records: Iterable[dict[str, Any]]) -> Path:
    path.write_bytes(b"".join(map(msgpack.packb, records)))
    return path


def test_what_the_page_says_is_needed_is_needed_and_enough(tmp_path: Path) -> None:
    with open_trace(written(tmp_path / "least", LEAST)) as trace:
        assert audit(trace.records(), trace.torn) == []
    needed = next(line for line in re.findall(r"Needed are .*?\.\n", PAGE, re.DOTALL))
    for i, record in enumerate(LEAST):
        for key in record.keys() - {"type"}:
            assert f"`{key}`" in needed
            lacking = {name: value for name, value in record.items() if name != key}
            with pytest.raises(TraceError), open_trace(written(tmp_path / "less", [*LEAST[:i], lacking])) as trace:
                list(trace.records())


def test_the_page_names_every_key_of_every_record() -> None:
    for cls in AnyRecord.__args__:
        keys = {field.encode_name for field in msgspec.structs.fields(cls)}
        assert f"`{cls.__struct_config__.tag}`" in PAGE
        assert {key for key in keys if f"`{key}`" not in PAGE} == set(), cls
