"""Drafts change how tokens are made, never which."""

from hypothesis import given, settings
from hypothesis import strategies as st

from engine.base.toy import ToyBase
from engine.loop import Run, prefill, run
from engine.options import Options
from tests.engine.toys import Wanderer, plain_decode, tied_logits

VOCAB = 9
seeds = st.integers(0, 10_000)
skills = st.sampled_from((0.0, 0.3, 0.7, 0.95, 1.0))
prompts = st.lists(st.integers(0, VOCAB - 1), min_size=1, max_size=6)
options = st.builds(
    Options,
    form=st.sampled_from(("one-pass", "two-pass")),
    k=st.integers(1, 9),
    max_tokens=st.integers(1, 30),
    tau=st.sampled_from((0.0, 0.5, 0.6)),
    fallback_below=st.sampled_from((0.0, 1.5, 2.0, 3.0)),
    fallback_window=st.integers(1, 4),
    stop_tokens=st.lists(st.integers(0, VOCAB - 1), max_size=2).map(tuple),
)


@settings(max_examples=200)
@given(prompts, options, skills, seeds, st.booleans())
def test_every_run_emits_the_tokens_of_plain_decode(
    prompt: list[int], options: Options, skill: float, seed: int, batched: bool
) -> None:
    logits_of = tied_logits(VOCAB, seed)
    base, drafter = ToyBase(VOCAB, logits_of), Wanderer(logits_of, VOCAB, skill, seed)

    result = run(base, drafter, prompt, options, batched=batched)

    expected = plain_decode(logits_of, prompt, options.max_tokens, options.stop_tokens)
    assert list(result.tokens) == expected
    assert result.reason == ("stop" if expected[-1] in options.stop_tokens else "max_tokens")
    assert [token for round_ in result.rounds for token in round_.emitted or ()] == expected


@settings(max_examples=100)
@given(prompts, options, skills, seeds)
def test_between_any_two_rounds_base_drafter_and_text_agree(
    prompt: list[int], options: Options, skill: float, seed: int
) -> None:
    logits_of = tied_logits(VOCAB, seed)
    base, drafter = ToyBase(VOCAB, logits_of), Wanderer(logits_of, VOCAB, skill, seed)
    run_ = Run(base, drafter, len(prompt), prefill(base, prompt), options)

    before = run_.t1
    while (round_ := run_.step()) is not None:
        text = [*prompt, *run_.emitted]
        assert list(base.tokens) == drafter.tokens == text
        assert (round_.t1, round_.consumed) == (before, len(text))
        assert round_.next == run_.t1 == int(logits_of(text).argmax())
        assert 0 <= round_.take <= round_.drafted <= (round_.limit or 0) <= options.k
        assert len(round_.verdicts) == round_.drafted
        assert len(round_.targets or ()) == len(round_.gap or ()) == len(round_.target_p or ()) == round_.drafted + 1
        before = run_.t1


@settings(max_examples=60)
@given(prompts, options, skills, seeds)
def test_prefill_in_a_batch_and_token_by_token_make_the_same_run(
    prompt: list[int], options: Options, skill: float, seed: int
) -> None:
    logits_of = tied_logits(VOCAB, seed)

    def made(batched: bool) -> list[tuple[object, ...]]:
        base, drafter = ToyBase(VOCAB, logits_of), Wanderer(logits_of, VOCAB, skill, seed)
        result = run(base, drafter, prompt, options, batched=batched)
        return [(r.form, r.reason, r.drafts, r.targets, r.emitted, r.fallback) for r in result.rounds]

    assert made(batched=True) == made(batched=False)


@settings(max_examples=60)
@given(prompts, options, skills, seeds)
def test_both_forms_make_the_same_rounds_in_as_many_batches(
    prompt: list[int], options: Options, skill: float, seed: int
) -> None:
    logits_of = tied_logits(VOCAB, seed)
    results = []
    for form in ("one-pass", "two-pass"):
        base, drafter = ToyBase(VOCAB, logits_of), Wanderer(logits_of, VOCAB, skill, seed)
        chosen = Options.from_map({**options.as_map(), "form": form})
        results.append(run(base, drafter, prompt, chosen))

    one, two = results
    assert [r.emitted for r in one.rounds] == [r.emitted for r in two.rounds]
    assert one.batches == two.batches == sum(r.drafted > 0 for r in one.rounds)
    assert two.steps == len(two.rounds)
    assert one.steps == sum(r.drafted == 0 for r in one.rounds)
    assert one.fell_back_at == two.fell_back_at
