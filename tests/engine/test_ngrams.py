"""The share of repeated n-grams: that of a set of them, for a text of any length and any ids."""

import random
from array import array
from collections.abc import Sequence

import pytest

from engine.ngrams import MULTIPLIER, Text, repeated_ngrams


def by_a_set(tokens: Sequence[int], size: int) -> float:
    grams = [tuple(tokens[i : i + size]) for i in range(len(tokens) - size + 1)]
    return 1 - len(set(grams)) / len(grams)


def signed(value: int) -> int:
    return (value + 2**63) % 2**64 - 2**63


def test_repetition_is_the_share_of_n_grams_seen_before() -> None:
    assert repeated_ngrams([1, 2, 3], size=8) is None
    assert repeated_ngrams(list(range(20))) == 0.0
    assert repeated_ngrams([5] * 11) == 0.75


@pytest.mark.parametrize("vocabulary", [1, 2, 3, 50_000])
@pytest.mark.parametrize("length", [4103, 4104, 20_000, 300_000])
def test_of_a_long_text_it_is_that_of_a_set_too(length: int, vocabulary: int) -> None:
    rng = random.Random(length)
    tokens = [rng.randrange(vocabulary) for _ in range(length)]
    expected = by_a_set(tokens, 8)
    assert repeated_ngrams(tokens) == expected
    assert repeated_ngrams(array("q", tokens)) == expected


def test_n_grams_with_the_same_hash_are_told_apart() -> None:
    alike = [signed(MULTIPLIER**2), signed(-MULTIPLIER)]
    assert sum(id_ * MULTIPLIER ** (k + 1) for k, id_ in enumerate(alike)) % 2**64 == 0
    tokens = [*range(1, 6000), 0, 0, *alike, 7, 0, 0, *alike]
    assert repeated_ngrams(tokens, 2) == by_a_set(tokens, 2) > 0


def test_a_long_text_with_an_id_that_no_vocabulary_has_is_not_known() -> None:
    assert repeated_ngrams([0] * 9000 + [2**63]) is None
    assert repeated_ngrams([-(2**63)] * 9000) == by_a_set([0] * 9000, 8)


@pytest.mark.parametrize("unknown", [None, (1, 2**63)])
def test_a_text_is_known_until_a_round_does_not_tell_its_part(unknown: Sequence[int] | None) -> None:
    text = Text()
    for emitted in ((1, 2), (), (-1,)):
        text.add(emitted)
    assert text.tokens == array("q", (1, 2, -1))
    text.add(unknown)
    text.add((3,))
    assert text.tokens is None
