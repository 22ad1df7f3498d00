"""Prompt lookup proposes what followed the longest suffix of the text the time before, as far as that has paid."""

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.base.base import Rows
from engine.base.toy import ToyBase
from engine.drafters.drafter import Pick
from engine.drafters.lookup import LookupDrafter
from engine.errors import Refused
from engine.loop import Run, prefill, rounds, run
from engine.options import Options
from tests.engine.toys import plain_decode, tied_logits

NO_ROWS = Rows(np.empty((0, 10), np.float32))
VOCAB = 9
texts = st.lists(st.integers(0, 3), min_size=1, max_size=60)
adapts = st.sampled_from((None, 0.0, 0.1, 0.4, 1.0))
matches = st.sampled_from(("latest", "earliest"))


def never(row: np.ndarray, position: int) -> Pick:
    raise AssertionError("a lookup has no rows to pick from")


def drafts_after(text: Sequence[int], limit: int, **options: object) -> tuple[int, ...]:
    drafter = LookupDrafter(**options)  # type: ignore[arg-type]
    drafter.commit(text[:-1], NO_ROWS)
    draft = drafter.draft(text[-1], limit, never, 0.0)
    assert (draft.p, draft.q) == (None, None)
    return draft.tokens


@pytest.mark.parametrize(
    ("text", "options", "limit", "drafts"),
    [
        ([1, 2, 3, 4, 2, 3], {}, 4, (4, 2, 3)),
        ([1, 2, 3, 4, 2, 3], {}, 2, (4, 2)),
        ([1, 2, 9, 1, 2, 8, 1, 2], {}, 2, (8, 1)),
        ([1, 2, 9, 1, 2, 8, 1, 2], {"match": "earliest"}, 2, (9, 1)),
        ([5, 1, 2, 9, 6, 1, 2, 8, 5, 1, 2], {}, 1, (9,)),
        ([5, 1, 2, 9, 6, 1, 2, 8, 5, 1, 2], {"longest": 2}, 1, (8,)),
        ([1, 2, 3, 4], {}, 3, ()),
        ([1, 2, 1], {}, 3, ()),
        ([1, 2, 1], {"shortest": 1}, 3, (2, 1)),
        ([7, 7, 7], {}, 3, (7,)),
        ([7], {"shortest": 1}, 3, ()),
        ([256, 0, 1, 65536, 1, 256], {"shortest": 1, "longest": 1}, 2, (0, 1)),
    ],
)
def test_without_adapting_it_drafts_what_followed_as_far_as_it_may(
    text: list[int], options: dict[str, object], limit: int, drafts: tuple[int, ...]
) -> None:
    assert drafts_after(text, limit, adapt=None, **options) == drafts


def unlike(times: int) -> list[int]:
    """A 1 that was followed by something else each time; all but the first were foretold, and wrongly."""
    return [token for i in range(times + 1) for token in (1, 20 + i)]


@pytest.mark.parametrize(
    ("text", "limit", "options", "drafts"),
    [
        # A match of one token is right with a chance of 0.23; with 0.49 the next one is too, and with 0.62 the third.
        ([1, 2, 3, 4, 5, 6, 7, 1], 8, {"adapt": 0.12}, (2,)),
        ([1, 2, 3, 4, 5, 6, 7, 1], 8, {"adapt": 0.09}, (2, 3)),
        ([1, 2, 3, 4, 5, 6, 7, 1], 8, {"adapt": 0.05}, (2, 3, 4)),
        ([1, 2, 3, 4, 5, 6, 7, 1], 1, {"adapt": 0.05}, (2,)),
        ([1, 2, 3, 4, 5, 6, 7, 1], 8, {"adapt": 0.24}, ()),
        # 0.23 pays for its row, but not for half a row more.
        ([1, 2, 3, 4, 5, 6, 7, 1], 8, {"adapt": 0.16}, ()),
        # It stands for 4 matches; two more that were wrong leave 0.92 of 6, which is 0.15 or more, 0.92 of 7 is not.
        ([*unlike(2), 1], 8, {}, (22,)),
        ([*unlike(3), 1], 8, {}, ()),
        # Where it was right every time it goes as far as it may, and behind the text's end begins again.
        ([1, 2, 3] * 9, 8, {}, (1, 2, 3, 1, 2, 3, 1, 2)),
        ([7] * 12, 5, {}, (7, 7, 7, 7, 7)),
        ([1, 2, 3, 4], 3, {}, ()),
        ([7], 3, {}, ()),
    ],
)
def test_it_drafts_as_far_as_matches_of_that_length_have_been_right(
    text: list[int], limit: int, options: dict[str, object], drafts: tuple[int, ...]
) -> None:
    assert drafts_after(text, limit, **options) == drafts


def test_a_longer_match_is_followed_further() -> None:
    head, rest = [1, 2, 3, 4], [10, 11, 12, 13, 14, 15, 16, 17]
    reach = [len(drafts_after([*head, *rest, 5, *head[-length:]], 8)) for length in (1, 2, 3)]
    assert reach == sorted(set(reach)), reach


@given(texts, st.integers(1, 9), adapts, matches, st.integers(1, 5), st.integers(0, 5))
def test_a_draft_is_what_followed_an_earlier_copy_of_the_texts_end(
    text: list[int], limit: int, adapt: float | None, match: str, shortest: int, more: int
) -> None:
    drafts = drafts_after(text, limit, adapt=adapt, match=match, shortest=shortest, longest=shortest + more)

    longest = next(
        (
            (length, places)
            for length in range(min(shortest + more, len(text) - 1), shortest - 1, -1)
            if (places := [i for i in range(length, len(text)) if text[i - length : i] == text[-length:]])
        ),
        None,
    )
    if longest is None:
        assert not drafts
        return
    place = longest[1][-1 if match == "latest" else 0]
    whole = list(text)
    while len(whole) < place + limit and adapt is not None:
        whole.append(whole[len(whole) - len(text) + place])
    followed = tuple(whole[place : place + limit])
    assert followed[: len(drafts)] == drafts
    assert adapt not in (None, 0.0) or drafts == followed


@given(texts, texts, adapts, matches, st.data())
def test_what_was_rolled_back_leaves_nothing_behind(
    text: list[int], others: list[int], adapt: float | None, match: str, data: st.DataObject
) -> None:
    keep = data.draw(st.integers(0, len(text)))
    again, fresh = (LookupDrafter(adapt=adapt, match=match) for _ in range(2))
    again.commit(text, NO_ROWS)
    again.draft(others[0], 3, never, 0.0)
    again.rollback(keep)
    fresh.commit(text[:keep], NO_ROWS)
    for token in others:
        for drafter in (again, fresh):
            assert drafter.consumed == keep
        assert again.draft(token, 4, never, 0.0) == fresh.draft(token, 4, never, 0.0)
        for drafter in (again, fresh):
            drafter.commit([token], NO_ROWS)
        keep += 1


@given(texts, adapts, st.data())
def test_what_it_drafts_depends_on_the_text_alone(text: list[int], adapt: float | None, data: st.DataObject) -> None:
    """Not on how the text was cut into rounds, nor on what was drafted before and not kept."""
    whole, rounds_ = LookupDrafter(adapt=adapt), LookupDrafter(adapt=adapt)
    whole.commit(text, NO_ROWS)
    done = 0
    while done < len(text):
        asked = data.draw(st.sampled_from((None, text[done], text[done] + 1)))
        if asked is not None:
            rounds_.draft(asked, 4, never, 0.0)
        assert rounds_.consumed == done
        size = data.draw(st.integers(1, len(text) - done))
        rounds_.commit(text[done : done + size], NO_ROWS)
        done += size
    assert whole.draft(1, 8, never, 0.0) == rounds_.draft(1, 8, never, 0.0)


@settings(max_examples=150)
@given(
    st.lists(st.integers(0, VOCAB - 1), min_size=1, max_size=12),
    adapts,
    matches,
    st.sampled_from(("one-pass", "two-pass")),
    st.integers(1, 9),
    st.integers(1, 40),
    st.integers(0, 10_000),
)
def test_the_text_is_that_of_plain_decode(
    prompt: list[int], adapt: float | None, match: str, form: str, k: int, max_tokens: int, seed: int
) -> None:
    logits_of = tied_logits(VOCAB, seed)
    options = Options(k=k, max_tokens=max_tokens, form=form)
    drafter = LookupDrafter(adapt=adapt, match=match)
    made = run(ToyBase(VOCAB, logits_of), drafter, prompt, options)
    assert list(made.tokens) == plain_decode(logits_of, prompt, max_tokens)


@given(st.integers(0, 300), adapts, st.floats(0, 1))
def test_a_run_that_is_rewound_drafts_the_same_again(seed: int, adapt: float | None, where: float) -> None:
    logits_of, options = tied_logits(4, seed), Options(k=5, max_tokens=40)
    base = ToyBase(4, logits_of)
    run_ = Run(base, LookupDrafter(adapt=adapt), 3, prefill(base, (1, 2, 3)), options)
    made = list(rounds(run_))
    kept = made[: int(where * len(made))]
    run_.rewind(kept)
    # A drafter that joins here has never seen these rounds, only their text.
    joined = ToyBase(4, logits_of)
    other = Run(joined, LookupDrafter(adapt=adapt), 3, prefill(joined, (1, 2, 3)), options)
    for _ in kept:
        other.step()
    other.drafter = LookupDrafter(adapt=adapt)
    other.drafter.commit(list(joined.tokens), NO_ROWS)
    for again in (run_, other):
        assert [(r.drafts, r.take, r.emitted) for r in [*kept, *rounds(again)]] == [
            (r.drafts, r.take, r.emitted) for r in made
        ]


@pytest.mark.parametrize(
    ("options", "name"),
    [
        ({}, "lookup-1-8-latest-adapt-0.1"),
        ({"adapt": None}, "lookup-2-3-latest"),
        ({"adapt": None, "longest": 1}, "lookup-1-1-latest"),
        ({"longest": 4, "shortest": 2, "match": "earliest", "adapt": 0.25}, "lookup-2-4-earliest-adapt-0.25"),
    ],
)
def test_its_name_says_what_it_was_told(options: dict[str, object], name: str) -> None:
    assert LookupDrafter(**options).info.name == name  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "options", [{"shortest": 0}, {"shortest": 9}, {"longest": 65}, {"match": "best"}, {"adapt": 1.1}, {"adapt": -0.1}]
)
def test_a_lookup_that_cannot_work_is_refused(options: dict[str, object]) -> None:
    with pytest.raises(Refused, match="lookup"):
        LookupDrafter(**options)  # type: ignore[arg-type]
