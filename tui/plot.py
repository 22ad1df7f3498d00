"""A curve in braille, two pixels by four in a cell. A pixel column holds the lowest and the highest of its rounds."""

from collections.abc import Sequence
from typing import NamedTuple

from tui.lines import Line, Span, merged
from tui.marks import Marks, Role

_DOTS = ((0x01, 0x02, 0x04, 0x40), (0x08, 0x10, 0x20, 0x80))
_BRAILLE = 0x2800


class Range(NamedTuple):
    """The lowest and highest value in a pixel column."""

    low: float
    high: float


class Scale(NamedTuple):
    """Values from ``low`` (bottom) to ``high`` (top) over a number of pixels."""

    low: float
    high: float
    pixels: int

    def pixel(self, value: float) -> int:
        """The pixel of a value, counted from the bottom; values outside stick to the edge."""
        share = (value - self.low) / (self.high - self.low)
        return min(max(round(share * (self.pixels - 1)), 0), self.pixels - 1)

    def row(self, value: float, height: int) -> int:
        """The line, of ``height`` from the top, that holds a value's pixel."""
        return (self.pixels - 1 - self.pixel(value)) * height // self.pixels


def pixels_per_cell(marks: Marks) -> tuple[int, int]:
    """How many pixels a cell has across and down."""
    return (1, 1) if marks.plain_text else (2, 4)


class Ruler(NamedTuple):
    """A level that is drawn across the plot where no dot is: its value and the sign and role of its cells."""

    value: float
    sign: str
    role: Role


def curve(
    columns: Sequence[Range | None],
    height: int,
    low: float,
    high: float,
    bar: float | None,
    marks: Marks,
    rulers: Sequence[Ruler] = (),
) -> list[Line]:
    """Lines of the curve, top first, one cell for ``pixels_per_cell`` columns.

    A column without values is a gap. Cells that hold a value below ``bar`` have the role of one; where two of the
    ``rulers`` share a line, the first of them is drawn.
    """
    across, down = pixels_per_cell(marks)
    scale = Scale(low, high, height * down)
    cells = -(-len(columns) // across)
    bits = [[0] * cells for _ in range(height)]
    under = [False] * cells
    before: Range | None = None
    for x, column in enumerate(columns):
        if column is not None:
            bottom, top = scale.pixel(column.low), scale.pixel(column.high)
            if before is not None:
                bottom = min(bottom, scale.pixel(before.high) + 1)
                top = max(top, scale.pixel(before.low) - 1)
            for pixel in range(bottom, top + 1):
                row, dot = divmod(scale.pixels - 1 - pixel, down)
                bits[row][x // across] |= _DOTS[x % across][dot]
            under[x // across] |= bar is not None and column.low < bar
        before = column
    bar_row = None if bar is None or not low <= bar <= high else scale.row(bar, height)
    ruled = ruled_rows(rulers, scale, height)
    return [
        merged(
            _cell(row[x], under[x] and bar_row is not None and y >= bar_row, ruled.get(y), marks) for x in range(cells)
        )
        for y, row in enumerate(bits)
    ]


def ruled_rows(rulers: Sequence[Ruler], scale: Scale, height: int) -> dict[int, Ruler]:
    """The rulers within the scale by the line that they are drawn on."""
    return {
        scale.row(ruler.value, height): ruler for ruler in reversed(rulers) if scale.low <= ruler.value <= scale.high
    }


def _cell(bits: int, under: bool, ruler: Ruler | None, marks: Marks) -> Span:
    if bits:
        return Span("*" if marks.plain_text else chr(_BRAILLE + bits), Role.BELOW if under else Role.DATA)
    return Span(" ", Role.TEXT) if ruler is None else Span(ruler.sign, ruler.role)
