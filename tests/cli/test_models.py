"""The commands over a bundle of real graphs, tiny and with random weights."""

import dataclasses
from pathlib import Path

import numpy as np
import pytest

from engine.tokenizer import byte_of_character
from engine.trace.reader import open_trace
from tests.cli.commands import specstep
from tests.models.tiny import networks, write

RUN = ("--prompt", "def mean(", "--max-tokens", "24")


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(tmp_path_factory.mktemp("tiny"), networks(seed=3)).folder


@pytest.mark.parametrize("drafter", ["mtp", "dflash", "dflash2", "lookup:n=2"])
def test_a_run_records_what_really_ran(tiny: Path, tmp_path: Path, drafter: str) -> None:
    path = tmp_path / "run.msgpack"
    made = specstep("record", "--model", tiny, "--drafter", drafter, *RUN, "-o", path)
    assert (made.code, made.err) == (0, "")
    with open_trace(path) as trace:
        header = trace.header
        assert header.prompt == (256, *(b"def mean(".translate(byte_ids())))
        assert header.base.name == "tiny"
        assert header.base.sha256
        assert header.device["provider"] == "CPUExecutionProvider"
        assert header.device["placement"]["CPUExecutionProvider"] > 0
        assert header.options["stop_tokens"] == [256]
        assert header.drafter is not None
        assert header.drafter.kind == drafter.partition(":")[0]
        assert (header.drafter.sha256 is None) == (header.drafter.kind == "lookup")
        assert trace.prefill is not None
        assert trace.prefill.plain_ms
        assert trace.piece(header.prompt[1]) == b"d"


def byte_ids() -> bytes:
    """The tiny tokenizer's id of each byte."""
    order = {byte: i for i, byte in enumerate(byte for _, byte in sorted(byte_of_character().items()))}
    return bytes(order[byte] for byte in range(256))


def test_the_plain_text_is_the_same_whatever_drafts(tiny: Path, tmp_path: Path) -> None:
    texts = set()
    for drafter in ("mtp", "dflash", "lookup", "none"):
        path = tmp_path / f"{drafter}.msgpack"
        made = specstep("record", "--model", tiny, "--drafter", drafter, "--plain-width", "2", *RUN, "-o", path)
        assert made.code == 0
        with open_trace(path) as trace:
            texts.add(tuple(token for i in range(len(trace)) for token in trace.round(i).emitted or ()))
    assert len(texts) == 1


def test_the_probe_finds_it_exact_at_the_same_width(tiny: Path) -> None:
    probed = specstep("probe", "--model", tiny, "--plain-width", "2", "--repeat", "1", *RUN, "--json")
    assert (probed.code, probed.err) == (0, "")
    assert {way["drafter"] for way in probed.json["ways"]} == {"mtp", "dflash", "dflash2", "lookup"}
    assert probed.json["exact"] is True


def test_a_padded_plain_step_gives_the_bits_of_a_verify_row(tiny: Path) -> None:
    probed = specstep("probe", "--model", tiny, "--bits", "--plain-width", "2", *RUN, "--json")
    assert (probed.code, probed.err) == (0, "")
    assert (probed.json["compared"]["rows"], probed.json["compared"]["identical"]) == (72, 72)
    assert probed.json["repeatable"] is True


@pytest.mark.parametrize("drafter", ["synthetic:rates=1", "draft-model"])
def test_a_drafter_that_is_always_right_lands_every_draft(tiny: Path, tmp_path: Path, drafter: str) -> None:
    name = f"draft-model:{tiny}" if drafter == "draft-model" else drafter
    path = tmp_path / "run.msgpack"
    made = specstep("record", "--model", tiny, "--drafter", name, "--plain-width", "2", *RUN, "-o", path)
    assert (made.code, made.err) == (0, "")
    with open_trace(path) as trace:
        assert trace.header.drafter is not None
        assert trace.header.drafter.kind == drafter.partition(":")[0]
        made_rounds = [trace.round(i) for i in range(len(trace))]
    drafted = [round_ for round_ in made_rounds if round_.drafts]
    assert len(drafted) >= 5
    assert all(round_.take == len(round_.drafts or ()) for round_ in drafted)


def test_a_draft_model_that_reads_other_tokens_is_refused(tiny: Path, tmp_path: Path) -> None:
    made = specstep("record", "--model", tiny, "--drafter", "draft-model:toy", *RUN, "-o", tmp_path / "run.msgpack")
    assert made.code == 2
    assert "toy has another tokenizer than the base: token 0 is b'\\x00' there and" in made.err


def test_more_tokens_than_the_context_holds_are_refused(tiny: Path, tmp_path: Path) -> None:
    made = specstep("record", "--model", tiny, "--max-tokens", "96", "--prompt", "x", "-o", tmp_path / "run.msgpack")
    assert (made.code, made.out) == (2, "")
    assert "do not fit the base's context of 96: ask for at most 94" in made.err


def test_a_prompt_longer_than_the_context_is_refused(tiny: Path, tmp_path: Path) -> None:
    made = specstep("record", "--model", tiny, "--prompt", "x" * 200, "-o", tmp_path / "run.msgpack")
    assert (made.code, made.out) == (2, "")
    assert "201 positions of prompt and max_tokens 128 do not fit the base's context of 96" in made.err
    assert "shorten the prompt" in made.err


def test_a_k_beyond_the_drafters_block_is_told_and_the_run_goes_on(tiny: Path, tmp_path: Path) -> None:
    path = tmp_path / "run.msgpack"
    made = specstep("record", "--model", tiny, "--drafter", "dflash", "--k", "9", *RUN, "-o", path)
    assert (made.code, made.err) == (0, "specstep: k is 9, but a block of 6 drafts at most 5\n")
    with open_trace(path) as trace:
        assert [event.code for event in trace.events()] == ["short-block"]


def test_a_drafter_that_this_bundle_does_not_have_is_named(tiny: Path, tmp_path: Path) -> None:
    made = specstep("record", "--model", tiny, "--drafter", "eagle", *RUN, "-o", tmp_path / "run.msgpack")
    assert made.code == 2
    assert "no drafter 'eagle' in this bundle, it has dflash, dflash2, mtp" in made.err


def test_a_run_that_breaks_is_status_one_and_recorded_up_to_the_fault(tmp_path: Path) -> None:
    sound = networks(seed=3)
    assert sound.mtp is not None
    broken = dataclasses.replace(sound, mtp={**sound.mtp, "fc.weight": sound.mtp["fc.weight"] * np.float32(np.nan)})
    folder = write(tmp_path / "broken", broken).folder
    path = tmp_path / "run.msgpack"
    made = specstep("record", "--model", folder, "--drafter", "mtp", *RUN, "-o", path)
    assert made.code == 1
    assert made.err.startswith("specstep: round 0: the drafter gave draft 1 probability nan")
    assert "ended: fault" in made.out
    with open_trace(path) as trace:
        assert trace.end is not None
        assert (trace.end.reason, len(trace)) == ("fault", 0)
        assert [event.code for event in trace.events()] == ["fault"]
