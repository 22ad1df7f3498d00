"""``specstep probe`` and ``info``."""

import json
from pathlib import Path

import pytest

from engine import paths
from engine.commands.probe_text import report_text
from engine.commands.table import COMMANDS
from engine.probe.report import Difference, Plain, Report, Text, Way
from engine.version import VERSION
from tests.cli.commands import specstep

QUICK = ("--model", "toy", "--max-tokens", "24", "--repeat", "1")
TOY = (*QUICK, "--prompt", "hello")


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
    assert (report["base"], report["sampler"], report["warning"]) == ("toy", "greedy", None)
    (text,) = report["texts"]
    assert (text["name"], text["prompt_tokens"], len(text["tokens"])) == ("prompt", 5, 24)
    assert report["plain"].keys() == {"tokens", "tokens_per_second", "ttft_ms", "repeated_8grams"}
    assert {way["how"] for way in report["ways"]} == {"by-hand", "run", "run_from"}
    assert report["ways"][0].keys() == {
        *("drafter", "k", "form", "how", "tokens", "tokens_per_second", "ttft_ms", "speedup", "repeated_8grams"),
        *("tokens_per_round", "by_position", "rounds", "batches", "fell_back_at", "difference"),
    }
    assert {way["drafter"] for way in report["ways"]} == {"lookup:n=3,match=latest"}


def test_the_environment_gives_its_draft_lengths_and_bar() -> None:
    knobs = {"DFLASH2_K": "2,4", "DFLASH2_FALLBACK": "2", "DFLASH2_FALLBACK_ROUNDS": "4"}
    report = specstep("probe", *TOY, "--drafter", "scripted:takes=0", "--json", env=knobs).json
    assert {way["k"] for way in report["ways"]} == {2, 4}
    assert [way["fell_back_at"] for way in report["ways"] if way["how"] == "run"] == [[4]] * 4


@pytest.mark.parametrize(
    ("flags", "says"),
    [
        (["--k", "three"], "give whole numbers"),
        (["--k", "0"], "k is 0"),
        (["--drafter", "none"], "give --drafter a drafter"),
        (["--drafter", "mtp"], "no drafter 'mtp'"),
        (["--fallback", "auto"], "give --fallback-below a number"),
        (["--form", "three-pass"], "--form is 'three-pass'"),
        (["--temperature", "1", "--sampler", "rejection"], "keeps plain decode's distribution and not its tokens"),
        (["--domain", "code"], "give a prompt, or a --domain"),
        (["--prompts", "2"], "give a prompt, or a --domain"),
        (["--bits", "--k", "3,5"], "--bits compares at one k"),
    ],
)
def test_what_cannot_be_probed_is_refused(flags: list[str], says: str) -> None:
    probed = specstep("probe", *TOY, *(() if "--drafter" in flags else ("--drafter", "lookup")), *flags)
    assert (probed.code, probed.out) == (2, "")
    assert says in probed.err


def test_the_prompts_of_a_domain_are_probed_as_one() -> None:
    report = specstep("probe", *QUICK, "--drafter", "lookup", "--domain", "story", "--prompts", "2", "--json").json
    assert len({text["name"] for text in report["texts"]}) == 2
    assert report["plain"]["tokens"] == report["ways"][0]["tokens"] == 48
    assert report["ways"][0]["fell_back_at"] == [None, None]


def test_without_a_prompt_it_takes_one_of_held_out_code() -> None:
    (text,) = specstep("probe", *QUICK, "--drafter", "lookup", "--json").json["texts"]
    assert text["name"].endswith(".py")


@pytest.mark.parametrize(
    ("flags", "says"),
    [
        (["--domain", "law"], "--domain is 'law': use one of code, docs, prose, story, verse"),
        (["--prompts", "21"], "--prompts is 21: code has 1 to 20"),
        (["--prompts", "0"], "--prompts is 0: code has 1 to 20"),
    ],
)
def test_prompts_that_do_not_exist_are_refused(flags: list[str], says: str) -> None:
    probed = specstep("probe", *QUICK, *flags)
    assert (probed.code, probed.out) == (2, "")
    assert says in probed.err


def test_all_drafters_of_a_model_are_probed_if_none_is_named() -> None:
    report = specstep("probe", *TOY, "--json").json
    assert {way["drafter"] for way in report["ways"]} == {"scripted", "lookup"}


@pytest.mark.parametrize("drafter", ["synthetic:rates=0.9-0.5,seed=3", "draft-model:toy"])
@pytest.mark.parametrize("sampling", [(), ("--temperature", "0.7", "--seed", "5")], ids=["greedy", "gumbel"])
def test_a_text_that_was_known_and_one_of_another_model_are_exact_by_every_sampler(
    drafter: str, sampling: tuple[str, ...]
) -> None:
    report = specstep("probe", *TOY, *sampling, "--drafter", drafter, "--json").json
    assert report["exact"] is True
    assert {way["drafter"] for way in report["ways"]} == {drafter}
    assert report["sampler"] == ("gumbel" if sampling else "greedy")
    if drafter.startswith("draft-model"):
        assert {way["tokens_per_round"] for way in report["ways"]} == {4.0}


def test_a_toy_row_is_bit_identical_at_every_width() -> None:
    probed = specstep("probe", "--model", "toy", "--prompt", "hello", "--bits")
    assert (probed.code, probed.err) == (0, "")
    lines = probed.out.splitlines()
    assert lines[0] == "toy: rows 0..7 of a verify against steps of width 1, 3 texts, 3 times each"
    assert [line.split(":")[0] for line in lines[1:-1]] == ["  seed 0", "  seed 1", "  seed 2"]
    assert lines[-1] == "bit-identical: the width of a pass does not matter here"


def way(difference: Difference | None) -> Way:
    return Way(
        drafter="mtp",
        k=3,
        form="one-pass",
        how="run",
        tokens=9,
        tokens_per_second=10.0,
        ttft_ms=1.0,
        speedup=0.5,
        tokens_per_round=2.5,
        by_position=(0.75, 0.5, 0.25),
        rounds=4,
        batches=4,
        repeated_8grams=0.5,
        fell_back_at=(None,),
        difference=difference,
    )


def shown(*ways: Way) -> list[str]:
    report = Report(
        exact=all(way.difference is None for way in ways),
        warning=None,
        base="b",
        sampler="greedy",
        max_tokens=9,
        repeat=3,
        texts=(Text("it.py", 3, (1,) * 9),),
        plain=Plain(tokens=9, tokens_per_second=20.0, ttft_ms=1.0, repeated_8grams=0.5),
        ways=ways,
    )
    return report_text(report).splitlines()


def test_a_way_has_all_its_figures_on_one_line() -> None:
    lines = shown(way(None))
    assert lines[0] == "b, greedy: 9 tokens decoded after it.py (3 tokens), medians of 3"
    assert " ".join(lines[3].split()) == "mtp 3 one-pass run 10.0 0.50 1.00 2.50 4 75 50 25 0.50 never yes"


def test_a_difference_is_shown_with_its_position_and_gap() -> None:
    assert shown(way(None), way(Difference(7, 11, 12, 0.001)))[-2:] == [
        "not exact:",
        "  mtp k=3 one-pass run: token 7 is 12, plain decode has 11, where plain's top-1/top-2 gap is 0.001",
    ]


def test_info_says_which_version_and_what_can_run_a_model() -> None:
    facts = specstep("info", "--json").json
    assert facts["specstep"] == VERSION
    assert "CPUExecutionProvider" in facts["providers"]
    assert VERSION in specstep("info").out


def test_info_names_every_path_and_says_which_are_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for kind in ("STATE", "CONFIG", "DATA", "CACHE"):
        monkeypatch.setenv(f"XDG_{kind}_HOME", str(tmp_path))
    monkeypatch.setenv("HOME", str(tmp_path))
    paths.marks_dir().mkdir(parents=True)

    told = specstep("info").out.splitlines()
    facts = specstep("info", "--json").json["paths"]

    places = [place for name, place in vars(paths).items() if name.endswith(("_dir", "_file"))]
    assert {str(place()) for place in places} <= {fact["path"] for fact in facts.values()}
    assert {name for name, fact in facts.items() if fact["exists"]} == {"marks", "temporary"}
    assert f"marks        {paths.marks_dir()}" in told
    assert f"recent       {paths.recent_file()} (not there)" in told


def test_without_a_command_it_says_what_there_is() -> None:
    shown = specstep()
    assert shown.code == 2
    for name in COMMANDS:
        assert f"\n  {name} " in shown.out + shown.err


def test_an_unknown_command_or_flag_is_a_usage_error() -> None:
    assert specstep("frobnicate").code == 2
    assert specstep("stats", "--frobnicate").code == 2
    assert json.loads(specstep("info", "--json").out)
