"""A check against a model from the screen: a process of its own, whose differences are findings."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

import recordings
from engine.errors import SpecstepError
from engine.trace.reader import open_trace
from tests.tui.runs import finished, live
from tests.tui.screens import running
from tui.checking import RULE, checked, command, options_of, run
from tui.layout import FINDINGS

FOLDER = Path(recordings.__file__).parent
STALE, RIGHT = FOLDER / "faults" / "hidden-stale.msgpack", FOLDER / "two-pass.msgpack"


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ("bundled", ["--model", "bundled"]),
        ("qwen dflash", ["--model", "qwen", "--drafter", "dflash"]),
        ("'a folder' none --tie 0.05", ["--model", "a folder", "--drafter", "none", "--tie", "0.05"]),
        ("qwen --threads 2", ["--model", "qwen", "--threads", "2"]),
    ],
)
def test_what_is_typed_is_a_model_a_drafter_and_options(answer: str, words: list[str]) -> None:
    assert options_of(answer) == words
    line = command(Path("run.msgpack"), words)
    assert line[line.index("check") :] == ["check", "run.msgpack", "--json", *words]


@pytest.mark.parametrize("answer", ["", "   ", "--tie 0.1", "'open"])
def test_what_names_no_model_is_refused(answer: str) -> None:
    with pytest.raises(SpecstepError, match=r"name a model|No closing quotation"):
        options_of(answer)


def test_a_process_that_is_given_up_is_ended() -> None:
    assert run([sys.executable, "-c", "import time; time.sleep(1000)"], lambda: True) is None


@pytest.mark.parametrize(
    ("code", "says"),
    [
        ("import sys; sys.exit('specstep: no such model')", "^no such model$"),
        ("import sys; print('half'); sys.exit(2)", "check ended with 2"),
        ("", "check ended with 0"),
    ],
)
def test_a_process_without_an_answer_is_told_in_its_own_words(code: str, says: str) -> None:
    with pytest.raises(SpecstepError, match=says):
        run([sys.executable, "-c", code], lambda: False)


@pytest.mark.parametrize("answer", ["", "{", "[]", "{}", '{"held": 3}', '{"held": {"choices": {}}}'])
def test_an_answer_that_is_none_is_told(answer: str) -> None:
    with pytest.raises(SpecstepError, match="check gave an answer that cannot be read"):
        checked(answer, lambda _: None)


def test_tokens_are_told_with_their_text_and_nothing_in_it_is_raw() -> None:
    answer = subprocess.run(command(STALE, ["--model", "bundled"]), capture_output=True, check=False, text=True).stdout
    report = json.loads(answer)
    found = checked(
        answer, lambda token: b"\x1b[2J" if token == report["held"]["drafts"]["first"][0]["traced"] else None
    )
    whole, first = found.findings[:2]
    assert (whole.round, whole.message) == (None, found.told)
    assert found.told == (
        "hidden-stale: The next draft goes on from the hidden row of the batch's last token, not of the last kept one; "
        "a known fault explains all: with it 307 of 307 tokens of the first 34 rounds are the trace's, without it 271; "
        "checked against specstep-6m with specstep-6m-mtp: choices 342 of 342 are the model's, drafts 173 of 271 are "
        "the model's, 98 differ"
    )
    assert (first.rule, first.round, first.field) == (RULE, 1, "draft")
    assert first.message == "draft 2, position 24: 636 '\\x1b[2J' in the trace, 8 here by 0.407"
    assert len(found.findings) == 1 + 98


async def test_the_differences_of_a_trace_are_findings_that_one_can_go_to() -> None:
    async with running(lambda: open_trace(STALE), (120, 40)) as screen:
        await screen.until(lambda: screen.session.found.done)
        before = len(screen.session.found.all)
        await screen.press("M")
        assert "A model, and a drafter" in screen.text
        await screen.press("enter")
        await screen.until(lambda: len(screen.session.found.all) > before)
        assert len(screen.session.found.all) == before + 99
        assert "hidden-stale" in screen.text
        assert "98 differences from the model, among the findings" in screen.lines[-2]
        assert screen.main.active == FINDINGS
        await screen.press("down", "enter")
        assert screen.session.moment.index == 1
        assert screen.session.series.next_event(0) == 1

        await screen.press("M", "enter")
        await screen.until(lambda: "hidden-stale" in screen.text)
        assert len(screen.session.found.all) == before + 99


async def test_a_trace_that_holds_says_so_and_adds_nothing() -> None:
    async with running(lambda: open_trace(RIGHT), (120, 40)) as screen:
        await screen.until(lambda: screen.session.found.done)
        await screen.press("M", "enter")
        await screen.until(lambda: "drafts 190 of 190 are the model's" in " ".join(screen.text.split()))
        assert screen.session.found.all == []


async def test_a_live_run_is_checked_as_far_as_it_was_made(monkeypatch: pytest.MonkeyPatch) -> None:
    source, seen = finished(live()), []

    def instead(line: list[str], _given_up: object) -> str:
        with open_trace(Path(line[line.index("check") + 1])) as trace:
            seen.append([trace.round(i).emitted for i in range(len(trace))])
        tally = {"compared": 4, "differing": 0, "ties": 0, "first": []}
        return json.dumps(
            {"model": "toy", "drafter": None, "rounds": 9, "tie": 0, "held": {"choices": tally, "drafts": tally}}
        )

    monkeypatch.setattr("tui.features.checking.run", instead)
    async with running(source, (120, 40)) as screen:
        await screen.press("M", *"toy", "enter")
        assert "checked against toy: choices 4 of 4 are the model's, drafts 4 of 4" in screen.text
    assert seen == [[source.round(i).emitted for i in range(len(source))]]


async def test_a_model_that_is_not_there_is_told_and_the_screen_goes_on() -> None:
    async with running(lambda: open_trace(RIGHT), (120, 40)) as screen:
        await screen.press("M", *"nowhere", "enter")
        await screen.until(lambda: "no such folder" in screen.text)
        await screen.press("n")
        assert screen.session.moment.index == 1


async def test_asked_for_again_it_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    waiting = [sys.executable, "-c", "import time; time.sleep(1000)"]
    monkeypatch.setattr("tui.features.checking.command", lambda *_: waiting)
    async with running(lambda: open_trace(RIGHT), (120, 40)) as screen:
        await screen.pilot.press("M")
        await screen.pilot.pause()
        await screen.pilot.press("enter")
        await screen.pilot.pause()
        assert "this may take a while" in screen.text
        await screen.press("M")
        assert "the check is given up" in screen.text
