"""What cannot make a run is refused with a clear sentence, before anything runs."""

from typing import Any

import numpy as np
import pytest

from engine.base.base import Floats
from engine.base.toy import ToyBase, linear_choice
from engine.drafters.drafter import Draft
from engine.drafters.lookup import LookupDrafter
from engine.errors import Refused
from engine.loop import prefill, run, run_from
from engine.options import Options
from tests.engine.toys import PROMPT, SaysDrafter, Wanderer

VOCAB = 11
LOGITS_OF = linear_choice(VOCAB)
ROW = LOGITS_OF(PROMPT)


def base_after_prompt() -> ToyBase:
    base = ToyBase(VOCAB, LOGITS_OF)
    prefill(base, PROMPT)
    return base


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"k": 0}, "k is 0"),
        ({"k": -3}, "k is -3"),
        ({"max_tokens": 0}, "max_tokens is 0"),
        ({"fallback_window": 0}, "fallback_window is 0"),
        ({"fallback_below": -0.5}, "fallback_below is -0.5"),
        ({"fallback_below": float("nan")}, "fallback_below is nan"),
        ({"fallback_below": float("inf")}, "fallback_below is inf"),
        ({"tau": 1.5}, "tau is 1.5"),
        ({"tau": float("nan")}, "tau is nan"),
        ({"form": "three-pass"}, "form is 'three-pass'"),
        ({"temperature": -1.0, "sampler": "gumbel"}, "temperature is -1.0"),
        ({"top_k": -1}, "top_k is -1"),
        ({"top_p": 0.0}, "top_p is 0.0"),
        ({"seed": -1}, "seed is -1"),
        ({"seed": 2**70}, "seed is"),
        ({"plain_width": 3}, "plain_width is 3"),
        ({"sampler": "beam"}, "sampler is 'beam'"),
        ({"sampler": "greedy", "temperature": 0.7}, "greedy is temperature 0"),
        ({"sampler": "rejection"}, "rejection and gumbel need one above 0"),
    ],
    ids=lambda value: str(value) if isinstance(value, dict) else "",
)
def test_options_out_of_range_are_refused(wrong: dict[str, Any], says: str) -> None:
    with pytest.raises(Refused, match=says):
        Options(**wrong)


def test_options_of_a_header_are_read_and_what_is_not_known_is_ignored() -> None:
    read = Options.from_map({"k": 5, "stop_tokens": [2, 3], "seed": None, "from_the_future": [1]})
    assert read == Options(k=5, stop_tokens=(2, 3))
    assert Options.from_map(read.as_map()) == read


def test_a_header_with_a_temperature_and_no_sampler_means_rejection() -> None:
    assert Options.from_map({"temperature": 0.5}).sampler == "rejection"


def test_an_option_of_the_wrong_type_is_refused() -> None:
    with pytest.raises(Refused, match=r"options: .*int"):
        Options.from_map({"k": "three"})


def test_an_empty_prompt_is_refused() -> None:
    with pytest.raises(Refused, match="the prompt is empty"):
        run(ToyBase(VOCAB, LOGITS_OF), None, [], Options())


@pytest.mark.parametrize("token", [-1, VOCAB])
def test_a_prompt_outside_the_vocabulary_is_refused(token: int) -> None:
    with pytest.raises(Refused, match=f"prompt token 1 is {token}, outside the base's vocabulary of {VOCAB}"):
        run(ToyBase(VOCAB, LOGITS_OF), None, [3, token], Options())


def test_a_base_with_no_vocabulary_is_refused() -> None:
    with pytest.raises(Refused, match="no vocabulary"):
        run(ToyBase(0, LOGITS_OF), None, PROMPT, Options())
    base = ToyBase(0, LOGITS_OF)
    base.prefill(PROMPT)
    with pytest.raises(Refused, match="no vocabulary"):
        run_from(base, None, len(PROMPT), ROW, Options())


def test_position_zero_is_refused() -> None:
    with pytest.raises(Refused, match="pos is 0"):
        run_from(ToyBase(VOCAB, LOGITS_OF), None, 0, ROW, Options())


@pytest.mark.parametrize("pos", [2, 4])
def test_a_position_that_is_not_the_bases_is_refused(pos: int) -> None:
    with pytest.raises(Refused, match=f"pos is {pos}, but the base holds 3"):
        run_from(base_after_prompt(), None, pos, ROW, Options())


@pytest.mark.parametrize("row", [ROW[:-1], np.append(ROW, 0), ROW[None]], ids=["short", "long", "two axes"])
def test_logits_of_the_wrong_shape_are_refused(row: Floats) -> None:
    with pytest.raises(Refused, match="logits have shape"):
        run_from(base_after_prompt(), None, 3, row.astype(np.float32), Options())


@pytest.mark.parametrize("value", [np.nan, -np.inf, np.inf])
def test_logits_with_no_finite_entry_are_refused(value: float) -> None:
    with pytest.raises(Refused, match="no finite choice"):
        run_from(base_after_prompt(), None, 3, np.full(VOCAB, value, np.float32), Options())


def test_a_row_of_zeros_is_legal_and_chooses_the_lowest_id() -> None:
    result = run_from(base_after_prompt(), None, 3, np.zeros(VOCAB, np.float32), Options(max_tokens=1))
    assert result.tokens == (0,)


def test_a_drafter_with_another_vocabulary_is_refused_before_the_prefill() -> None:
    base = ToyBase(VOCAB, LOGITS_OF)
    with pytest.raises(Refused, match=f"the drafter's vocabulary is 12, the base's {VOCAB}"):
        run(base, Wanderer(LOGITS_OF, 12, 1.0, 0), PROMPT, Options())
    assert base.consumed == 0
    with pytest.raises(Refused, match="the drafter's vocabulary"):
        run_from(base_after_prompt(), Wanderer(LOGITS_OF, 12, 1.0, 0), 3, ROW, Options())


def test_a_drafter_that_repeats_what_it_was_given_fits_every_vocabulary() -> None:
    assert run(ToyBase(VOCAB, LOGITS_OF), LookupDrafter(), PROMPT, Options(max_tokens=5)).reason == "max_tokens"


def test_a_drafter_that_holds_another_text_is_refused() -> None:
    drafter = Wanderer(LOGITS_OF, VOCAB, 1.0, 0)
    drafter.tokens = [1, 2, 3, 4]
    with pytest.raises(Refused, match="the drafter already holds 4 positions"):
        run(ToyBase(VOCAB, LOGITS_OF), drafter, PROMPT, Options())
    with pytest.raises(Refused, match="the drafter holds 4 positions, the base 3"):
        run_from(base_after_prompt(), drafter, 3, ROW, Options())


@pytest.mark.parametrize("feature", ["hidden", "taps"])
def test_a_drafter_that_reads_what_the_base_does_not_give_is_refused(feature: str) -> None:
    drafter = SaysDrafter(lambda t1, limit: Draft())
    drafter.needs = frozenset({feature})
    with pytest.raises(Refused, match=f"reads the base's {feature}"):
        run(ToyBase(VOCAB, LOGITS_OF), drafter, PROMPT, Options())


def test_a_drafter_that_drafts_from_the_anchors_row_needs_the_two_pass_form() -> None:
    drafter = Wanderer(LOGITS_OF, VOCAB, 1.0, 0, needs_anchor_row=True)
    with pytest.raises(Refused, match="needs the two-pass form"):
        run(ToyBase(VOCAB, LOGITS_OF), drafter, PROMPT, Options(form="one-pass"))


def test_a_base_that_already_holds_something_is_refused() -> None:
    with pytest.raises(Refused, match="already holds 3 positions"):
        run(base_after_prompt(), None, PROMPT, Options())


def test_more_than_the_base_can_hold_is_refused_and_told_what_fits() -> None:
    base = ToyBase(VOCAB, LOGITS_OF, context_length=10)
    with pytest.raises(Refused, match="ask for at most 7"):
        run(base, None, PROMPT, Options(max_tokens=8))
    assert base.consumed == 0
    assert len(run(base, None, PROMPT, Options(max_tokens=7)).tokens) == 7


@pytest.mark.parametrize("context_length", [1, 2, 3])
def test_a_prompt_that_fills_the_base_or_is_longer_is_refused(context_length: int) -> None:
    base = ToyBase(VOCAB, LOGITS_OF, context_length=context_length)
    with pytest.raises(Refused, match=f"do not fit the base's context of {context_length}: shorten the prompt"):
        run(base, None, PROMPT, Options(max_tokens=1))
    assert base.consumed == 0


def test_never_fell_back_is_none_and_not_zero() -> None:
    assert run(ToyBase(VOCAB, LOGITS_OF), None, PROMPT, Options(max_tokens=4)).fell_back_at is None
