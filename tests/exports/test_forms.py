"""What each exported form holds, and that no token can break out of it."""

import csv
import html.parser
import io
import json
import re
import shutil
import subprocess
import tempfile
import unicodedata
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.export import FORMS, chunks
from engine.export.visible import Joiner, one_line, visible
from engine.records import Prefill, Round, Window
from engine.stats import PHASES
from engine.trace.reader import open_trace
from engine.trace.writer import TraceWriter
from tests.cli.commands import specstep
from tests.exports.makes import HEADER, hostile

TRACES = Path(__file__).parents[1] / "vectors" / "traces"
FALLBACK = TRACES / "clean-fallback.msgpack"
HIDDEN = ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp")


def exported(form: str, path: Path) -> str:
    with open_trace(path) as trace:
        return "".join(chunks(form, trace))


class Tags(html.parser.HTMLParser):
    """The tags of a page, and its text."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.seen: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text += data


def test_json_holds_every_record_and_the_figures(tmp_path: Path) -> None:
    path = hostile(tmp_path / "run.msgpack")
    text = exported("json", path)
    assert text.isascii()
    value = json.loads(text)
    assert value["header"]["base"]["name"] == HEADER.base.name
    assert [round_["take"] for round_ in value["rounds"]] == [2, 3, 0, 0, 0]
    assert value["rounds"][1]["text"] == "\u202etxt\u2066€ euro=SUM(A1)"
    assert (value["stats"]["accepted"], value["end"]["fell_back_at"], value["torn"]) == (5, 4, None)
    assert value["events"][0]["code"] == "fell-back"


def test_csv_has_a_row_a_round_and_no_formula(tmp_path: Path) -> None:
    rows = list(csv.DictReader(io.StringIO(exported("csv", hostile(tmp_path / "run.msgpack")))))
    assert [row["take"] for row in rows] == ["2", "3", "0", "0", "0"]
    assert [row["off"] for row in rows] == ["0", "0", "0", "1", "1"]
    assert [row["mean"] for row in rows] == ["3", "3.5", "2.5", "1", "1"]
    assert rows[0]["ms_verify"] == "4"
    assert not [cell for row in rows for cell in row.values() if cell[:1] in ("=", "+", "-", "@")]


def test_csv_has_an_empty_cell_for_what_is_unknown(tmp_path: Path) -> None:
    log = Path(__file__).parents[1] / "importers" / "samples" / "llama-zero-drafts.log"
    path = tmp_path / "run.msgpack"
    assert specstep("import", "llama-server", log, "-o", path).code == 0
    rows = list(csv.DictReader(io.StringIO(exported("csv", path))))
    assert [(row["drafted"], row["take"], row["emitted"]) for row in rows] == [
        ("", "11", "12"),
        ("", "4", "5"),
        ("", "0", "1"),
    ]


def no_number(text: str) -> None:
    """JSON has no NaN and no infinity, whatever Python's reader takes for one."""
    raise AssertionError(text)


def depths(slices: list[dict[str, Any]]) -> list[int]:
    """How deep each slice of a thread lies in others, as Perfetto nests them; none may lie half in another."""
    found, ends = [], [0]
    for event in slices:
        start, length = round(event["ts"] * 1000), round(event["dur"] * 1000)
        while ends and ends[-1] <= start:
            ends.pop()
        assert not ends or start + length <= ends[-1]
        found.append(len(ends))
        ends.append(start + length)
    return found


def events_of(path: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(exported("perfetto", path), parse_constant=no_number)["traceEvents"]
    return found


def test_perfetto_nests_phases_in_rounds_and_counts_beside_them(tmp_path: Path) -> None:
    events = events_of(hostile(tmp_path / "run.msgpack"))
    slices = [event for event in events if event["ph"] == "X"]
    rounds = [event for event in slices if event["name"].startswith("round ")]
    assert [(event["ts"], event["dur"]) for event in rounds] == [
        (6000.0, 5500.0),
        (11500.0, 5500.0),
        (17000.0, 5500.0),
        (22500.0, 5500.0),
        (28000.0, 2250.0),
    ]
    inside = [event for event in slices if 6000.0 <= event["ts"] < 11500.0 and event not in rounds]
    assert [(event["name"], event["dur"]) for event in inside] == [
        ("draft", 1000.0),
        ("verify", 4000.0),
        ("other", 500.0),
    ]
    counters = [event for event in events if event["ph"] == "C"]
    assert [event["args"]["a round"] for event in counters if event["name"] == "tokens"] == [3, 4, 1, 1, 1]
    assert [event["args"]["mean"] for event in counters if event["name"] == "rolling"] == [3, 3.5, 2.5, 1, 1]
    assert [event["name"] for event in events if event["ph"] == "i"] == ["fell-back", "flip"]


@given(st.lists(st.dictionaries(st.sampled_from(PHASES), st.floats(0, 1e6), max_size=6), min_size=1, max_size=8))
def test_perfetto_nests_to_the_nanosecond_whatever_the_times(times: list[dict[str, float]]) -> None:
    """Perfetto rounds to nanoseconds, and lifts a slice out of its row that begins or ends one of them too early."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run.msgpack"
        with TraceWriter(path) as writer:
            writer.write(HEADER)
            for index, ms in enumerate(times):
                writer.write(Round(index=index, form="one-pass", n_drafts=1, take=0, ms=ms))
        slices = [event for event in events_of(path) if event["ph"] == "X"]
    assert depths(slices) == [0 if event["name"].startswith("round ") else 1 for event in slices]


@given(st.text(alphabet='\\"a‹ü{', max_size=6))
def test_perfetto_meets_no_quote_that_it_takes_for_an_escaped_one(text: str) -> None:
    """Its reader (version 52) ends a string at a quote that no backslash precedes, and knows no other escape of it."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run.msgpack"
        with TraceWriter(path) as writer:
            writer.pieces({1: text.encode()}.get)
            writer.write(HEADER)
            writer.write(Round(index=0, form="plain", t1=1, emitted=(1,)))
        file = exported("perfetto", path)
        (written,) = (event["args"].get("text", "") for event in events_of(path) if event["ph"] == "X")
    assert written == text
    strings = re.findall(r'"((?:[^"\\]|\\.)*)"', file)
    assert not [string for string in strings if string.endswith("\\")]
    assert "\\u2039" not in file


def test_perfetto_is_json_whatever_numbers_a_trace_holds(tmp_path: Path) -> None:
    odd = (float("nan"), float("inf"), -1.0, 1.7e308)
    path = tmp_path / "run.msgpack"
    with TraceWriter(path) as writer:
        writer.write(msgspec.structs.replace(HEADER, options={"fallback_below": float("inf"), "fallback_window": 2}))
        writer.write(Prefill(positions=2, ms=float("nan"), next=1))
        for index, value in enumerate(odd):
            window = Window(window=(1,), mean=value, off=False)
            writer.write(Round(index=index, form="plain", emitted=(1,), fallback=window, ms={"step": value}))
    events = events_of(path)
    assert [event["dur"] for event in events if event["ph"] == "X"] == [1000.0] * 4
    assert [event["args"] for event in events if event["name"] == "rolling"] == [{"mean": -1.0}, {"mean": 1.7e308}]


def test_perfetto_draws_a_round_without_times_and_says_so(tmp_path: Path) -> None:
    sample = Path(__file__).parents[1] / "importers" / "samples" / "vllm-detailed.json"
    path = tmp_path / "run.msgpack"
    assert specstep("import", "vllm", sample, "-o", path).code == 0
    rounds = [event for event in events_of(path) if event["name"].startswith("round ")]
    assert [event["dur"] for event in rounds] == [1000.0] * 5
    assert all(event["args"]["untimed"] for event in rounds)


def test_a_token_cannot_break_out_of_the_page(tmp_path: Path) -> None:
    page = exported("html", hostile(tmp_path / "run.msgpack"))
    tags = Tags(page)
    assert not {"script", "img", "b", "iframe", "link", "object", "base"} & {tag for tag, _ in tags.seen}
    assert not [attrs for _, attrs in tags.seen if any(name.startswith("on") for name in attrs)]
    assert not [attrs for _, attrs in tags.seen if {"src", "href"} & attrs.keys()]
    assert "<script>alert(1)</script>" in tags.text
    assert (
        "meta",
        {"http-equiv": "Content-Security-Policy", "content": "default-src 'none'; style-src 'unsafe-inline'"},
    ) in tags.seen
    assert not [c for c in page if unicodedata.category(c) in HIDDEN and c != "\n"]


def test_the_page_marks_how_each_token_came(tmp_path: Path) -> None:
    page = exported("html", hostile(tmp_path / "run.msgpack"))
    spans = re.findall(r'<span class="([a-z]+)" title="[^"]*"><i class="m">(.)</i>', page)
    assert [span for span in spans if span[0] not in ("r", "u")] == [
        *[("c", "→"), ("a", "✓"), ("a", "✓")],
        *[("c", "→"), ("a", "✓"), ("a", "✓"), ("a", "✓")],
        *[("c", "→"), ("c", "→"), ("p", "▸")],
    ]
    assert [span[1] for span in spans if span[0] in ("r", "u")] == ["✗", *"✗··", *"✗··"]


def test_the_page_holds_what_the_audit_found() -> None:
    clean = exported("html", FALLBACK)
    assert "None: every record agrees" in clean
    faulty = Tags(exported("html", TRACES / "fault-position-off-by-one.msgpack")).text
    assert "None: every record agrees" not in faulty
    assert "A7" in faulty


def test_the_plot_shows_bar_flip_and_mean() -> None:
    root = ET.fromstring(exported("svg", FALLBACK))
    kinds = [element.get("class") for element in root.iter()]
    assert {"bar", "flip", "mean"} <= set(kinds)
    # one of each kind is the legend's
    assert (kinds.count("tokens") - 1, kinds.count("stepped") - 1) == (6, 101)
    text = " ".join(element.text or "" for element in root.iter())
    assert "off after round 5" in text
    assert "bar 2.5 over 4 rounds" in text


def test_a_plot_of_many_rounds_has_few_columns(tmp_path: Path) -> None:
    from tests.trace.makes import a_run, write_run  # noqa: PLC0415 (only here)

    path = write_run(tmp_path / "run.msgpack", a_run(2000))
    picture = exported("svg", path)
    assert picture.count('class="tokens"') < 350
    assert len(exported("html", path)) < 4_000_000


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", ["torn-mid-record", "torn-no-end", "clean-stop", "clean-two-pass", "clean-plain"])
def test_every_form_takes_every_trace(form: str, name: str) -> None:
    text = exported(form, TRACES / f"{name}.msgpack")
    if form in ("json", "perfetto"):
        json.loads(text)
    elif form == "svg":
        ET.fromstring(text)
    assert text


@given(st.lists(st.binary(max_size=6), max_size=12))
def test_joined_pieces_hide_nothing_and_lose_nothing(pieces: list[bytes]) -> None:
    joiner = Joiner()
    raw = "".join(joiner.feed(0, piece) for piece in pieces) + joiner.rest()
    shown = visible(raw)
    assert not [c for c in shown if unicodedata.category(c) in HIDDEN and c != "\n"]
    assert "\n" not in one_line(raw)
    try:
        assert raw == b"".join(pieces).decode()
    except UnicodeDecodeError:
        assert "‹" in raw


@pytest.mark.slow
def test_a_browser_renders_the_page(tmp_path: Path) -> None:
    browser = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if browser is None:
        pytest.skip("there is no Chromium")
    page, picture = tmp_path / "page.html", tmp_path / "page.png"
    page.write_text(exported("html", hostile(tmp_path / "run.msgpack")), encoding="utf-8")
    flags = ["--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path / 'profile'}"]
    subprocess.run(
        [browser, *flags, f"--screenshot={picture}", page.as_uri()], check=True, capture_output=True, timeout=120
    )
    assert picture.read_bytes().startswith(b"\x89PNG")
