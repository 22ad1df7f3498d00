"""A run that breaks in the middle ends with what was committed, and says where it broke."""

import numpy as np
import pytest

from engine.base.toy import ToyBase, linear_choice
from engine.drafters.drafter import Draft
from engine.drafters.scripted import ScriptedDrafter
from engine.errors import EngineFault
from engine.loop import Run, prefill, rounds, run
from engine.options import Options
from engine.records import Round
from tests.engine.toys import PROMPT, DyingBase, SaysDrafter, plain_decode, spoiled

VOCAB = 97
LOGITS_OF = linear_choice(VOCAB)
FORMS = pytest.mark.parametrize("form", ["one-pass", "two-pass"])


def perfect(needs_anchor_row: bool = False) -> ScriptedDrafter:
    return ScriptedDrafter(lambda h: int(LOGITS_OF(h).argmax()), VOCAB, None, needs_anchor_row=needs_anchor_row)


def broken(
    base: ToyBase, drafter: ScriptedDrafter | SaysDrafter | None, form: str = "one-pass"
) -> tuple[Run, list[Round]]:
    """A run to its end, which must be a fault that leaves base, drafter and text in step."""
    run_ = Run(base, drafter, len(PROMPT), prefill(base, PROMPT), Options(form=form, k=3, max_tokens=20))
    made = list(rounds(run_))
    assert run_.reason == "fault"
    assert run_.emitted == [token for round_ in made for token in round_.emitted or ()]
    assert run_.emitted == plain_decode(LOGITS_OF, PROMPT, 20)[: len(run_.emitted)]
    assert list(base.tokens) == [*PROMPT, *run_.emitted]
    if drafter is not None:
        assert drafter.consumed == base.consumed
    assert run_.events[-1].level == "fault"
    assert run_.events[-1].round == len(made)
    return run_, made


@FORMS
@pytest.mark.parametrize("value", [np.nan, np.inf])
@pytest.mark.parametrize(("position", "row"), [(8, 0), (9, 1), (11, 3)])
def test_a_row_that_is_not_finite_and_would_decide_is_a_fault(form: str, value: float, position: int, row: int) -> None:
    # Rounds begin at positions 3 and 7; the row after n tokens is row n - 8 of the second.
    run_, made = broken(ToyBase(VOCAB, spoiled(LOGITS_OF, position, value)), perfect(), form)
    assert len(made) == 1
    message = run_.events[-1].message
    assert message.startswith(f"round 1: row {row} of the pass is not finite")
    assert f"position {position})" in message


def test_a_row_that_is_not_finite_in_plain_decode_is_a_fault() -> None:
    run_, made = broken(ToyBase(VOCAB, spoiled(LOGITS_OF, 6)), None)
    assert len(made) == 2
    assert "row 0" in run_.events[-1].message


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_a_row_that_is_not_finite_behind_the_rejection_is_recorded_and_no_fault(value: float) -> None:
    first = int(LOGITS_OF(PROMPT).argmax())
    wrong = (int(LOGITS_OF([*PROMPT, first]).argmax()) + 1) % VOCAB
    base = ToyBase(VOCAB, lambda h: np.full(VOCAB, value, np.float32) if wrong in h else LOGITS_OF(h))
    drafter = SaysDrafter(lambda t1, limit: Draft((wrong,) * limit if t1 == first else ()))

    result = run(base, drafter, PROMPT, Options(k=3, max_tokens=6))

    assert list(result.tokens) == plain_decode(LOGITS_OF, PROMPT, 6)
    assert (result.reason, result.rounds[0].take, result.rounds[0].nonfinite) == ("max_tokens", 0, 3 * VOCAB)


def test_a_row_whose_masked_tokens_are_minus_infinity_is_finite() -> None:
    base = ToyBase(VOCAB, lambda h: np.where(LOGITS_OF(h) > 0, LOGITS_OF(h), -np.inf).astype(np.float32))
    result = run(base, perfect(), PROMPT, Options(k=3, max_tokens=8))
    assert list(result.tokens) == plain_decode(LOGITS_OF, PROMPT, 8)
    assert result.rounds[0].nonfinite is None


@FORMS
@pytest.mark.parametrize("calls", [0, 1, 2, 3])
def test_a_base_that_dies_leaves_every_round_before_it(form: str, calls: int) -> None:
    run_, made = broken(DyingBase(VOCAB, LOGITS_OF, calls), perfect(), form)
    assert len(made) == (calls if form == "one-pass" else calls // 2)
    assert run_.events[-1].message == f"round {len(made)}: its session is dead"


def test_a_base_that_dies_after_the_anchors_row_leaves_nothing_half_done() -> None:
    _, made = broken(DyingBase(VOCAB, LOGITS_OF, 3), perfect(needs_anchor_row=True), "two-pass")
    assert len(made) == 1


def fault(t1: int, limit: int) -> Draft:
    raise EngineFault("the drafter's session is dead")


@pytest.mark.parametrize(
    ("says", "message"),
    [
        (fault, "the drafter's session is dead"),
        (lambda t1, limit: Draft((1,) * (limit + 1)), "the drafter proposed 4 tokens where 3 were allowed"),
        (lambda t1, limit: Draft((1, VOCAB)), f"the drafter proposed token {VOCAB}, outside the base's {VOCAB}"),
        (lambda t1, limit: Draft((-1,)), f"the drafter proposed token -1, outside the base's {VOCAB}"),
        (lambda t1, limit: Draft((1,), (float("nan"),), (1.0,)), "the drafter gave draft 1 probability nan"),
    ],
    ids=["dies", "overproposes", "beyond the vocabulary", "negative", "not a probability"],
)
@FORMS
def test_a_drafter_that_breaks_or_cheats_is_a_fault_of_that_round(form: str, says: object, message: str) -> None:
    assert callable(says)
    run_, made = broken(ToyBase(VOCAB, LOGITS_OF), SaysDrafter(says), form)
    assert made == []
    assert run_.events[-1].message.startswith(f"round 0: {message}")


def test_a_drafter_that_dies_while_it_commits_takes_the_round_with_it() -> None:
    class DiesAtCommit(ScriptedDrafter):
        def commit(self, tokens: object, rows: object) -> None:
            if self.consumed >= len(PROMPT):
                raise EngineFault("no room in the drafter's cache")
            super().commit(tokens, rows)  # type: ignore[arg-type]

    drafter = DiesAtCommit(lambda h: int(LOGITS_OF(h).argmax()), VOCAB, None)
    run_, made = broken(ToyBase(VOCAB, LOGITS_OF), drafter)
    assert made == []
    assert run_.events[-1].message == "round 0: no room in the drafter's cache"


def test_a_base_that_gives_the_wrong_number_of_rows_is_a_fault() -> None:
    class Short(ToyBase):
        def verify(self, tokens: object) -> object:  # type: ignore[override]
            return super().verify(tokens).kept(1)  # type: ignore[arg-type]

    run_, _ = broken(Short(VOCAB, LOGITS_OF), perfect())
    assert "logits of shape (1, 97) for a pass over 4 tokens" in run_.events[-1].message


def test_a_run_says_nothing_of_itself_when_nothing_went_wrong() -> None:
    assert run(ToyBase(VOCAB, LOGITS_OF), perfect(), PROMPT, Options(max_tokens=20)).events == ()
