"""The page about the language is made of the list of names."""

from pathlib import Path

import pytest

from engine.conditions import Condition
from engine.conditions.page import EXAMPLES, WHERE, lines

ROOT = Path(__file__).parents[2]


def test_the_page_is_the_one_that_is_made_now() -> None:
    written = (ROOT / WHERE).read_text(encoding="utf-8")
    assert written == "\n".join(lines()) + "\n", "python -m engine.conditions.page writes it anew"


@pytest.mark.parametrize("example", [condition for condition, _ in EXAMPLES])
def test_its_examples_are_conditions(example: str) -> None:
    Condition(example)
