"""What a person has set for good in a file: keys by their ids, the theme, the signs, the mouse."""

import difflib
import tomllib
import unicodedata
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from engine.errors import Refused
from tui.keys import KEYS, Key, bound

EXAMPLE = """theme = "specstep-light"
ascii = false
mouse = true

[keys]
"round.next" = ["j", "right"]
"run.play" = "f5"
"""

THEMES = ("specstep-dark", "specstep-light", "ansi-dark", "ansi-light")

_SHIFTS = ("ctrl", "shift", "alt")
_SPELLED = {"+": "plus", "-": "minus", ",": "comma", "/": "slash", "\\": "backslash", "_": "underscore", "@": "at"}
_MOVES = ("home", "end", "pageup", "pagedown", "up", "down", "left", "right")
_NAMED = {"escape", "enter", "tab", "space", "backspace", "delete", "insert", *_MOVES, *_SPELLED.values()} | {
    f"f{number}" for number in range(1, 25)
}
_TAKEN = {"ctrl+q": "quits", "ctrl+c": "interrupts"}
_SHOWN = {name: sign for sign, name in _SPELLED.items()} | {"up": "↑", "down": "↓", "escape": "esc"}


class Settings(NamedTuple):
    """``keys`` are all keys as they are now."""

    theme: str | None = None
    ascii: bool = False
    mouse: bool = True
    keys: tuple[Key, ...] = KEYS


def read(path: Path) -> Settings:
    """The settings in a file; those of nobody where there is none.

    Raises:
        Refused: it is no TOML, names something there is not, or gives one key to two things.
    """
    try:
        entries = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return Settings()
    except (OSError, UnicodeDecodeError) as error:
        raise Refused(f"{path}: cannot be read: {error}") from error
    except tomllib.TOMLDecodeError as error:
        raise Refused(f"{path}: is no TOML: {error}") from error
    try:
        return _settings(entries)
    except Refused as error:
        raise Refused(f"{path}: {error}") from error


def _settings(entries: dict[str, Any]) -> Settings:
    for name in entries:
        if name not in Settings._fields:
            raise Refused(f"{name} is no setting{_meant(name, Settings._fields)}: use one of theme, ascii, mouse, keys")
    theme = entries.get("theme")
    if theme is not None and theme not in THEMES:
        raise Refused(f"theme is {theme!r}: use one of {', '.join(THEMES)}")
    for name in ("ascii", "mouse"):
        if not isinstance(entries.get(name, False), bool):
            raise Refused(f"{name} is {entries[name]!r}: use true or false")
    keys = entries.get("keys", {})
    if not isinstance(keys, dict):
        raise Refused(f"keys is {keys!r}: make it a table, [keys], of ids and keys")
    return Settings(theme, entries.get("ascii", False), entries.get("mouse", True), remapped(dict(_flat(keys))))


def remapped(wanted: dict[str, Any]) -> tuple[Key, ...]:
    """All keys, with those changed that ``wanted`` gives by id: a key, or a list of them.

    Raises:
        Refused: an id or a key that there is not, or a key that would do two things.
    """
    can = {key.id: key for key in KEYS if key.keys}
    for id_, value in wanted.items():
        if id_ not in can:
            raise Refused(f"keys.{id_} is no key's id{_meant(id_, can)}: `specstep keys` lists them")
        can[id_] = _with(can[id_], value)
    keys = tuple(can.get(key.id, key) for key in KEYS)
    _check_collisions(keys)
    return keys


def _with(key: Key, value: Any) -> Key:
    texts = [value] if isinstance(value, str) else value
    if not isinstance(texts, list) or not texts or not all(isinstance(text, str) for text in texts):
        raise Refused(f'keys.{key.id} is {value!r}: give a key, as in "j", or a list of keys')
    names = tuple(_named(text, key.id) for text in texts)
    return key._replace(keys=names, shown=_shown(names[0]))


def _named(text: str, id_: str) -> str:
    """A key as Textual names it."""
    *shifts, last = text.split("+") if len(text) > 1 and not text.endswith("+") else [text]
    name = {" ": "space", "esc": "escape", **({} if shifts else _SPELLED)}.get(last, last)
    known = name in _NAMED or (len(name) == 1 and name.isprintable()) or _is_character(name)
    if not known or any(shift not in _SHIFTS for shift in shifts):
        raise Refused(f'keys.{id_} is {text!r}, no key: write a character, "f5", "ctrl+t", "space", "pageup" ...')
    name = "+".join((*shifts, name))
    if name in _TAKEN:
        raise Refused(f"keys.{id_} is {text!r}, which {_TAKEN[name]} everywhere: use another key")
    if len(name) == 1 and not name.isalnum():
        return unicodedata.name(name).lower().replace("-", "_").replace(" ", "_")
    return name


def _is_character(name: str) -> bool:
    try:
        unicodedata.lookup(name.replace("_", " "))
    except KeyError:
        return False
    return True


def _shown(name: str) -> str:
    *shifts, last = name.split("+")
    if last not in _NAMED and len(last) > 1:
        last = unicodedata.lookup(last.replace("_", " "))
    return "+".join((*shifts, _SHOWN.get(last, last.upper() if last[0] == "f" and last[1:].isdigit() else last)))


def _check_collisions(keys: tuple[Key, ...]) -> None:
    does = defaultdict(list)
    for binding in bound(keys):
        for name in binding.keys.split(","):
            does[name].append(binding.id)
    for name, ids in does.items():
        if len(set(ids)) > 1:
            raise Refused(f"the key {_shown(name)} would do both {' and '.join(ids)}: give one of them another key")


def _flat(table: dict[str, Any], before: str = "") -> Iterator[tuple[str, Any]]:
    """Ids are quoted or not: ``"round.next"`` and ``round.next`` are two ways to write one."""
    for name, value in table.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{before}{name}.")
        else:
            yield f"{before}{name}", value


def _meant(name: str, names: Any) -> str:
    close = difflib.get_close_matches(name, list(names), 1)
    return f" (did you mean {close[0]}?)" if close else ""
