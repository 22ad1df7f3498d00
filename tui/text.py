"""Token bytes as cells that are safe to print. Whatever the bytes hold, nothing that steers a terminal comes out."""

import unicodedata
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from rich.cells import get_character_cell_size

from tui.marks import Marks

_HIDDEN = frozenset(("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp", "Zs", "Mc"))
_COMBINING = frozenset(("Mn", "Me"))
_MARKS_ON_A_CELL = 3
_SHORT = 32
"""Bytes of a token that is kept as cells for the next time."""
_REGIONAL = range(0x1F1E6, 0x1F200)
_UNSEEN = (
    range(0x034F, 0x0350),
    range(0x115F, 0x1161),
    range(0x17B4, 0x17B6),
    range(0x180B, 0x1810),
    range(0x3164, 0x3165),
    range(0xFE00, 0xFE10),
    range(0x1171E, 0x1171F),
    range(0xE0100, 0xE01F0),
)
"""Without a shape of their own: fillers, joiners, variation selectors. U+1171E was a mark, and takes a cell now."""
_BEFORE = "15.1.0"
"""Unicode before it made signs wide that terminals have long drawn narrow."""


class Cell(NamedTuple):
    """One printable character with the marks that sit on it, or the visible form of one that must not be printed."""

    text: str
    width: int
    escaped: bool = False
    newline: bool = False


class Shown(NamedTuple):
    """What one token adds to the text, and whether it ends inside a character."""

    cells: tuple[Cell, ...]
    open: bool


class Joiner:
    """Joins the bytes of consecutive tokens into characters.

    The bytes of an unfinished character are held back until a later token finishes it, which then shows the whole
    character; ``rest`` shows them as hex.
    """

    def __init__(self, marks: Marks, held: bytes = b"") -> None:
        self._marks = marks
        self.held = held

    def copy(self) -> "Joiner":
        """A joiner that goes on from the same bytes, for a branch that may be rejected."""
        return Joiner(self._marks, self.held)

    def feed(self, token: int, piece: bytes | None) -> Shown:
        """The characters that ``piece`` finishes; a token of unknown bytes is shown by its id."""
        if piece is None:
            name = f"{self._marks.opens}#{token}{self._marks.closes}"
            return Shown((*self.rest(), Cell(name, len(name), True)), False)
        if not self.held and len(piece) <= _SHORT and (whole := _whole(piece, self._marks.plain_text)) is not None:
            return whole
        cells: list[Cell] = []
        self.held += piece
        while self.held:
            try:
                text, self.held = self.held.decode(), b""
                cells += cells_of(text, self._marks)
            except UnicodeDecodeError as error:
                cells += cells_of(self.held[: error.start].decode(), self._marks)
                if error.reason == "unexpected end of data" and error.end == len(self.held):
                    self.held = self.held[error.start :]
                    break
                cells.append(_hex(self.held[error.start : error.end], self._marks))
                self.held = self.held[error.end :]
        return Shown(tuple(cells), bool(self.held))

    def rest(self) -> tuple[Cell, ...]:
        """The held bytes as hex; nothing is held afterwards."""
        held, self.held = self.held, b""
        return (_hex(held, self._marks),) if held else ()


def token_text(token: int, piece: bytes | None, marks: Marks) -> str:
    """A token on its own, for a table: spaces and line ends have signs, bytes that are no whole character are hex."""
    joiner = Joiner(marks)
    cells = (*joiner.feed(token, piece).cells, *joiner.rest())
    if piece == b"":
        return f"{marks.opens}empty{marks.closes}"
    if marks.plain_text:
        return f"'{''.join(cell.text for cell in cells)}'"
    return "".join(marks.space if cell.text == " " else cell.text for cell in cells)


def safe(text: str, marks: Marks) -> str:
    """Any text from a trace (a name, a message) on one line, with nothing in it that a terminal would obey."""
    return "".join(cell.text for cell in cells_of(text, marks))


def cells_of(text: str, marks: Marks) -> Iterator[Cell]:
    """The cells of a text. A mark that would combine stays with its base, up to three; other marks are spelled out."""
    return _cells_of(text, marks.plain_text)


def _cells_of(text: str, plain_text: bool) -> Iterator[Cell]:
    current: Cell | None = None
    stacked = 0
    for character in text:
        cell = _cell(character, plain_text)
        if cell.width == 0:
            stacked += 1
            if current is not None and not current.escaped and stacked <= _MARKS_ON_A_CELL:
                current = current._replace(text=current.text + character)
                continue
            cell = _spelled(character, plain_text)
        else:
            stacked = 0
        if current is not None:
            yield current
        current = cell
    if current is not None:
        yield current


@lru_cache(maxsize=8192)
def _whole(piece: bytes, plain_text: bool) -> Shown | None:
    """What a token adds behind whole characters, ``None`` where it does not hold whole characters itself.

    A step shows the text again but for a few tokens of it, and most texts are made of the same tokens.
    """
    try:
        return Shown(tuple(_cells_of(piece.decode(), plain_text)), False)
    except UnicodeDecodeError:
        return None


@lru_cache(maxsize=8192)
def _cell(character: str, plain_text: bool) -> Cell:
    code = ord(character)
    if 0x20 <= code < 0x7F:
        return Cell(character, 1)
    if character in "\n\r\t" or code < 0x20 or code == 0x7F:
        return _control(code, plain_text)
    width = get_character_cell_size(character)
    if plain_text or _unsafe(character, width):
        return _spelled(character, plain_text)
    return Cell(character, width)


def _unsafe(character: str, width: int) -> bool:
    """Whether a character steers, is not seen, passes for a space, or is not measured alike by all terminals.

    Not measured alike are spacing marks, halves of a flag, and signs that became wide with Unicode 16.
    """
    category, code = unicodedata.category(character), ord(character)
    if category in _HIDDEN or code in _REGIONAL or any(code in unseen for unseen in _UNSEEN):
        return True
    return (width == 0 and category not in _COMBINING) or width != get_character_cell_size(character, _BEFORE)


def _control(code: int, plain_text: bool) -> Cell:
    if code == 0x0A:
        text = "\\n" if plain_text else "↵"
    elif code == 0x09:
        text = "\\t" if plain_text else "⇥"
    elif plain_text:
        text = f"\\x{code:02x}"
    else:
        text = "␡" if code == 0x7F else chr(0x2400 + code)
    return Cell(text, len(text), True, code == 0x0A)


@lru_cache(maxsize=1024)
def _spelled(character: str, plain_text: bool) -> Cell:
    text = f"<U+{ord(character):04X}>" if plain_text else f"‹U+{ord(character):04X}›"
    return Cell(text, len(text), True)


def _hex(data: bytes, marks: Marks) -> Cell:
    text = f"{marks.opens}{data.hex(' ').upper()}{marks.closes}"
    return Cell(text, len(text), True)
