"""Bases whose state cannot all be cut: the text is that of plain decode, whatever is drafted, rejected and undone."""

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx import TensorProto

from engine.base.arrays import ArrayPasses
from engine.base.base import Rows
from engine.base.onnx import OnnxBase
from engine.drafters.draft_model import DraftModelDrafter
from engine.drafters.drafter import Drafter, Pick
from engine.drafters.lookup import LookupDrafter
from engine.drafters.scripted import ScriptedDrafter
from engine.drafters.synthetic import SyntheticDrafter
from engine.errors import EngineFault, ModelError
from engine.loop import Run, prefill, rounds, run
from engine.models.bundled import Bundle, load_drafter
from engine.options import Options
from engine.records import BaseInfo
from engine.session import Session
from tests.hybrid.conftest import Graphs
from tests.hybrid.tiny_hybrid import CONTEXT, VOCAB, Plan, write
from tests.models.test_model_drafters import TAKES, Steered

PLANS = {
    "snapshots": Plan(),
    "checkpoints by row": Plan(by_row=True),
    "attention": Plan(layers=("attention", "attention"), mask=False),
    "convolution and recurrence alone": Plan(layers=("linear", "linear"), mask=False),
}
PROMPT = [5, 80, 31, 5, 80, 200, 7]
FORMS = ("one-pass", "two-pass")
each_plan = pytest.mark.parametrize("plan", PLANS.values(), ids=PLANS)


def base_over(session: Session, passes: type[ArrayPasses] = ArrayPasses, plain_width: int = 1) -> OnnxBase:
    made = passes(session)
    return OnnxBase(session, BaseInfo(name="tiny", vocab_size=VOCAB, state=made.kind), CONTEXT, plain_width, made)


def plain_text(session: Session, options: Options) -> tuple[int, ...]:
    return run(base_over(session), None, PROMPT, options).tokens


def scripted(text: Sequence[int], takes: Sequence[int] | None) -> ScriptedDrafter:
    """Its right drafts are those of a text that is known."""
    return ScriptedDrafter(lambda history: text[len(history)] if len(history) < len(text) else 0, VOCAB, takes)


def random_tokens(count: int, seed: int = 0) -> list[int]:
    return [int(token) for token in np.random.default_rng(seed).integers(0, VOCAB, count)]


@pytest.mark.parametrize("widths", [[1] * 24, [3, 8, 1, 12], [1, 23]], ids=str)
@each_plan
def test_rows_are_the_same_at_every_width(graph: Graphs, plan: Plan, widths: list[int]) -> None:
    tokens = random_tokens(24)
    whole, base = base_over(graph(plan)), base_over(graph(plan))
    wanted = whole.verify(tokens)
    at = 0
    for width in widths:
        rows = base.verify(tokens[at : at + width])
        np.testing.assert_allclose(rows.logits, wanted.logits[at : at + width], atol=1e-4)
        at += width
    for name in ("hidden", "taps"):
        kept = getattr(base.features(0, 24), name)
        np.testing.assert_allclose(kept, getattr(wanted, name), atol=1e-4)


@pytest.mark.parametrize(
    "plan",
    [Plan(three_positions=True), Plan(logits_from=True), Plan(mask=False)],
    ids=["three positions a token", "logits of some rows", "no attention mask"],
)
def test_inputs_may_differ_while_the_rows_are_the_same(graph: Graphs, plan: Plan) -> None:
    tokens = random_tokens(15)
    other, usual = base_over(graph(plan)), base_over(graph(Plan()))
    for base in (other, usual):
        base.prefill(tokens[:6])
    np.testing.assert_array_equal(other.verify(tokens[6:]).logits, usual.verify(tokens[6:]).logits)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("takes", [None, [0], [1], [2, 0, 3, 1]], ids=str)
@each_plan
def test_whatever_share_of_the_drafts_lands_the_text_is_plain(
    graph: Graphs, plan: Plan, takes: list[int] | None, form: str
) -> None:
    options = Options(max_tokens=30, k=4, form=form)
    text = plain_text(graph(plan), options)
    base = base_over(graph(plan))

    result = run(base, scripted([*PROMPT, *text], takes), PROMPT, options)

    assert result.tokens == text
    assert {round_.take for round_ in result.rounds if len(round_.drafts or ()) == 4} == set(takes or [4])
    for round_ in result.rounds:
        assert round_.state is not None
        held = {key: value for key, value in round_.state.items() if key != "draft_len"}
        assert set(held.values()) == {round_.consumed}
    kinds = {"linear": "recurrent", "attention": "kv_len"}
    assert set(base.lengths()) == {kinds[layer] for layer in plan.layers}


DRAFTERS: dict[str, Callable[[Session, Sequence[int]], Drafter]] = {
    "lookup": lambda _, text: LookupDrafter(shortest=1),
    "synthetic": lambda _, text: SyntheticDrafter(text, (0.7,), VOCAB),
    "the same model": lambda session, _: DraftModelDrafter(base_over(session)),
}


@pytest.mark.parametrize("kind", DRAFTERS)
@each_plan
def test_the_text_is_plain_with_every_drafter(graph: Graphs, plan: Plan, kind: str) -> None:
    options = Options(max_tokens=40, k=3)
    text = plain_text(graph(plan), options)
    drafter = DRAFTERS[kind](graph(plan), [*PROMPT, *text])
    result = run(base_over(graph(plan)), drafter, PROMPT, options)
    assert result.tokens == text
    if kind == "the same model":
        assert all(round_.take == len(round_.drafts or ()) for round_ in result.rounds)


@pytest.mark.parametrize("takes", ["one", "random"])
@pytest.mark.parametrize("kind", ["mtp", "dflash", "dflash2"])
def test_the_text_is_plain_with_drafters_that_read_its_hidden_states(
    graph: Graphs, heads: Bundle, kind: str, takes: str
) -> None:
    session, options = graph(Plan()), Options(max_tokens=30, k=4)
    text = plain_text(session, options)
    base, drafter = base_over(session), load_drafter(heads, kind)

    result = run(base, Steered(drafter, [*PROMPT, *text], TAKES[takes]), PROMPT, options)

    assert result.tokens == text
    assert any(0 < round_.take < len(round_.drafts or ()) for round_ in result.rounds)
    # What the drafter was told is what a drafter is told that joins at the end.
    fresh = load_drafter(heads, kind)
    fresh.commit(base.tokens, base.features(0, base.consumed))
    one, other = (
        made.draft(9, 4, lambda _, position: Pick(position, 0.5, 0.5), 0.0).logits for made in (drafter, fresh)
    )
    np.testing.assert_allclose(np.array(one), np.array(other), atol=1e-3)


@pytest.mark.parametrize("kind", ["rejection", "gumbel"])
@pytest.mark.parametrize("plan", [Plan(), Plan(by_row=True)], ids=["snapshots", "checkpoints by row"])
def test_a_sampled_run_is_rewound_and_comes_out_the_same(graph: Graphs, plan: Plan, kind: str) -> None:
    options = Options(max_tokens=25, k=3, sampler=kind, temperature=0.8, seed=5)
    base = base_over(graph(plan))
    drafter = DraftModelDrafter(base_over(graph(Plan(seed=1, layers=plan.layers, by_row=plan.by_row))))
    run_ = Run(base, drafter, len(PROMPT), prefill(base, PROMPT), options)
    made = list(rounds(run_))
    text = list(run_.emitted)
    for keep in (len(made) - 1, len(made) // 2, 0):
        run_.rewind(made[:keep])
        assert [r.emitted for r in rounds(run_)] == [r.emitted for r in made[keep:]]
        assert run_.emitted == text
    if kind == "gumbel":
        assert tuple(text) == plain_text(graph(plan), options)


class Unrestored(ArrayPasses):
    """Cuts what can be cut and leaves the rest as the rejected rows have left it."""

    def restore(self, keep: int) -> int:
        return keep


class WrongSlot(ArrayPasses):
    """Takes the checkpoint one row further on; all is well after a round that was all accepted."""

    def restore(self, keep: int) -> int:
        super().restore(keep + 1)
        return keep


class Unreplayed(ArrayPasses):
    """Restores the snapshot before the round and does not run the kept tokens again."""

    def restore(self, keep: int) -> int:
        super().restore(keep)
        return keep


@pytest.mark.parametrize(
    ("wrong", "plan", "takes", "caught"),
    [
        (Unrestored, Plan(), [2, 0, 1], True),
        (Unrestored, Plan(by_row=True), [2, 0, 1], True),
        (Unrestored, Plan(), None, False),
        (Unreplayed, Plan(), [2, 0, 1], True),
        (WrongSlot, Plan(by_row=True), [2, 0, 1], True),
        (WrongSlot, Plan(by_row=True), None, False),
    ],
)
def test_a_state_that_is_not_restored_is_caught_by_the_text(
    graph: Graphs, wrong: type[ArrayPasses], plan: Plan, takes: list[int] | None, caught: bool
) -> None:
    options = Options(max_tokens=41, k=3)
    text = plain_text(graph(plan), options)
    result = run(base_over(graph(plan), wrong), scripted([*PROMPT, *text], takes), PROMPT, options)
    assert (result.tokens != text) == caught


@each_plan
def test_a_run_goes_back_to_any_earlier_round_and_on_again(graph: Graphs, plan: Plan) -> None:
    options = Options(max_tokens=40, k=3)
    text = plain_text(graph(plan), options)
    base = base_over(graph(plan))
    drafter = scripted([*PROMPT, *text], [2, 0, 3, 1])
    run_ = Run(base, drafter, len(PROMPT), prefill(base, PROMPT), options)
    made = list(rounds(run_))
    for keep in range(len(made) - 1, -1, -1):
        run_.rewind(made[:keep])
        list(rounds(run_))
        assert tuple(run_.emitted) == text
    run_.rewind(made[:2], Options(max_tokens=30, k=5, form="two-pass"))
    list(rounds(run_))
    assert tuple(run_.emitted) == text[:30]


def test_old_snapshots_are_thinned_out_and_every_round_can_still_be_gone_back_to(graph: Graphs) -> None:
    session, options = graph(Plan()), Options(max_tokens=330, k=3)
    passes = ArrayPasses(session)
    base = OnnxBase(session, BaseInfo(name="tiny", vocab_size=VOCAB), CONTEXT, 1, passes)
    run_ = Run(base, None, len(PROMPT), prefill(base, PROMPT), options)
    made = list(rounds(run_))
    text = list(run_.emitted)

    kept = passes.restorable
    assert kept[0] == 0
    assert len(kept) <= 1 + 16 + 330 // 64 + 1
    assert kept[-16:] == tuple(range(len(PROMPT) + 330 - 16, len(PROMPT) + 330))
    for keep in (300, 200, 130, 129, 1):
        run_.rewind([*made[:keep]])
        assert list(base.tokens) == [*PROMPT, *text[:keep]]
        assert set(base.lengths().values()) == {len(PROMPT) + keep}
        for _ in range(3):
            run_.step()
        assert run_.emitted == text[: keep + 3]


MOVES = st.lists(st.one_of(st.integers(1, 6), st.floats(0, 1)), max_size=12)


@each_plan
@settings(max_examples=25, deadline=None)
@given(moves=MOVES, seed=st.integers(0, 99))
def test_after_any_passes_and_rollbacks_the_next_row_is_that_of_a_fresh_base(
    graph: Graphs, plan: Plan, moves: list[int | float], seed: int
) -> None:
    base = base_over(graph(plan))
    for i, move in enumerate(moves):
        if isinstance(move, int):
            base.verify(random_tokens(move, seed + i))
        else:
            base.rollback(int(move * base.consumed))
    fresh = base_over(graph(plan))
    if base.consumed:
        fresh.prefill(list(base.tokens))
    np.testing.assert_allclose(base.step(3).logits, fresh.step(3).logits, atol=1e-4)


@pytest.mark.parametrize(
    "plan", [Plan(by_row=True), Plan(layers=("attention", "attention"))], ids=["rows", "attention"]
)
def test_a_padding_row_is_forgotten_where_the_state_can_forget_it(graph: Graphs, plan: Plan) -> None:
    one, two = base_over(graph(plan)), base_over(graph(plan), plain_width=2)
    for token in random_tokens(12):
        a, b = one.step(token), two.step(token)
        assert (a.width, b.width) == (1, 2)
        np.testing.assert_allclose(a.logits, b.logits, atol=1e-4)
    assert one.lengths() == two.lengths()
    rows = one.verify(random_tokens(4, 1)).logits
    np.testing.assert_allclose(two.verify(random_tokens(4, 1)).logits, rows, atol=1e-4)


def test_a_padding_row_that_would_stay_in_the_state_is_refused(graph: Graphs) -> None:
    with pytest.raises(ModelError, match="would stay in this model's recurrent state: use width 1"):
        base_over(graph(Plan()), plain_width=2)


def test_half_precision_state_is_carried_as_it_is(graph: Graphs) -> None:
    half, full = base_over(graph(Plan(dtype=TensorProto.FLOAT16))), base_over(graph(Plan()))
    tokens = random_tokens(20)
    for base in (half, full):
        base.prefill(tokens[:9])
        base.verify(tokens[9:15])
        base.rollback(11)
    row = half.verify(tokens[11:]).logits
    assert row.dtype == np.float32
    np.testing.assert_allclose(row, full.verify(tokens[11:]).logits, atol=0.1)


class Dying(ArrayPasses):
    """Its session dies in the first pass that runs kept tokens again."""

    def restore(self, keep: int) -> int:
        self.dead = True
        return super().restore(keep)

    def run(self, tokens: Sequence[int], start: int, logit_rows: int, padding: int) -> Rows:
        if getattr(self, "dead", False):
            raise EngineFault("its session is dead")
        return super().run(tokens, start, logit_rows, padding)


def test_a_base_that_breaks_while_it_runs_kept_tokens_again_ends_the_run_with_what_stood(graph: Graphs) -> None:
    options = Options(max_tokens=30, k=3)
    text = plain_text(graph(Plan()), options)
    base = base_over(graph(Plan()), Dying)
    drafter = scripted([*PROMPT, *text], [3, 3, 1])
    run_ = Run(base, drafter, len(PROMPT), prefill(base, PROMPT), options)

    made = list(rounds(run_))

    assert [len(round_.emitted or ()) for round_ in made] == [4, 4]
    assert run_.reason == "fault"
    assert tuple(run_.emitted) == text[:8]
    assert "its session is dead" in next(event.message for event in run_.events if event.level == "fault")


def test_a_closed_session_is_a_fault(tmp_path: Path) -> None:
    base = base_over(Session(write(tmp_path, Plan())))
    base.prefill(PROMPT)
    base.close()
    with pytest.raises(EngineFault, match="its session is dead"):
        base.step(1)
    with pytest.raises(EngineFault, match="cannot keep 9 of 7 positions"):
        base.rollback(9)
