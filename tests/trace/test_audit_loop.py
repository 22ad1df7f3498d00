"""The project's own engine is clean: an audit of what it records finds nothing, whatever was run."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.base.toy import LogitsOf, ToyBase
from engine.drafters.draft_model import DraftModelDrafter
from engine.drafters.drafter import Drafter
from engine.drafters.lookup import LookupDrafter
from engine.drafters.scripted import ScriptedDrafter
from engine.live import LiveRun
from engine.options import Options
from engine.records import AnyRecord, Round
from engine.trace.audit import audit
from tests.engine.toys import DyingBase, Wanderer, spoiled, tied_logits

VOCAB = 9
PROMPT = (1, 2, 3, 1, 2)
BASE, OTHER = tied_logits(VOCAB, 4), tied_logits(VOCAB, 5)


def choice(history: Any) -> int:
    return int(np.argmax(BASE(history)))


DRAFTERS: dict[str, Callable[[], Drafter | None]] = {
    "none": lambda: None,
    "wanderer": lambda: Wanderer(BASE, VOCAB, 0.7, 1),
    "needs the anchor's row": lambda: Wanderer(BASE, VOCAB, 0.7, 1, needs_anchor_row=True),
    "perfect": lambda: ScriptedDrafter(choice, VOCAB, None),
    "fading": lambda: ScriptedDrafter(choice, VOCAB, (9, 4, 2, 0, 0, 1, 0), (0.9, 0.7, 0.4)),
    "lookup": lambda: LookupDrafter(longest=2, shortest=1),
    "the base itself": lambda: DraftModelDrafter(ToyBase(VOCAB, BASE)),
    "another model": lambda: DraftModelDrafter(ToyBase(VOCAB, OTHER)),
}

OPTIONS = st.builds(
    lambda **options: Options(**options, temperature=0.0 if options["sampler"] == "greedy" else 0.8),
    form=st.sampled_from(["one-pass", "two-pass"]),
    sampler=st.sampled_from(["greedy", "rejection", "gumbel"]),
    k=st.integers(1, 9),
    max_tokens=st.one_of(st.integers(1, 9), st.integers(10, 30)),
    tau=st.sampled_from([0.0, 0.0, 0.3, 0.8]),
    fallback_below=st.sampled_from([0.0, 1.5, 2.0, 2.7, 4.0]),
    fallback_window=st.integers(1, 5),
    top_k=st.sampled_from([0, 3]),
    seed=st.integers(0, 1000),
    stop_tokens=st.one_of(st.just(()), st.lists(st.integers(0, VOCAB - 1), max_size=2).map(tuple)),
)


def records_of(live: LiveRun, stop_after: int | None = None) -> list[AnyRecord]:
    """The run's records, to its end or to the end that it has after some rounds."""
    made: list[AnyRecord] = []
    while (stop_after is None or len(made) < stop_after) and (round_ := live.step()) is not None:
        made.append(round_)
    return [live.header, live.prefill, *made, *live.events, live.end()]


def live_run(kind: str, options: Options, logits_of: LogitsOf = BASE) -> LiveRun:
    drafter = DRAFTERS[kind]()
    if drafter is not None and drafter.needs_anchor_row and options.form != "two-pass":
        options = Options.from_map({**options.as_map(), "form": "two-pass"})
    return LiveRun(ToyBase(VOCAB, logits_of), drafter, PROMPT, options, candidates=2)


@settings(max_examples=150, deadline=None)
@given(kind=st.sampled_from(sorted(DRAFTERS)), options=OPTIONS)
def test_a_run_of_our_loop_has_no_findings(kind: str, options: Options) -> None:
    assert audit(records_of(live_run(kind, options))) == []


@settings(max_examples=50, deadline=None)
@given(kind=st.sampled_from(sorted(DRAFTERS)), options=OPTIONS, rounds=st.integers(0, 6))
def test_a_run_that_was_given_up_has_no_findings(kind: str, options: Options, rounds: int) -> None:
    assert audit(records_of(live_run(kind, options), rounds)) == []


@settings(max_examples=100, deadline=None)
@given(kind=st.sampled_from(sorted(DRAFTERS)), options=OPTIONS, other=OPTIONS, share=st.floats(0, 1))
def test_a_fork_by_other_options_has_no_findings(kind: str, options: Options, other: Options, share: float) -> None:
    live = live_run(kind, options)
    kept = [record for record in records_of(live) if isinstance(record, Round)]
    kept = kept[: int(share * len(kept))]
    emitted = sum(round_.count for round_ in kept)
    form = "two-pass" if kind == "needs the anchor's row" else other.form
    limit = max(other.max_tokens, emitted + 1)
    other = Options.from_map({**other.as_map(), "form": form, "max_tokens": limit, "stop_tokens": []})
    live.rewind(kept, other)
    header, prefill, *rest = records_of(live)
    assert audit([header, prefill, *kept, *rest]) == []


@pytest.mark.parametrize("position", range(6, 20))
def test_a_run_that_broke_on_a_row_has_no_findings(position: int) -> None:
    """What it recorded before is clean, and a broken row behind a rejection decided nothing."""
    options = Options(k=4, max_tokens=20)
    assert audit(records_of(live_run("fading", options, spoiled(BASE, position)))) == []


def test_a_run_whose_base_died_has_no_findings() -> None:
    live = LiveRun(
        DyingBase(VOCAB, BASE, 4), DRAFTERS["wanderer"](), PROMPT, Options(k=3, max_tokens=30), plain_samples=0
    )
    assert audit(records_of(live)) == []
