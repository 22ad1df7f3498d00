"""Two runs side by side: where their texts part, and where their drafts do."""

from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.compare import Meeting, align, first_draft_difference
from engine.trace.reader import open_trace
from tests.compare.texts import Listed, written

FAULTS = Path(__file__).parents[2] / "recordings" / "faults"
texts = st.lists(st.integers(0, 3), min_size=1, max_size=40)
takes = st.lists(st.integers(0, 4), min_size=1, max_size=5)


def expected_stretches(left: list[int], right: list[int]) -> list[int]:
    apart = [a != b for a, b in zip(left, right, strict=False)]
    return [i for i, here in enumerate(apart) if here and not (i and apart[i - 1])]


@given(texts, texts, takes, takes)
def test_the_texts_part_where_they_part_however_they_were_cut_into_rounds(
    left: list[int], right: list[int], some: list[int], others: list[int]
) -> None:
    found = align(Listed(written(left, some)), Listed(written(right, others)))
    assert list(found.parted) == expected_stretches(left, right)
    assert found.differing == sum(a != b for a, b in zip(left, right, strict=False))
    assert (found.left.tokens, found.right.tokens) == (len(left), len(right))
    if left == right:
        assert found.first is None


@given(texts, takes)
def test_a_run_does_not_differ_from_itself(text: list[int], some: list[int]) -> None:
    run = Listed(written(text, some))
    found = align(run, run)
    assert (found.first, found.drafts, found.differing) == (None, [], 0)
    assert first_draft_difference(run, run) is None


@given(texts, takes)
def test_swapped_sides_give_swapped_answers(text: list[int], some: list[int]) -> None:
    left, right = Listed(written(text, some)), Listed(written(text, [1, 0], wrong=7))
    there, back = align(left, right), align(right, left)
    assert [Meeting(m.token, m.right, m.left) for m in there.drafts] == back.drafts


def test_a_text_that_ends_earlier_differs_at_its_end() -> None:
    assert align(Listed(written([5, 6, 7], [3])), Listed(written([5, 6, 7, 8], [0]))).first == 3


def test_drafts_are_compared_where_rounds_of_both_begin_at_the_same_token() -> None:
    text = list(range(12))
    # Left begins rounds at 0, 3, 6, 9; right at 0, 1, 2, 3, ...: only token 3 is a meeting of unlike drafts.
    left, right = written(text, [2]), written(text, [0])
    assert all(round_.drafts is not None for round_ in right)
    changed = msgspec.structs.replace(right[3], drafts=(4, 77, 78))
    right[3] = changed
    same_start = [m for m in align(Listed(left), Listed(right)).drafts if m.token == 3]
    assert same_start == [Meeting(token=3, left=1, right=3)]


def test_the_first_draft_difference_needs_equal_text_before_it() -> None:
    left, right = written([1, 2, 3, 4, 5, 6], [0]), written([1, 9, 3, 4, 5, 6], [0])
    assert first_draft_difference(Listed(left), Listed(right)) == Meeting(0, 0, 0)
    same = written([1, 2, 3, 4, 5, 6], [0])
    parted = [same[0], *written([1, 9, 3, 4, 5, 6], [0], wrong=9)[1:]]
    assert first_draft_difference(Listed(same), Listed(parted)) is None


def test_fewer_drafts_than_allowed_differ_and_fewer_because_of_the_limit_do_not() -> None:
    text = [1, 2, 3, 4, 5, 6]
    whole, short = written(text, [0]), written(text, [0])
    short[0] = msgspec.structs.replace(short[0], drafts=(short[0].drafts or ())[:2])
    assert first_draft_difference(Listed(whole), Listed(short)) == Meeting(0, 0, 0)
    short[0] = msgspec.structs.replace(short[0], limit=2)
    assert first_draft_difference(Listed(whole), Listed(short)) is None


def test_runs_from_other_prompts_have_no_place_in_common() -> None:
    text = [1, 2, 3, 4]
    left, right = Listed(written(text, [0])), Listed(written(text, [0], wrong=7), prompt=(8, 8))
    assert first_draft_difference(left, right) is None


@pytest.mark.parametrize("fault", ["hidden-stale", "tap-off-by-one"])
def test_a_drafter_that_sees_wrong_inputs_is_found_where_it_first_drafts_otherwise(fault: str) -> None:
    with (
        open_trace(FAULTS / f"{fault}.msgpack") as wrong,
        open_trace(FAULTS / f"{fault}.right.msgpack") as right,
    ):
        met = first_draft_difference(wrong, right)
        assert align(wrong, right).first is None
        assert met is not None
        mine, theirs = wrong.round(met.left), right.round(met.right)
        assert (mine.pos, mine.t1) == (theirs.pos, theirs.t1)
        assert mine.drafts != theirs.drafts
        if fault == "hidden-stale":
            # The round before it was the first that did not keep all its rows.
            before = wrong.round(met.left - 1)
            assert before.take < before.drafted
        else:
            assert met.left == 0


def test_counts_without_tokens_cannot_be_compared() -> None:
    rounds = [
        msgspec.structs.replace(round_, emitted=None, n_emitted=round_.count) for round_ in written([1, 2, 3, 4], [1])
    ]
    found = align(Listed(rounds), Listed(rounds))
    assert not found.known
    assert (found.left.tokens, found.differing) == (4, 0)
