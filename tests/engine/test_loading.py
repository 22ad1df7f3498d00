"""How far an opening is: told stage by stage, kept for the next time, and never said where it is not known."""

import json
from pathlib import Path

import pytest

from engine import loads
from engine.loading import Loading, Share, amount, bar, drifting
from engine.stages import Stage, heard_by, stage
from tests.models import tiny


def test_nobody_need_listen() -> None:
    stage("reading", 100)(50)


def test_a_stage_tells_how_far_it_is_about_as_often_as_can_be_seen() -> None:
    heard: list[Stage] = []
    with heard_by(heard.append):
        advance = stage("reading", 1_000_000)
        for done in range(0, 1_000_001, 10):
            advance(done)
    assert heard[0] == Stage("reading", 0, 1_000_000)
    assert heard[-1] == Stage("reading", 1_000_000, 1_000_000)
    assert 100 < len(heard) <= 202
    assert [each.done for each in heard] == sorted({each.done for each in heard})


def test_a_bundle_tells_how_many_of_its_bytes_were_checked(tmp_path: Path) -> None:
    heard: list[Stage] = []
    with heard_by(heard.append):
        tiny.write(tmp_path, tiny.networks(1))
    checked = [each for each in heard if each.text == "checking the files of tiny"]
    size = sum(path.stat().st_size for path in tmp_path.iterdir() if path.name != "bundle.json")
    assert checked[0] == Stage("checking the files of tiny", 0, size)
    assert checked[-1].done == checked[-1].total


def test_the_times_of_an_opening_are_kept_by_what_was_opened(tmp_path: Path) -> None:
    file = tmp_path / "cache" / "loads.json"
    assert loads.earlier(file, "mine on cpu") == {}
    loads.keep(file, "mine on cpu", {"starting": 0.5, "loading": 2.0})
    loads.keep(file, "other on cpu", {"starting": 1.0})
    loads.keep(file, "mine on cpu", {"starting": 0.25})
    assert loads.earlier(file, "mine on cpu") == {"starting": 0.25}
    assert loads.earlier(file, "other on cpu") == {"starting": 1.0}
    for i in range(loads.LIMIT):
        loads.keep(file, str(i), {})
    assert loads.earlier(file, "mine on cpu") == {}
    assert [path.name for path in file.parent.iterdir()] == ["loads.json"]


@pytest.mark.parametrize(
    "content", ["", "[]", "{", '{"mine": 3}', '{"mine": {"a": "b"}}', '{"mine": {"a": -1}}', "\xff"]
)
def test_a_damaged_file_of_times_is_none(tmp_path: Path, content: str) -> None:
    file = tmp_path / "loads.json"
    file.write_bytes(content.encode("latin-1"))
    assert loads.earlier(file, "mine") == {}
    loads.keep(file, "mine", {"a": 1.0})
    assert json.loads(file.read_text()) == {"mine": {"a": 1.0}}


def test_times_that_cannot_be_kept_are_let_go(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    loads.keep(tmp_path / "file" / "loads.json", "mine", {"a": 1.0})


def test_a_folder_is_known_by_its_place_and_a_name_by_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "model").mkdir()
    monkeypatch.chdir(tmp_path)
    by_place = loads.key_of(str(tmp_path / "model"), "cpu", "screen")
    assert loads.key_of("model", "cpu", "screen") == by_place == f"{tmp_path / 'model'} on cpu, screen"
    assert loads.key_of("smollm2", "openvino", "probe") == "smollm2 on openvino, probe"


def test_a_stage_that_takes_longer_than_the_last_time_is_not_shown_as_done() -> None:
    now = [0.0]
    loading = Loading(lambda: [Stage("loading")], {"loading": 2.0, "trying": 2.0}, lambda: now[0])
    shares = []
    for now[0] in (0.0, 1.0, 2.0, 50.0):
        shares.append(loading.share())
    assert shares == [Share(value, estimated=True) for value in (0.0, 0.25, 0.485, 0.485)]


def test_what_an_opening_took_is_summed_by_stage() -> None:
    now, stages = [0.0], list[Stage]()
    loading = Loading(lambda: stages, clock=lambda: now[0])
    for at, text in ((1.0, "loading base.onnx"), (3.0, "reading the prompt, 4 tokens"), (4.0, "loading base.onnx")):
        now[0] = at
        stages.append(Stage(text))
        loading.look()
    now[0] = 4.5
    assert loading.times() == {"loading base.onnx": 3.5, "reading the prompt": 1.0}


@pytest.mark.parametrize(
    ("told", "words"),
    [
        (Stage("x"), ""),
        (Stage("x", 120_400_000, 541_000_000), "120 of 541 MB"),
        (Stage("x", 2_000, 9_000), "2 of 9 kB"),
        (Stage("x", 4_000_000_000, 16_000_000_000), "4 of 16 GB"),
    ],
)
def test_an_amount_is_in_the_unit_of_the_whole(told: Stage, words: str) -> None:
    assert amount(told) == words


def test_bars_have_the_cells_they_are_given() -> None:
    assert [bar(share, 4, "#", ".") for share in (0.0, 0.26, 0.99, 1.0)] == ["....", "#...", "###.", "####"]
    drifts = [drifting(seconds / 10, 10, "#", ".") for seconds in range(40)]
    assert {(len(each), each.count("#")) for each in drifts} == {(10, 2)}
    assert {drifts[0], drifts[8]} == {"##........", "........##"}
    assert drifting(3.3, 1, "#", ".") == "#"
