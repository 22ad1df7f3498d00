"""Token bytes become cells that are safe to print, exact, and measured right."""

import unicodedata
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from tui.marks import ASCII, UNICODE, Marks
from tui.text import Joiner, cells_of, safe, token_text

MARKS = pytest.mark.parametrize("marks", [UNICODE, ASCII], ids=["unicode", "ascii"])
STEERING = frozenset(("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"))
UNSEEN = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u3164\ufe0e\ufe0f\uffa0\U000e0100\U000e01ef")


def steers(text: str) -> bool:
    """Whether anything in a text steers a terminal, or is in it unseen."""
    return any(unicodedata.category(character) in STEERING or character in UNSEEN for character in text)


@MARKS
@given(pieces=st.lists(st.binary(max_size=8) | st.text(max_size=4).map(lambda t: t.encode(errors="replace"))))
def test_no_bytes_whatever_let_a_character_through_that_steers_a_terminal(marks: Marks, pieces: list[bytes]) -> None:
    joiner = Joiner(marks)
    cells = [cell for i, piece in enumerate(pieces) for cell in joiner.feed(i, piece).cells]
    cells += joiner.rest()

    text = "".join(cell.text for cell in cells)
    assert not steers(text)
    assert all(cell_len(cell.text) == cell.width > 0 for cell in cells)
    assert cell_len(text) == sum(cell.width for cell in cells)
    assert not marks.plain_text or text.isascii()
    assert not any(steers(token_text(i, piece, marks)) for i, piece in enumerate(pieces))


@given(st.text(st.characters(codec="utf-8", categories=("L", "N", "P", "S")), max_size=20), st.data())
def test_a_text_comes_out_whole_wherever_its_bytes_are_cut(text: str, data: st.DataObject) -> None:
    encoded = text.encode()
    cuts = sorted(data.draw(st.lists(st.integers(0, len(encoded)), max_size=8)))
    bounds = [0, *cuts, len(encoded)]
    joiner = Joiner(UNICODE)

    cells = [cell for start, stop in pairwise(bounds) for cell in joiner.feed(0, encoded[start:stop]).cells]

    assert joiner.rest() == ()
    printed = [cell.text for cell in cells if not cell.escaped]
    assert "".join(printed) == "".join(cell.text for cell in cells_of(text, UNICODE) if not cell.escaped)


def test_a_split_character_belongs_to_the_token_that_finishes_it() -> None:
    first, second = "€".encode()[:2], "€".encode()[2:]
    joiner = Joiner(UNICODE)

    begun, done = joiner.feed(1, first), joiner.feed(2, second)

    assert begun.cells == ()
    assert begun.open
    assert [cell.text for cell in done.cells] == ["€"]
    assert not done.open


def test_bytes_that_are_not_finished_or_not_utf8_are_shown_as_hex() -> None:
    assert token_text(1, "€".encode()[:2], UNICODE) == "‹E2 82›"
    assert token_text(1, b"a\xffb", UNICODE) == "a‹FF›b"
    assert token_text(1, b"\xff", ASCII) == "'<FF>'"


def test_a_branch_of_rejected_drafts_does_not_disturb_the_text() -> None:
    joiner = Joiner(UNICODE)
    joiner.feed(1, b"\xe2\x82")
    branch = joiner.copy()

    branch.feed(2, b"x")

    assert [cell.text for cell in joiner.feed(3, b"\xac").cells] == ["€"]


@pytest.mark.parametrize(
    ("piece", "shown"),
    [
        (b"\x1b[31m", "␛[31m"),
        (b" sum\n\t", "␣sum↵⇥"),
        ("\u202egnp.exe".encode(), "‹U+202E›gnp.exe"),
        ("\u200d\ufeff".encode(), "‹U+200D›‹U+FEFF›"),
        (b"[bold]x[/bold]", "[bold]x[/bold]"),
        ("日本".encode(), "日本"),
        ("e\u0301".encode(), "e\u0301"),
        ("\u0301".encode(), "‹U+0301›"),
        (b"\x7f\xc2\x9b", "␡‹U+009B›"),
        ("a\u00a0b\u3000".encode(), "a‹U+00A0›b‹U+3000›"),
        ("\u2764\ufe0f".encode(), "❤‹U+FE0F›"),
        ("\U0001f44d\U0001f3fd".encode(), "👍‹U+1F3FD›"),
        ("\U0001f1eb\U0001f1f7".encode(), "‹U+1F1EB›‹U+1F1F7›"),
        ("\U000e0041\U000e0020".encode(), "‹U+E0041›‹U+E0020›"),
        (b"\xed\xa0\x80", "‹ED›‹A0›‹80›"),
        (b"", "‹empty›"),
        (None, "‹#7›"),
    ],
)
def test_what_would_not_be_seen_is_spelled_out(piece: bytes | None, shown: str) -> None:
    assert token_text(7, piece, UNICODE) == shown


def test_marks_do_not_pile_up_on_a_cell() -> None:
    assert safe("a" + "\u0301" * 5, UNICODE) == "a\u0301\u0301\u0301‹U+0301›‹U+0301›"
