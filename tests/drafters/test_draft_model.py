"""A separate draft model: fed once, cut back with the base, and never a reason for another text."""

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.base.base import Rows
from engine.base.toy import LogitsOf, ToyBase
from engine.drafters.draft_model import DraftModelDrafter
from engine.errors import EngineFault, Refused
from engine.loop import Run, prefill, rounds, run
from engine.models.bundled import load_base
from engine.options import Options
from engine.sampling import Greedy
from tests.models.tiny import networks, write

VOCAB = 7
PROMPT = (1, 2, 3)
greedy = Greedy().propose


def text_logits(seed: int) -> LogitsOf:
    """Rows that depend on the whole text, so that a wrong cache shows."""
    return lambda history: np.random.default_rng([seed, *history]).normal(0, 1, VOCAB).astype(np.float32)


def near(seed: int, noise: float) -> LogitsOf:
    """The rows of ``text_logits`` with some noise: right now and then."""
    clean, other = text_logits(seed), text_logits(seed + 1000)
    return lambda history: clean(history) + noise * other(history)


class Watched(ToyBase):
    """A toy that remembers how wide its passes were."""

    def __init__(self, logits_of: LogitsOf, context_length: int | None = None) -> None:
        super().__init__(VOCAB, logits_of, name="watched", context_length=context_length)
        self.widths: list[int] = []

    def _feed(self, tokens: Sequence[int]) -> Rows:
        self.widths.append(len(tokens))
        return super()._feed(tokens)


def nothing(count: int) -> Rows:
    return Rows(np.empty((count, VOCAB), np.float32))


@pytest.mark.parametrize("form", ["one-pass", "two-pass"])
@pytest.mark.parametrize("k", [1, 3, 5])
@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 999), noise=st.sampled_from([0.0, 0.4, 5.0]), tau=st.sampled_from([0.0, 0.4]))
def test_greedy_text_is_that_of_plain_decode(form: str, k: int, seed: int, noise: float, tau: float) -> None:
    options = Options(max_tokens=30, k=k, form=form, tau=tau)
    drafter = DraftModelDrafter(ToyBase(VOCAB, near(seed, noise)))

    result = run(ToyBase(VOCAB, text_logits(seed)), drafter, PROMPT, options)

    assert result.tokens == run(ToyBase(VOCAB, text_logits(seed)), None, PROMPT, options).tokens
    if noise == 0:
        assert all(round_.take == len(round_.drafts or ()) for round_ in result.rounds)


def test_the_model_is_fed_one_row_a_round_and_two_after_a_round_that_was_all_accepted() -> None:
    model = Watched(text_logits(1))
    run(ToyBase(VOCAB, text_logits(1)), DraftModelDrafter(model), PROMPT, Options(max_tokens=12, k=3))
    # The prompt, then t1 and two drafts; from then on the last draft of the round before comes first.
    assert model.widths == [3, 1, 1, 1, 2, 1, 1, 2, 1, 1]

    model = Watched(lambda history: -text_logits(1)(history))
    result = run(ToyBase(VOCAB, text_logits(1)), DraftModelDrafter(model), PROMPT, Options(max_tokens=6, k=2))
    assert [round_.take for round_ in result.rounds] == [0] * 6
    assert model.widths == [3, *[1, 1] * 4, 1]


def test_after_a_round_the_model_holds_the_text_but_for_what_it_was_not_fed() -> None:
    base, model = ToyBase(VOCAB, text_logits(4)), ToyBase(VOCAB, near(4, 0.5))
    run_ = Run(base, DraftModelDrafter(model), len(PROMPT), prefill(base, PROMPT), Options(max_tokens=60, k=4))
    seen = set()
    for round_ in rounds(run_):
        count = len(round_.drafts or ())
        seen.add((round_.take, count))
        if count:
            lacks = round_.take == count
            assert model.consumed == base.consumed - lacks
        assert list(model.tokens) == list(base.tokens)[: model.consumed]
    assert {take for take, _ in seen} >= {0, 1, 4}


MOVES = st.lists(
    st.one_of(
        st.tuples(st.just("commit"), st.integers(1, 5)),
        st.tuples(st.just("draft"), st.integers(1, 4)),
        st.tuples(st.just("rollback"), st.floats(0, 1)),
    ),
    max_size=14,
)


@given(moves=MOVES, seed=st.integers(0, 99))
@settings(max_examples=80, deadline=None)
def test_after_any_commits_drafts_and_rollbacks_the_next_draft_is_that_of_a_fresh_drafter(
    moves: list[tuple[str, float]], seed: int
) -> None:
    drafter = DraftModelDrafter(ToyBase(VOCAB, text_logits(2)))
    rng = np.random.default_rng(seed)
    text: list[int] = []
    draft: tuple[int, ...] = ()
    for name, size in moves:
        if name == "commit":
            # Some of what was drafted, then something else, as a round leaves it.
            tokens = [*draft[: int(size)], *(int(token) for token in rng.integers(0, VOCAB, int(size)))]
            drafter.commit(tokens, nothing(len(tokens)))
            text += tokens
            draft = ()
        elif name == "draft":
            t1 = int(rng.integers(0, VOCAB))
            draft = (t1, *drafter.draft(t1, int(size), greedy, 0.0).tokens)
        else:
            del text[int(size * len(text)) :]
            drafter.rollback(len(text))
            draft = ()
        assert drafter.consumed == len(text)

    fresh = DraftModelDrafter(ToyBase(VOCAB, text_logits(2)))
    if text:
        fresh.commit(text, nothing(len(text)))
    assert drafter.draft(5, 4, greedy, 0.0).tokens == fresh.draft(5, 4, greedy, 0.0).tokens


def test_a_draft_stops_behind_the_first_pick_under_tau() -> None:
    sure, unsure = np.array([9.0, 0, 0], np.float32), np.array([0.1, 0, 0], np.float32)
    model = ToyBase(3, lambda history: unsure if len(history) >= 5 else sure)
    drafter = DraftModelDrafter(model)
    drafter.commit([0, 1], Rows(np.empty((2, 3), np.float32)))

    draft = drafter.draft(2, 9, greedy, 0.5)

    assert len(draft.tokens) == 3
    assert model.consumed == 5


def test_a_model_with_a_shorter_context_drafts_to_its_end_and_the_run_goes_on_without() -> None:
    model = ToyBase(VOCAB, text_logits(1), context_length=10)
    options = Options(max_tokens=20, k=4, fallback_below=1.5, fallback_window=2)

    result = run(ToyBase(VOCAB, text_logits(1)), DraftModelDrafter(model), PROMPT, options)

    assert result.tokens == run(ToyBase(VOCAB, text_logits(1)), None, PROMPT, options).tokens
    assert [(round_.pos, len(round_.drafts or ())) for round_ in result.rounds[:3]] == [(3, 4), (8, 2), (11, 0)]
    assert [round_.reason for round_ in result.rounds[2:5]] == ["zero-draft", "zero-draft", "fallback"]


def test_a_prompt_longer_than_the_model_s_context_is_no_fault() -> None:
    model = ToyBase(VOCAB, text_logits(1), context_length=2)
    result = run(ToyBase(VOCAB, text_logits(1)), DraftModelDrafter(model), PROMPT, Options(max_tokens=5))
    assert {round_.reason for round_ in result.rounds} == {"zero-draft", "budget"}


def test_a_model_that_holds_something_else_is_cut_to_what_it_shares_with_the_text() -> None:
    model = ToyBase(VOCAB, text_logits(1))
    model.prefill([1, 6, 6, 6])
    drafter = DraftModelDrafter(model)
    drafter.commit(PROMPT, nothing(3))
    assert drafter.draft(4, 1, greedy, 0.0).tokens == (int(text_logits(1)([*PROMPT, 4]).argmax()),)
    assert list(model.tokens) == [*PROMPT, 4]


def test_a_model_of_another_vocabulary_is_refused() -> None:
    drafter = DraftModelDrafter(ToyBase(VOCAB + 1, lambda history: np.zeros(VOCAB + 1, np.float32)))
    with pytest.raises(Refused, match="the drafter's vocabulary is 8, the base's 7"):
        run(ToyBase(VOCAB, text_logits(1)), drafter, PROMPT, Options())


def test_a_model_that_breaks_ends_the_run_with_what_stood() -> None:
    def breaks(history: Sequence[int]) -> np.ndarray[tuple[int], np.dtype[np.float32]]:
        if len(history) == 9:
            raise EngineFault("the draft model's session is dead")
        return text_logits(1)(history)

    base, model = ToyBase(VOCAB, text_logits(1)), ToyBase(VOCAB, breaks)
    run_ = Run(base, DraftModelDrafter(model), len(PROMPT), prefill(base, PROMPT), Options(max_tokens=30))
    made = list(rounds(run_))

    assert run_.reason == "fault"
    assert "session is dead" in run_.events[-1].message
    assert run_.emitted == [token for round_ in made for token in round_.emitted or ()] != []
    assert base.consumed == len(PROMPT) + len(run_.emitted) == (run_.drafter.consumed if run_.drafter else None)


def test_a_small_network_drafts_for_another(tmp_path_factory: pytest.TempPathFactory) -> None:
    bundle = write(tmp_path_factory.mktemp("base"), networks(seed=3))
    other = write(tmp_path_factory.mktemp("other"), networks(seed=4))
    prompt = [5, 80, 31, 5, 80]
    plain = run(load_base(bundle), None, prompt, Options(max_tokens=20))
    for model, is_base in ((load_base(bundle), True), (load_base(other), False)):
        drafter = DraftModelDrafter(model)
        result = run(load_base(bundle), drafter, prompt, Options(max_tokens=20, k=3))
        assert result.tokens == plain.tokens
        assert all(round_.take == len(round_.drafts or ()) for round_ in result.rounds) == is_base
        assert drafter.info.kind == "draft-model"
        assert drafter.info.name == model.info.name
