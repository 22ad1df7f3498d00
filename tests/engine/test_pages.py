"""Weights on huge pages: what is moved, how it is told of, and that what is moved stays what it was."""

import errno
import sys
from pathlib import Path

import numpy as np
import pytest

from engine import pages
from engine.models import bundled
from engine.pages import SIZE, Area, areas_of, moved, size_of
from engine.sessions import Sessions
from engine.stages import Stage, heard_by
from tests.models import tiny

SMAPS = """\
00400000-00800000 r-xp 00000000 08:01 131 /usr/bin/python3
Rss:                4096 kB
AnonHugePages:         0 kB
VmFlags: rd ex
00a00000-00e00000 rw-p 00000000 00:00 0                                  [heap]
Size:               4096 kB
Rss:                4000 kB
AnonHugePages:      2048 kB
VmFlags: rd wr
7f0000100000-7f0000f00000 rw-p 00000000 00:00 0 
Rss:               14336 kB
AnonHugePages:         0 kB
VmFlags: rd wr
7f0001000000-7f0001200000 rw-p 00000000 08:01 77 /tmp/a file of 00:00 0
Rss:                2048 kB
AnonHugePages:         0 kB
7ffc00000000-7ffc00021000 rw-p 00000000 00:00 0                          [stack]
Rss:                 132 kB
AnonHugePages:         0 kB
"""  # noqa: W291 (as Linux writes it)


def test_what_a_process_fills_itself_is_found() -> None:
    heap, weights = areas_of(SMAPS)
    assert heap == Area(0xA00000, 0xE00000, 4000 * 1024, SIZE)
    assert weights == Area(0x7F0000100000, 0x7F0000F00000, 14336 * 1024, 0)
    assert list(weights.whole) == list(range(0x7F0000200000, 0x7F0000E00000, SIZE))
    assert size_of([heap, weights]) == 8 * SIZE


@pytest.mark.parametrize(
    ("area", "wanting"),
    [
        (Area(0, 4 * SIZE, 4 * SIZE, 0), True),
        (Area(0, 4 * SIZE, 4 * SIZE, 3 * SIZE), True),
        (Area(0, 4 * SIZE, 4 * SIZE, 4 * SIZE), False),  # it is there already
        (Area(0, 4 * SIZE, 2 * SIZE, 0), False),  # half of it is room that nobody filled
        (Area(4096, 4096 + SIZE, SIZE, 0), False),  # it holds no whole one
    ],
)
def test_what_is_worth_moving(area: Area, wanting: bool) -> None:
    assert area.wanting is wanting


def test_all_of_an_area_is_moved_and_told_of() -> None:
    areas = [Area(SIZE - 4096, 21 * SIZE + 4096, 20 * SIZE, 0), Area(64 * SIZE, 65 * SIZE, SIZE, 0)]
    calls: list[tuple[int, int]] = []
    told: list[int] = []

    def move(begin: int, size: int) -> int:
        calls.append((begin, size))
        return 0

    moved(areas, move, told.append)
    covered = [begin + offset for begin, size in calls for offset in range(0, size, SIZE)]
    assert covered == [*areas[0].whole, *areas[1].whole]
    assert told == sorted(told)
    assert told[-1] == size_of(areas)


@pytest.mark.parametrize(("error", "calls"), [(errno.EAGAIN, 3), (errno.EINVAL, 1), (errno.ENOMEM, 1)])
def test_what_cannot_be_moved_is_left(error: int, calls: int) -> None:
    made: list[int] = []

    def move(begin: int, _size: int) -> int:
        made.append(begin)
        return error

    moved([Area(0, 20 * SIZE, 20 * SIZE, 0)], move, lambda _: None)
    assert len(made) == calls


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has such pages")
def test_memory_is_the_same_behind_a_move() -> None:
    numbers = np.arange(8 * SIZE // 8)
    begin = -(-numbers.ctypes.data // SIZE) * SIZE
    inside = [area for area in pages.areas() if area.begin <= begin and begin + 6 * SIZE <= area.end]
    assert len(inside) == 1
    error = pages.collapse(begin, 6 * SIZE)
    assert error in (0, errno.EINVAL, errno.ENOMEM, errno.EAGAIN)
    assert (numbers == np.arange(len(numbers))).all()


def test_a_move_of_what_is_not_there_is_an_error_and_nothing_else() -> None:
    if sys.platform == "linux":
        assert pages.collapse(0, SIZE) != 0


@pytest.fixture
def graph(tmp_path: Path) -> Path:
    tiny.write(tmp_path, tiny.networks(1))
    return tmp_path / bundled.open_bundle(tmp_path).manifest.base.graph


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has such pages")
def test_a_large_model_is_moved_as_it_is_loaded(graph: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(pages.VARIABLE, raising=False)
    monkeypatch.setattr(pages, "WORTH", 0)
    monkeypatch.setattr(pages, "resident", lambda: 0)
    areas = [Area(0, 16 * SIZE, 16 * SIZE, 0), Area(32 * SIZE, 33 * SIZE, 0, 0)]
    calls: list[int] = []

    def move(begin: int, size: int) -> int:
        calls.append(begin)
        areas[0] = areas[0]._replace(huge=areas[0].huge + size)
        return 0

    monkeypatch.setattr(pages, "areas", lambda: list(areas))
    monkeypatch.setattr(pages, "collapse", move)
    heard: list[Stage] = []
    sessions = Sessions()
    with heard_by(heard.append):
        sessions(graph)
    assert heard[0].text == f"loading {graph.name}"
    assert heard[1] == Stage(f"moving {graph.name} to huge pages", 0, 16 * SIZE)
    assert heard[-1].done == 16 * SIZE
    assert len(calls) == 2
    assert sessions.account()["huge_pages"] == 16 * SIZE


def test_a_small_model_is_left(graph: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pages, "areas", lambda: pytest.fail("nothing was to be moved"))
    sessions = Sessions()
    sessions(graph)
    assert "huge_pages" not in sessions.account()


@pytest.mark.parametrize("why", ["switched off", "not Linux"])
def test_nothing_is_moved_where_it_is_not_wanted(graph: Path, why: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if why == "switched off":
        monkeypatch.setenv(pages.VARIABLE, "off")
    else:
        monkeypatch.setattr(sys, "platform", "darwin")
    monkeypatch.setattr(pages, "WORTH", -(2**40))
    monkeypatch.setattr(pages, "areas", lambda: pytest.fail("nothing was to be moved"))
    sessions = Sessions()
    sessions(graph)
    assert "huge_pages" not in sessions.account()


def test_a_system_that_tells_nothing_of_a_process_is_left_alone(
    graph: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pages, "_PROCESS", tmp_path / "none")
    monkeypatch.setattr(pages, "WORTH", 0)
    assert pages.areas() == []
    monkeypatch.setattr(pages, "collapse", lambda *_: pytest.fail("nothing was to be moved"))
    sessions = Sessions()
    sessions(graph)
    assert "huge_pages" not in sessions.account()
