"""Prompt lookup proposes what followed the longest suffix of the text the time before."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.base.base import Rows
from engine.drafters.drafter import Pick
from engine.drafters.lookup import LookupDrafter
from engine.errors import Refused

NO_ROWS = Rows(np.empty((0, 10), np.float32))


def never(row: np.ndarray, position: int) -> Pick:
    raise AssertionError("a lookup has no rows to pick from")


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
def test_it_drafts_what_followed(
    text: list[int], options: dict[str, object], limit: int, drafts: tuple[int, ...]
) -> None:
    drafter = LookupDrafter(**options)  # type: ignore[arg-type]
    drafter.commit(text[:-1], NO_ROWS)

    draft = drafter.draft(text[-1], limit, never, 0.0)

    assert draft.tokens == drafts
    assert draft.p is None
    assert draft.q is None


@given(text=st.lists(st.integers(0, 2**20), min_size=2, max_size=40), limit=st.integers(1, 5))
def test_a_draft_is_a_piece_of_the_text_behind_a_copy_of_its_end(text: list[int], limit: int) -> None:
    drafter = LookupDrafter(longest=4, shortest=1)
    drafter.commit(text[:-1], NO_ROWS)

    drafts = drafter.draft(text[-1], limit, never, 0.0).tokens

    copies = [i for i in range(1, len(text)) if text[i - 1] == text[-1]]
    assert bool(drafts) == bool(copies)
    if drafts:
        assert any(tuple(text[i : i + limit]) == drafts for i in copies)


def test_what_was_rolled_back_is_not_found_again() -> None:
    drafter = LookupDrafter()
    drafter.commit([1, 2, 3, 4, 5, 6], NO_ROWS)

    drafter.rollback(2)
    drafter.commit([7, 4], NO_ROWS)

    assert drafter.consumed == 4
    assert drafter.draft(5, 3, never, 0.0).tokens == ()


@pytest.mark.parametrize("options", [{"shortest": 0}, {"shortest": 4}, {"match": "best"}])
def test_a_lookup_that_cannot_work_is_refused(options: dict[str, object]) -> None:
    with pytest.raises(Refused, match="lookup"):
        LookupDrafter(**options)  # type: ignore[arg-type]
