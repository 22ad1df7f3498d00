"""A text is found wherever its tokens are cut, once, and where it was completed."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.errors import SpecstepError
from engine.records import Round
from tests.tui.runs import drafted, plain
from tui.search import Match, Search, query


def emitted(*rounds: tuple[int, ...]) -> list[Round]:
    return [drafted(i, 0, emitted=tokens) for i, tokens in enumerate(rounds)]


def found(typed: str, pieces: list[bytes], rounds: list[Round], step: int = 1) -> list[Match]:
    search = Search(query(typed), lambda token: pieces[token] if token < len(pieces) else None)
    for start in range(0, len(rounds), step):
        search.feed(rounds[start : start + step])
    return list(search.matches)


@given(
    pieces=st.lists(st.text("abAé\n", max_size=3).map(str.encode), min_size=1, max_size=5),
    typed=st.text("abAé\n", min_size=1, max_size=4),
    tokens=st.lists(st.lists(st.integers(0, 4), max_size=3), max_size=12),
    step=st.integers(1, 5),
)
def test_it_finds_what_a_search_of_the_whole_text_finds(
    pieces: list[bytes], typed: str, tokens: list[list[int]], step: int
) -> None:
    rounds = emitted(*(tuple(token % len(pieces) for token in each) for each in tokens))
    text = b"".join(pieces[token] for round_ in rounds for token in round_.emitted or ()).decode()
    expected = list(re.finditer(re.escape(typed), text, 0 if typed != typed.lower() else re.IGNORECASE))

    matches = found(typed, pieces, rounds, step)

    assert len(matches) == len(expected)
    numbers = [token for round_ in rounds for token in round_.emitted or ()]
    for match, theirs in zip(matches, expected, strict=True):
        within = b"".join(pieces[token] for token in numbers[match.first : match.last + 1]).decode()
        assert theirs[0] in within
        assert sum(len(round_.emitted or ()) for round_ in rounds[: match.round + 1]) > match.last
        assert sum(len(round_.emitted or ()) for round_ in rounds[: match.round]) <= match.last


def test_a_match_over_tokens_and_rounds_belongs_to_the_round_that_completes_it() -> None:
    pieces = [b"def me", b"a", b"n(x", b")"]

    assert found("mean(", pieces, emitted((0,), (1,), (2, 3))) == [Match(0, 2, 2)]


def test_half_characters_are_joined() -> None:
    first, second = b"caf\xc3", b"\xa9!"

    assert found("café", [first, second], emitted((0,), (1,))) == [Match(0, 1, 1)]


def test_a_capital_makes_capitals_count() -> None:
    pieces = [b"Mean", b" mean", "Größe".encode(), "GRÖSSE".encode(), "GRÖßE".encode()]
    rounds = emitted((0, 1, 2, 3, 4))

    assert [match.first for match in found("mean", pieces, rounds)] == [0, 1]
    assert [match.first for match in found("Mean", pieces, rounds)] == [0]
    assert [match.first for match in found("größe", pieces, rounds)] == [2, 3, 4]
    assert [match.first for match in found("Größe", pieces, rounds)] == [2]


def test_signs_of_a_pattern_are_signs_of_the_text() -> None:
    pieces = [b"a.b", b"a+b", b"x\n", b"\ty", b"back\\slash"]
    rounds = emitted((0, 1, 2, 3, 4))

    assert [match.first for match in found("a.b", pieces, rounds)] == [0]
    assert [match.first for match in found("\\n\\t", pieces, rounds)] == [2]
    assert [match.first for match in found("k\\\\s", pieces, rounds)] == [4]


def test_rejected_drafts_are_searched_only_when_asked() -> None:
    pieces = [b"return", b" total", b" values"]
    rounds = [drafted(0, 0, t1=0, drafts=(2, 1), emitted=(0,)), drafted(1, 1, t1=1, drafts=(2,), emitted=(1, 2))]

    assert found("return val", pieces, rounds) == []
    assert found("~return val", pieces, rounds) == [Match(0, 1, 0)]
    assert found("~total val", pieces, rounds) == []
    assert [match.round for match in found("total val", pieces, rounds)] == [1]


@given(
    pieces=st.lists(st.text("abAé", max_size=2).map(str.encode), min_size=1, max_size=4),
    typed=st.text("abAé", min_size=1, max_size=4),
    tokens=st.lists(
        st.tuples(st.lists(st.integers(0, 4), min_size=1, max_size=4), st.integers(0, 3), st.booleans()), max_size=8
    ),
    step=st.integers(1, 5),
)
def test_among_drafts_it_finds_what_a_search_round_by_round_finds(
    pieces: list[bytes], typed: str, tokens: list[tuple[list[int], int, bool]], step: int
) -> None:
    rounds = []
    for i, (ids, most, known) in enumerate(tokens):
        t1, *drafts = (token % len(pieces) for token in ids)
        take = min(most, len(drafts))
        emitted = (t1, *drafts[:take]) if known else None
        rounds.append(drafted(i, take, t1=t1 if known else None, drafts=tuple(drafts), emitted=emitted))
    pattern = re.compile(re.escape(typed), 0 if typed != typed.lower() else re.IGNORECASE)
    expected, before = [], ""
    for round_ in rounds:
        carried = "\uffff" if round_.t1 is None else pieces[round_.t1].decode()
        row = [carried, *(pieces[token].decode() for token in round_.drafts or ())]
        kept = before[max(len(before) - len(typed) + 1, 0) :]
        ends = [len(kept + "".join(row[: j + 1])) for j in range(len(row))]
        for match in pattern.finditer(kept + "".join(row)):
            last = next(j for j, end in enumerate(ends) if end >= match.end())
            if last > round_.take:
                expected.append((round_.index, last))
        before += b"".join(pieces[token] for token in round_.emitted or ()).decode()

    assert [(match.round, match.last) for match in found("~" + typed, pieces, rounds, step)] == expected


def test_a_rejected_draft_goes_on_from_the_text_before_its_round() -> None:
    pieces = [b"one", b" two", b" three", b" four"]
    rounds = [
        plain(0, t1=0, emitted=(0,)),
        drafted(1, 0, t1=1, drafts=(3,), emitted=(1,)),
        plain(2, t1=2, emitted=(2,)),
    ]

    assert found("~one two four", pieces, rounds) == [Match(0, 1, 1)]
    assert [match.round for match in found("one two three", pieces, rounds)] == [2]


def test_unknown_tokens_are_found_by_nothing_and_join_nothing() -> None:
    assert found("ab", [b"a", b"b"], emitted((0, 9, 1))) == []


def test_an_empty_text_is_refused() -> None:
    for typed in ("", "~"):
        with pytest.raises(SpecstepError, match="nothing to look for"):
            query(typed)


def test_the_next_and_the_previous_are_counted_from_a_round() -> None:
    pieces = [b"a", b"b"]
    search = Search(query("a"), lambda token: pieces[token])
    search.feed(emitted((0, 0), (1,), (0,), (1,)))

    assert [match.round for match in search.matches] == [0, 0, 2]
    assert [search.next(i) for i in (-1, 0, 1, 2)] == [0, 2, 2, None]
    assert [search.previous(i) for i in (0, 1, 3)] == [None, 1, 2]
    assert search.within(0, 2) == list(search.matches)[:2]
