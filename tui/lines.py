"""Styled lines as plain values: spans of text with a role, cut and padded by terminal cells. No Textual in here."""

from collections.abc import Iterable
from typing import NamedTuple

from rich.cells import cell_len, get_character_cell_size

from tui.marks import Marks, Role


class Span(NamedTuple):
    """Text that is safe to print (see ``tui.text``) and what it is."""

    text: str
    role: Role = Role.TEXT


Line = tuple[Span, ...]


def width_of(line: Iterable[Span]) -> int:
    """How many terminal cells the line takes."""
    return sum(cell_len(span.text) for span in line)


def take(text: str, width: int) -> str:
    """As much of ``text`` as fits into ``width`` cells; a wide character is never halved."""
    if len(text) <= width and text.isascii():
        return text
    used, kept = 0, []
    for character in text:
        used += get_character_cell_size(character)
        if used > width:
            break
        kept.append(character)
    return "".join(kept)


def shorten(text: str, width: int, marks: Marks) -> str:
    """``text`` in at most ``width`` cells, ending in an ellipsis where it was cut."""
    if cell_len(text) <= width:
        return text
    return take(text, max(width - 1, 0)) + marks.ellipsis if width > 0 else ""


def left(text: str, width: int, marks: Marks) -> str:
    """``text`` cut and padded on the right to exactly ``width`` cells."""
    short = shorten(text, width, marks)
    return short + " " * (width - cell_len(short))


def right(text: str, width: int, marks: Marks) -> str:
    """``text`` cut and padded on the left to exactly ``width`` cells."""
    short = shorten(text, width, marks)
    return " " * (width - cell_len(short)) + short


def fit(line: Line, width: int, marks: Marks) -> Line:
    """The line in at most ``width`` cells, ending in an ellipsis where it was cut."""
    if width_of(line) <= width:
        return line
    kept: list[Span] = []
    room = width - 1
    for text, role in line:
        length = cell_len(text)
        if length > room:
            kept.append(Span(take(text, room) + marks.ellipsis, role))
            break
        kept.append(Span(text, role))
        room -= length
    return tuple(kept)


def merged(spans: Iterable[Span]) -> Line:
    """Neighbours of one role as one span: what a terminal pays for is the number of spans."""
    result: list[Span] = []
    for span in spans:
        if not span.text:
            continue
        if result and result[-1].role is span.role:
            result[-1] = Span(result[-1].text + span.text, span.role)
        else:
            result.append(span)
    return tuple(result)


def wrap_parts(parts: Iterable[str], width: int) -> list[str]:
    """Parts that stay whole, two cells apart, over lines of at most ``width`` cells."""
    lines: list[str] = []
    for part in parts:
        if lines and cell_len(lines[-1]) + 2 + cell_len(part) <= width:
            lines[-1] += f"  {part}"
        else:
            lines.append(take(part, width))
    return lines


def flow(parts: Iterable[Line], width: int) -> list[Line]:
    """Styled parts that stay whole, two cells apart, over lines of at most ``width`` cells."""
    lines: list[Line] = []
    for part in parts:
        if lines and width_of(lines[-1]) + 2 + width_of(part) <= width:
            lines[-1] = (*lines[-1], Span("  "), *part)
        else:
            lines.append(part)
    return lines


def wrap(text: str, width: int, role: Role = Role.TEXT) -> list[Line]:
    """A sentence of our own over lines of at most ``width`` cells, broken at spaces."""
    lines: list[str] = []
    for word in text.split():
        if lines and cell_len(lines[-1]) + 1 + cell_len(word) <= width:
            lines[-1] += f" {word}"
        else:
            lines.append(take(word, width))
    return [(Span(line, role),) for line in lines]


def spread(start: Line, end: Line, width: int, marks: Marks) -> Line:
    """``start`` at the left and ``end`` at the right of ``width`` cells; ``start`` is cut where both do not fit."""
    end = fit(end, width, marks)
    room = width - width_of(end)
    start = fit(start, max(room - 1, 0), marks) if room > 1 else ()
    return (*start, Span(" " * (room - width_of(start))), *end)
