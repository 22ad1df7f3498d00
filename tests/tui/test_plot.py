"""The curve in braille and ASCII, character by character."""

from hypothesis import given
from hypothesis import strategies as st

from tui.lines import Line
from tui.marks import ASCII, UNICODE, Role
from tui.plot import Range, Ruler, curve


def flat(*values: float) -> list[Range | None]:
    return [Range(value, value) for value in values]


def texts(lines: list[Line]) -> list[str]:
    return ["".join(span.text for span in line) for line in lines]


def test_two_values_share_a_cell_and_are_joined() -> None:
    assert texts(curve(flat(0, 3), 1, 0, 3, None, UNICODE)) == ["⡸"]


def test_a_rising_line_climbs_from_cell_to_cell() -> None:
    assert texts(curve(flat(0, 1, 2, 3, 4, 5, 6, 7), 2, 0, 7, None, UNICODE)) == ["  ⡠⠊", "⡠⠊  "]


def test_a_gap_stays_a_gap() -> None:
    assert texts(curve([*flat(0, 0), None, None, *flat(0, 0)], 1, 0, 3, None, UNICODE)) == ["⣀ ⣀"]


def test_a_dip_inside_a_column_is_never_hidden() -> None:
    assert texts(curve([Range(0, 3), Range(3, 3)], 1, 0, 3, None, UNICODE)) == ["⡏"]


def test_the_bar_is_drawn_where_no_dot_is_and_what_sinks_below_it_is_told_apart() -> None:
    top, bottom = curve(flat(7, 7, 0, 0, 7, 7), 2, 0, 7, 5.0, UNICODE)

    assert texts([top, bottom]) == ["⠉⡆⡏", " ⣇⠇"]
    assert any(span.role is Role.BELOW for span in bottom)
    assert all(span.role is Role.DATA for span in curve(flat(7, 7), 1, 0, 7, 5.0, UNICODE)[0])


def test_the_bar_is_a_line_of_its_own() -> None:
    lines = curve(flat(7, 7, 7, 7), 2, 0, 7, 1.0, UNICODE, [Ruler(1.0, "─", Role.BAR)])

    assert texts(lines) == ["⠉⠉", "──"]
    assert lines[1][0].role is Role.BAR


def test_of_two_bars_on_one_line_the_first_is_drawn() -> None:
    asked, bar = Ruler(1.0, "╌", Role.KEY), Ruler(1.2, "─", Role.BAR)

    assert texts(curve(flat(7, 7, 7, 7), 2, 0, 7, 1.0, UNICODE, [asked, bar])) == ["⠉⠉", "╌╌"]
    assert texts(curve(flat(7, 7, 7, 7), 2, 0, 7, 1.0, UNICODE, [Ruler(70.0, "╌", Role.KEY), bar])) == ["⠉⠉", "──"]


def test_ascii_has_one_column_a_cell() -> None:
    assert texts(curve(flat(0, 1, 2), 3, 0, 2, None, ASCII)) == ["  *", " * ", "*  "]


@given(st.lists(st.floats(-5, 20), min_size=1, max_size=40), st.integers(1, 6), st.floats(0, 10))
def test_every_line_has_a_cell_for_each_two_columns(values: list[float], height: int, bar: float) -> None:
    lines = texts(curve(flat(*values), height, 0, 10, bar, UNICODE))

    assert len(lines) == height
    assert {len(line) for line in lines} == {-(-len(values) // 2)}
    assert any(0x2800 < ord(character) < 0x2900 for line in lines for character in line)
