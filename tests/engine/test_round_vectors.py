"""The 55 worked runs: every round must come out as listed, in both forms."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from engine.base.toy import ToyBase, linear_choice
from engine.drafters.scripted import ScriptedDrafter
from engine.loop import run
from engine.options import Options

CASES = json.loads((Path(__file__).parents[1] / "vectors" / "rounds.json").read_text())["cases"]
KEYS = ("form", "reason", "pos", "t1", "limit", "drafts", "targets", "take", "emitted", "cut", "next", "consumed")


@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
def test_a_worked_run_comes_out_round_by_round(case: dict[str, Any]) -> None:
    vocab = case["vocab_size"]
    logits_of = linear_choice(vocab)
    script = case["drafter"]
    drafter = script and ScriptedDrafter(
        lambda history: int(np.argmax(logits_of(history))),
        vocab,
        None if script["takes"] == "all" else script["takes"],
        script.get("p", (0.9,)),
    )
    base = ToyBase(vocab, logits_of)
    options = Options.from_map(case["options"])

    result = run(base, drafter, case["prompt"], options)

    expect = case["expect"]
    assert [{key: _plain(getattr(round_, key)) for key in KEYS} for round_ in result.rounds] == [
        {key: round_[key] for key in KEYS} for round_ in expect["rounds"]
    ]
    assert list(result.tokens) == expect["tokens"]
    assert result.reason == expect["reason"]
    assert result.fell_back_at == expect["fell_back_at"]
    assert (result.batches, result.steps) == (expect["batches"], expect["steps"])
    assert list(base.tokens) == case["prompt"] + expect["tokens"]


def test_there_are_all_55_runs() -> None:
    assert len(CASES) == 55


def _plain(value: object) -> object:
    return list(value) if isinstance(value, tuple) else value
