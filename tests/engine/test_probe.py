"""The probe tells an exact set-up from one that is not, by a loop that shares nothing with the engine's."""

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.base.base import Rows
from engine.base.toy import ToyBase
from engine.errors import EngineFault, Refused
from engine.options import Options
from engine.probe import Difference, by_hand, first_difference, probe
from tests.engine.toys import PROMPT, DyingBase, Wanderer, plain_decode, tied_logits

VOCAB = 9


class Drifting(ToyBase):
    """A base whose batches choose otherwise than its single steps at one position."""

    def verify(self, tokens: Sequence[int]) -> Rows:
        start = self.consumed
        rows = super().verify(tokens)
        logits = rows.logits.copy()
        for j in range(len(tokens)):
            if start + j == 9:
                logits[j] = np.roll(logits[j], 1)
        return rows._replace(logits=logits)


@settings(max_examples=60)
@given(
    st.integers(0, 500),
    st.sampled_from((0.3, 0.8, 1.0)),
    st.sampled_from(("one-pass", "two-pass")),
    st.integers(1, 6),
    st.integers(1, 20),
    st.lists(st.integers(0, VOCAB - 1), max_size=2),
    st.booleans(),
)
def test_the_loop_written_by_hand_gives_plain_decode(
    seed: int, skill: float, form: str, k: int, max_tokens: int, stops: list[int], anchored: bool
) -> None:
    logits_of = tied_logits(VOCAB, seed)
    base = ToyBase(VOCAB, logits_of)
    drafter = Wanderer(logits_of, VOCAB, skill, seed, needs_anchor_row=anchored)
    options = Options(form="two-pass" if anchored else form, k=k, max_tokens=max_tokens, stop_tokens=tuple(stops))
    made = by_hand(base, drafter, PROMPT, options, lambda: 0.0)
    assert list(made.tokens) == plain_decode(logits_of, PROMPT, max_tokens, stops)
    assert list(base.tokens) == drafter.tokens == [*PROMPT, *made.tokens]


def test_an_exact_set_up_is_told_so_in_every_way() -> None:
    logits_of = tied_logits(VOCAB, 3)
    drafters = [(name, Wanderer(logits_of, VOCAB, skill, 1)) for name, skill in (("good", 1.0), ("bad", 0.2))]
    report = probe(ToyBase(VOCAB, logits_of), drafters, PROMPT, Options(max_tokens=24), [2, 5])
    assert report.exact
    assert list(report.plain.tokens) == plain_decode(logits_of, PROMPT, 24)
    assert {(w.drafter, w.k, w.form, w.how) for w in report.ways} == {
        (name, k, form, how)
        for name in ("good", "bad")
        for k in (2, 5)
        for form in ("one-pass", "two-pass")
        for how in ("by-hand", "run", "run_from")
    }
    for k in (2, 5):
        for form in ("one-pass", "two-pass"):
            same = [w for w in report.ways if (w.drafter, w.k, w.form) == ("good", k, form)]
            assert len({(w.batches, w.tokens_per_round) for w in same}) == 1


def test_a_base_whose_batches_drift_is_not_exact_and_the_first_difference_is_named() -> None:
    logits_of = tied_logits(VOCAB, 3)
    report = probe(
        Drifting(VOCAB, logits_of), [("good", Wanderer(logits_of, VOCAB, 1.0, 1))], PROMPT, Options(max_tokens=24), [8]
    )
    assert not report.exact
    found = report.ways[0].difference
    assert found is not None
    expected = plain_decode(logits_of, PROMPT, 24)
    # The row of position 9 chooses the token at position 10, which is the 7th behind a prompt of 3.
    assert (found.position, found.expected) == (7, expected[7])
    assert found.got != found.expected
    row = sorted(logits_of([*PROMPT, *expected[:7]]), reverse=True)
    assert found.gap == row[0] - row[1]


def test_it_says_where_the_fallback_fired() -> None:
    logits_of = tied_logits(VOCAB, 3)
    bad = Wanderer(logits_of, VOCAB, 0.0, 1)
    options = Options(max_tokens=24, fallback_below=2.0, fallback_window=4)
    report = probe(ToyBase(VOCAB, logits_of), [("bad", bad)], PROMPT, options, [3])
    assert {(w.how, w.fell_back_at) for w in report.ways} == {("by-hand", None), ("run", 4), ("run_from", 4)}


def test_a_drafter_that_needs_the_anchors_row_is_probed_in_the_two_pass_form_only() -> None:
    logits_of = tied_logits(VOCAB, 3)
    drafter = Wanderer(logits_of, VOCAB, 0.7, 1, needs_anchor_row=True)
    report = probe(ToyBase(VOCAB, logits_of), [("anchored", drafter)], PROMPT, Options(max_tokens=12), [3])
    assert {w.form for w in report.ways} == {"two-pass"}
    assert report.exact


def test_what_cannot_run_is_refused_and_what_breaks_is_a_fault() -> None:
    logits_of = tied_logits(VOCAB, 3)
    drafter = Wanderer(logits_of, VOCAB, 0.7, 1)
    with pytest.raises(Refused, match="the prompt is empty"):
        probe(ToyBase(VOCAB, logits_of), [("d", drafter)], [], Options(), [3])
    with pytest.raises(EngineFault, match="session is dead"):
        probe(DyingBase(VOCAB, logits_of, 60), [("d", drafter)], PROMPT, Options(max_tokens=24), [3])


def test_texts_part_where_the_first_token_differs_or_one_ends() -> None:
    assert first_difference([1, 2], [1, 2]) is None
    assert first_difference([1, 2, 3], [1, 4], [0.5, 0.25, 1.0]) == Difference(1, 2, 4, 0.25)
    assert first_difference([1], [1, 9]) == Difference(1, None, 9, None)
