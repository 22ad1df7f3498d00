"""Rows of a batch against rows of single steps: what is said of a base whose rows depend on the width."""

from collections.abc import Sequence

import numpy as np
import pytest

from engine.base.base import Rows
from engine.base.toy import ToyBase
from engine.errors import EngineFault, Refused
from engine.live import LiveRun
from engine.options import Options
from engine.probe.bits import CONTINUED, probe_bits
from engine.widths import Comparison, Pair, batch_warning, compare, plain_width_warning, run_both_ways
from tests.engine.toys import PROMPT, spoiled

VOCAB = 9


def spread(history: Sequence[int]) -> np.ndarray[tuple[int], np.dtype[np.float32]]:
    return np.random.default_rng([7, *history[-3:]]).normal(0, 1, VOCAB).astype(np.float32)


class Drifting(ToyBase):
    """Rows of a pass of more than one token are off by ``by`` in one logit."""

    def __init__(self, by: float, context_length: int | None = None) -> None:
        super().__init__(VOCAB, spread, context_length=context_length)
        self._by = np.float32(by)

    def verify(self, tokens: Sequence[int]) -> Rows:
        rows = super().verify(tokens)
        rows.logits[:, 4] += self._by
        return rows


class Jittering(Drifting):
    """Its rows are never the same again."""

    def verify(self, tokens: Sequence[int]) -> Rows:
        self._by += np.float32(1e-3)
        return super().verify(tokens)


def rows(*values: Sequence[float]) -> np.ndarray[tuple[int, int], np.dtype[np.float32]]:
    return np.array(values, np.float32)


def test_rows_are_compared_bit_by_bit() -> None:
    batch = rows([1, 2, 4], [0, 3, 1], [5, 1, 4.5])
    steps = rows([1, 2, 4], [0, 3, 1.5], [4, 1, 4.5])
    assert compare(Pair(batch, steps)) == Comparison(rows=3, identical=1, difference=1.0, flips=1, gap=0.5)


def test_masked_tokens_are_no_difference() -> None:
    masked = rows([1, -np.inf, 4], [-np.inf, 3, -np.inf])
    assert compare(Pair(masked, masked.copy())) == Comparison(rows=2, identical=2, difference=0.0, flips=0, gap=3.0)


def test_both_ways_leave_the_base_as_it_was() -> None:
    base = Drifting(0.5)
    base.prefill(PROMPT)
    batch, steps = run_both_ways(base, [4, 5])
    assert list(base.tokens) == list(PROMPT)
    np.testing.assert_array_equal(steps, [spread([*PROMPT, 4]), spread([*PROMPT, 4, 5])])
    np.testing.assert_array_equal(batch - steps, np.eye(1, VOCAB, 4).repeat(2, axis=0) * 0.5)


def test_a_row_that_is_not_finite_is_a_fault() -> None:
    base = ToyBase(VOCAB, spoiled(spread, 4))
    base.prefill(PROMPT)
    with pytest.raises(EngineFault, match="a row behind position 3 is not finite"):
        run_both_ways(base, [4, 5])


@pytest.mark.parametrize("context_length", [None, 6])
def test_a_padded_step_that_is_no_twin_of_a_verify_row_is_told(context_length: int | None) -> None:
    base = Drifting(1e-4, context_length)
    base.prefill(PROMPT)
    warning = plain_width_warning(base, PROMPT, 4)
    width = 4 if context_length is None else 3
    assert warning is not None
    assert f"row of a batch of {width} on this machine: {width} of {width} rows differ, by up to 0.0001" in warning
    assert base.consumed == len(PROMPT)


def test_nothing_is_told_of_a_base_that_holds_it_or_has_no_room_to_tell() -> None:
    for base in (ToyBase(VOCAB, spread), Drifting(1.0, context_length=4)):
        base.prefill(PROMPT)
        assert plain_width_warning(base, PROMPT, 4) is None


@pytest.mark.parametrize(("plain_width", "codes"), [(1, []), (2, ["plain-width"])])
def test_a_run_that_pads_its_plain_steps_checks_them_at_its_start(plain_width: int, codes: list[str]) -> None:
    live = LiveRun(Drifting(1e-4), None, PROMPT, Options(max_tokens=6, plain_width=plain_width))
    assert [(event.code, event.level) for event in live.events] == [(code, "warning") for code in codes]
    kept = [live.step(), live.step()]
    live.rewind([round_ for round_ in kept if round_ is not None][:1])
    assert [event.code for event in live.events] == codes


@pytest.mark.parametrize(("by", "flips"), [(0.0, 0), (1e-4, 0), (50.0, 1)])
def test_a_batch_that_chooses_otherwise_than_single_steps_is_told(by: float, flips: int) -> None:
    base = Drifting(by)
    base.prefill(PROMPT)
    warning = batch_warning(base, PROMPT, 4)
    assert (warning is None) == (flips == 0)
    if warning is not None:
        assert f"choose different tokens on {flips} of 4 rows here, where logits differ by up to 50" in warning
    assert base.consumed == len(PROMPT)


@pytest.mark.parametrize(
    ("placement", "codes"),
    [({}, []), ({"CPUExecutionProvider": 9}, []), ({"QNNExecutionProvider": 9}, ["batch-differs"])],
    ids=["unknown", "cpu", "qnn"],
)
def test_another_provider_than_the_cpu_is_checked_at_the_start_of_a_run(
    placement: dict[str, int], codes: list[str]
) -> None:
    live = LiveRun(Drifting(50.0), None, PROMPT, Options(max_tokens=6), device=lambda: {"placement": placement})
    assert [event.code for event in live.events] == codes


def test_bits_that_are_the_same_are_told_so() -> None:
    bits = probe_bits(ToyBase(VOCAB, spread), PROMPT, Options(k=7, seed=4))
    assert (bits.exact, bits.identical, bits.repeatable) == (True, True, True)
    assert [seed.seed for seed in bits.seeds] == [4, 5, 6]
    assert (bits.compared.rows, bits.compared.difference) == (3 * 3 * 8, 0.0)


def test_bits_that_differ_and_flip_nothing_are_exact_with_their_difference_and_gap() -> None:
    bits = probe_bits(Drifting(1e-4), PROMPT, Options(k=7))
    assert (bits.exact, bits.identical, bits.compared.identical, bits.compared.flips) == (True, False, 0, 0)
    assert bits.compared.difference == pytest.approx(1e-4, rel=0.01)
    assert bits.compared.gap > 1e-4


def test_a_choice_that_flips_is_not_exact() -> None:
    bits = probe_bits(Drifting(9.0), PROMPT, Options(k=7))
    assert not bits.exact
    assert bits.compared.flips > 30


def test_a_pass_that_does_not_repeat_itself_is_told() -> None:
    bits = probe_bits(Jittering(0.0), PROMPT, Options(k=3))
    assert not bits.repeatable
    assert bits.compared.rows == 3 * 3 * 4


def test_rows_that_do_not_fit_the_context_are_refused() -> None:
    base = ToyBase(VOCAB, spread, context_length=20)
    with pytest.raises(Refused, match=f"{3 + CONTINUED + 8} positions are compared, the base's context is 20"):
        probe_bits(base, PROMPT, Options(k=7))
