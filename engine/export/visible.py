"""Untrusted token bytes as text in which nothing is hidden and nothing steers whoever shows it."""

import unicodedata

_HIDDEN = frozenset(("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"))
_SIGNS = {"\n": "↵\n", "\t": "⇥", "\r": "␍"}
_MARKS_IN_A_ROW = 3


def visible(text: str) -> str:
    """``text`` with control, format and unassigned characters spelled out; a line end keeps its effect."""
    shown, marks = [], 0
    for character in text:
        category = unicodedata.category(character)
        marks = marks + 1 if category in ("Mn", "Me") else 0
        if character in _SIGNS:
            shown.append(_SIGNS[character])
        elif category in _HIDDEN or marks > _MARKS_IN_A_ROW:
            shown.append(f"‹U+{ord(character):04X}›")
        else:
            shown.append(character)
    return "".join(shown)


def one_line(text: str) -> str:
    """The same for a name or a message: no line end either."""
    return visible(text).replace("\n", "")


class Joiner:
    """Joins the bytes of consecutive tokens: a character is shown whole, by the token that finishes it."""

    def __init__(self, held: bytes = b"") -> None:
        self.held = held

    def feed(self, token: int, piece: bytes | None) -> str:
        """The raw text that ``piece`` finishes; ``‹#id›`` for unknown bytes, hex for bytes of no character."""
        if piece is None:
            return f"{self.rest()}‹#{token}›"
        shown, self.held = "", self.held + piece
        while self.held:
            try:
                shown, self.held = shown + self.held.decode(), b""
            except UnicodeDecodeError as error:
                shown += self.held[: error.start].decode()
                if error.reason == "unexpected end of data" and error.end == len(self.held):
                    self.held = self.held[error.start :]
                    break
                shown += _hex(self.held[error.start : error.end])
                self.held = self.held[error.end :]
        return shown

    def rest(self) -> str:
        """The bytes of a character that nothing finished, as hex."""
        held, self.held = self.held, b""
        return _hex(held) if held else ""


def _hex(data: bytes) -> str:
    return f"‹{data.hex(' ').upper()}›"
