"""Rounds without pause, with interrupts, forks, deaths and readers that come and go: none is lost, none comes twice."""

from pathlib import Path

import pytest

from benchmarks.soak import Soak


def test_a_short_soak(tmp_path: Path) -> None:
    report = Soak(7, tmp_path, max_tokens=300, deaths=0.1).run(2500)
    assert report.left == ()
    assert {"order", "step", "fork", "interrupt", "kill", "reader"} <= report.acts.keys()
    assert report.acts["reader checked"] > 0


@pytest.mark.slow
def test_a_long_soak_is_flat(tmp_path: Path) -> None:
    assert Soak(1, tmp_path).run(60_000).flat
