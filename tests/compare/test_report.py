"""Why two texts part, and what the two runs cost."""

from typing import Any

import msgspec
import pytest

from engine.compare import Cause, Choice, align, report
from engine.compare.words import rows, verdict
from engine.records import End, Round
from tests.compare.texts import Listed, written

TEXT = [5, 6, 7, 8, 9, 10, 11, 12]
OTHER = [5, 6, 7, 80, 81, 82, 83, 84]


def with_gap(rounds: list[Round], gap: float) -> list[Round]:
    return [msgspec.structs.replace(round_, gap=(gap,) * len(round_.gap or ())) for round_ in rounds]


def told(left: list[Round], right: list[Round], **changes: Any) -> Listed:
    source = Listed(right)
    source.header = msgspec.structs.replace(source.header, options={**source.header.options, **changes})
    return source


def test_by_hand_who_decided_the_token_that_differs() -> None:
    # Left emits 5 | 6 7 8 | ..., so 8 is accepted in round 1 on row 1; right emits 5 6 | 7 | 80, carried from round 1.
    left, right = written(TEXT, [0, 2]), written(OTHER, [1, 0, 0])
    found = report(align(Listed(left), Listed(right)))
    assert found.first is not None
    assert found.first.token == 3
    assert found.first.left == Choice(8, emitted_in=1, decided_in=1, row=1, gap=2.0)
    assert found.first.right == Choice(80, emitted_in=2, decided_in=1, row=0, gap=2.0)
    assert (found.before, found.left_from, found.right_from) == ((5, 6, 7), tuple(TEXT[3:]), tuple(OTHER[3:]))
    assert (found.common, found.differing, found.equal) == (8, 5, False)


def test_the_first_token_is_decided_by_the_prefill() -> None:
    found = report(align(Listed(written([1, 2], [0])), Listed(written([3, 2], [0]))))
    assert found.first is not None
    assert found.first.left == Choice(1, emitted_in=0, gap=3.0)


@pytest.mark.parametrize(
    ("mine", "theirs", "cause"),
    [(1e-6, 5e-5, Cause.TIE), (1e-6, 0.5, Cause.DEFECT), (0.5, 1e-6, Cause.DEFECT), (2.0, 3.0, Cause.DEFECT)],
)
def test_a_tie_is_where_both_sides_chose_by_no_more_than_noise(mine: float, theirs: float, cause: Cause) -> None:
    left, right = with_gap(written(TEXT, [0]), mine), with_gap(written(OTHER, [0]), theirs)
    found = report(align(Listed(left), Listed(right)))
    assert found.first is not None
    assert found.first.cause is cause
    wide = report(align(Listed(left), Listed(right)), tie=1.0).first
    assert wide is not None
    assert wide.cause is (Cause.TIE if max(mine, theirs) <= 1 else Cause.DEFECT)


def test_without_gaps_nobody_knows_whether_it_is_a_tie() -> None:
    left, right = (
        [msgspec.structs.replace(round_, gap=None) for round_ in written(text, [0])] for text in (TEXT, OTHER)
    )
    found = report(align(Listed(left), Listed(right)))
    assert found.first is not None
    assert found.first.cause is Cause.UNKNOWN
    one_side = report(align(Listed(left), Listed(written(OTHER, [0])))).first
    assert one_side is not None
    assert one_side.cause is Cause.DEFECT


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"sampler": "gumbel", "temperature": 0.7}, "the samplers differ (greedy, gumbel)"),
        ({"max_tokens": 9, "k": 9}, None),
    ],
)
def test_what_was_set_otherwise_explains_another_text_only_if_it_makes_one(
    changes: dict[str, Any], words: str | None
) -> None:
    left = written(TEXT, [0])
    found = report(align(Listed(left), told(left, written(OTHER, [0]), **changes)))
    assert found.first is not None
    assert found.first.cause is (Cause.DEFECT if words is None else Cause.SETTINGS)
    assert found.expected == (() if words is None else (words,))
    if words is None:
        assert found.settings == {"k": (3, 9)}


def test_other_prompts_and_vocabularies_are_said() -> None:
    left, right = Listed(written(TEXT, [0])), Listed(written(OTHER, [0], wrong=9), prompt=(7,))
    right.header = msgspec.structs.replace(
        right.header, base=msgspec.structs.replace(right.header.base, vocab_size=32, name="other")
    )
    found = report(align(left, right))
    assert found.first is not None
    assert found.first.cause is Cause.SETTINGS
    assert found.expected[0] == "the prompts differ"
    assert "vocabularies differ (5000 and 32 tokens)" in found.expected[1]
    assert "another name" in found.doubts[0]
    assert (found.draft, found.drafts) == (None, 0)
    right.header = msgspec.structs.replace(right.header, prompt=None)
    assert "no prompt is recorded in B" in report(align(left, right)).doubts[0]


def test_a_shorter_text_is_said_with_its_end() -> None:
    short = Listed(written(TEXT[:4], [1]), end=End(reason="stop"))
    found = report(align(Listed(written(TEXT, [0])), short))
    assert verdict(found) == "DIFFERENT IN LENGTH: the same 4 tokens, then B ends there (stop) and A goes on to 8"
    assert found.right_from == ()


def test_costs_stand_side_by_side() -> None:
    found = report(align(Listed(written(TEXT * 4, [3])), Listed(written(TEXT * 4, [0]))))
    table = {row.name: (row.left, row.right) for row in rows(found)}
    assert table["tokens emitted"] == ("32", "32")
    assert table["tokens a round"] == ("4.00", "1.00")
    assert table["accepted at 1"] == ("1.00", "0.00")
    assert table["verify ms, median"] == ("3.00", "3.00")
    assert table["step ms, median"] == ("-", "2.00")
    assert verdict(found) == "EQUAL: the same 32 tokens; 8 rounds behind the same text draft otherwise"
