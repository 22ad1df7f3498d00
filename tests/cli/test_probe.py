"""``specstep probe`` and ``info``."""

import json

import pytest

from engine.cli import names
from engine.commands.probe import table
from engine.probe import Difference, Plain, Report, Way
from engine.version import VERSION
from tests.cli.commands import specstep

TOY = ("--model", "toy", "--prompt", "hello", "--max-tokens", "24")


def test_an_exact_probe_is_status_zero_with_a_way_a_line() -> None:
    probed = specstep("probe", *TOY, "--drafter", "scripted:takes=3-1-0,lookup", "--k", "3,5")
    assert (probed.code, probed.err) == (0, "")
    lines = probed.out.splitlines()
    assert lines[-1] == "exact: every way gave the tokens of plain decode"
    ways = [line.split()[:4] for line in lines[3:-1]]
    assert ways[0] == ["scripted:takes=3-1-0", "3", "one-pass", "by-hand"]
    assert ways[-1] == ["lookup", "5", "two-pass", "run_from"]
    assert len(ways) == 2 * 2 * 2 * 3


def test_as_json_it_has_every_figure_of_every_way() -> None:
    report = specstep("probe", *TOY, "--drafter", "lookup:n=3,match=latest", "--json").json
    assert report["exact"] is True
    assert (report["base"], report["prompt_tokens"], len(report["plain"]["tokens"])) == ("toy", 5, 24)
    assert {way["how"] for way in report["ways"]} == {"by-hand", "run", "run_from"}
    assert report["ways"][0].keys() == {
        *("drafter", "k", "form", "how", "tokens", "tokens_per_second", "ttft_ms"),
        *("tokens_per_round", "batches", "fell_back_at", "difference"),
    }
    assert {way["drafter"] for way in report["ways"]} == {"lookup:n=3,match=latest"}


def test_the_environment_gives_its_draft_lengths_and_bar() -> None:
    knobs = {"DFLASH2_K": "2,4", "DFLASH2_FALLBACK": "2", "DFLASH2_FALLBACK_ROUNDS": "4"}
    report = specstep("probe", *TOY, "--drafter", "scripted:takes=0", "--json", env=knobs).json
    assert {way["k"] for way in report["ways"]} == {2, 4}
    assert {way["fell_back_at"] for way in report["ways"] if way["how"] == "run"} == {4}


@pytest.mark.parametrize(
    ("flags", "says"),
    [
        (["--k", "three"], "give whole numbers"),
        (["--k", "0"], "k is 0"),
        (["--drafter", "none"], "give --drafter a drafter"),
        (["--drafter", "mtp"], "no drafter 'mtp'"),
        (["--fallback", "auto"], "give --fallback-below a number"),
    ],
)
def test_what_cannot_be_probed_is_refused(flags: list[str], says: str) -> None:
    probed = specstep("probe", *TOY, *(() if "--drafter" in flags else ("--drafter", "lookup")), *flags)
    assert (probed.code, probed.out) == (2, "")
    assert says in probed.err


def test_a_difference_is_shown_with_its_position_and_gap() -> None:
    way = Way(
        drafter="mtp",
        k=3,
        form="one-pass",
        how="run",
        tokens=9,
        tokens_per_second=10.0,
        ttft_ms=1.0,
        tokens_per_round=None,
        batches=2,
        fell_back_at=None,
        difference=Difference(7, 11, 12, 0.001),
    )
    report = Report(exact=False, base="b", prompt_tokens=3, max_tokens=9, plain=Plain((1,) * 9, 20.0, 1.0), ways=(way,))
    assert table(report).splitlines()[-2:] == [
        "not exact:",
        "  mtp k=3 one-pass run: token 7 is 12, plain decode has 11, where plain's top-1/top-2 gap is 0.001",
    ]


def test_info_says_which_version_and_what_can_run_a_model() -> None:
    facts = specstep("info", "--json").json
    assert facts["specstep"] == VERSION
    assert "CPUExecutionProvider" in facts["providers"]
    assert VERSION in specstep("info").out


def test_without_a_command_it_says_what_there_is() -> None:
    shown = specstep()
    assert shown.code == 2
    for name in names():
        assert f"\n  {name} " in shown.out + shown.err


def test_an_unknown_command_or_flag_is_a_usage_error() -> None:
    assert specstep("frobnicate").code == 2
    assert specstep("stats", "--frobnicate").code == 2
    assert json.loads(specstep("info", "--json").out)
