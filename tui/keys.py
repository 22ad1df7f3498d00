"""Every key of the screen, once: bindings, footer, help and the README's table are made of this list."""

from collections.abc import Sequence
from typing import NamedTuple


class Key(NamedTuple):
    """A key: its stable id, the names Textual knows it by, what it is called on the screen, and what it does.

    ``action`` is the screen's action, ``do('feature.method')`` for a feature's, ``label`` one word for the footer,
    ``help`` a sentence, ``group`` a heading of the help; ``rank`` orders the footer (0 is not in it) while paused,
    ``playing`` while rounds run.
    """

    id: str
    keys: tuple[str, ...]
    shown: str
    action: str
    label: str
    help: str
    group: str
    rank: int = 0
    playing: int = 0


MOVE, RUN, LOOK, REST = "Move", "Run", "Look", "Other"

KEYS: tuple[Key, ...] = (
    Key("round.next", ("n", "right"), "n", "forward", "next", "Next round; a live run makes it.", MOVE, 1),
    Key("round.previous", ("p", "left"), "p", "back", "back", "Previous round.", MOVE, 2),
    Key("phase.next", ("s",), "s", "into", "into", "One phase on: draft, verify, accept, commit.", MOVE, 3),
    Key("phase.previous", ("S",), "S", "out", "out", "One phase back.", MOVE),
    Key(
        "event.next",
        ("e",),
        "e",
        "do('events.step', 1)",
        "event",
        "Next event: the flip, all or none accepted, a near-tie, a finding, a slow round, a warning.",
        MOVE,
        6,
    ),
    Key("event.previous", ("E",), "E", "do('events.step', -1)", "event back", "Previous event.", MOVE),
    Key(
        "goto",
        ("g",),
        "g",
        "do('places.go')",
        "go to",
        "Go to 812, tok 5000, t 12.5, 50%, flip, start, end.",
        MOVE,
        8,
    ),
    Key("search", ("slash",), "/", "do('search.ask')", "search", "Look for a text in what the run emitted.", MOVE),
    Key(
        "search.next", ("full_stop",), ".", "do('search.step', 1)", "match", "Next match; esc clears the search.", MOVE
    ),
    Key("search.previous", ("comma",), ",", "do('search.step', -1)", "match back", "Previous match.", MOVE),
    Key("mark", ("m",), "m", "do('bookmarks.set')", "mark", "Mark this round, by a name; kept for this trace.", MOVE),
    Key(
        "mark.go",
        ("apostrophe",),
        "'",
        "do('bookmarks.go')",
        "marks",
        "The marks, to go to one; 2' goes to the 2nd.",
        MOVE,
    ),
    Key(
        "count",
        (),
        "0-9",
        "",
        "count",
        "A count for the key that follows: 25n goes on by 25 rounds, 812g goes to round 812.",
        MOVE,
    ),
    Key("run.play", ("space",), "space", "play", "run", "Run, and pause again.", RUN, 4, 1),
    Key("run.faster", ("plus",), "+", "faster(1)", "faster", "More rounds a second.", RUN, 0, 2),
    Key("run.slower", ("minus",), "-", "faster(-1)", "slower", "Fewer rounds a second.", RUN, 0, 3),
    Key(
        "run.interrupt",
        ("escape",),
        "esc",
        "interrupt",
        "stop",
        "Stop running; drop a count. ctrl+c stops too, twice it leaves.",
        RUN,
        0,
        4,
    ),
    Key("run.on", ("c",), "c", "do('breaks.run', 1)", "run on", "Run on to the next breakpoint, or the end.", RUN, 5),
    Key("run.back", ("C",), "C", "do('breaks.run', -1)", "run back", "Run back to the breakpoint before.", RUN),
    Key(
        "break.set",
        ("b",),
        "b",
        "do('breaks.set')",
        "break",
        "Break here or at a condition; 812b at round 812.",
        RUN,
        7,
    ),
    Key("break.list", ("B",), "B", "do('breaks.list')", "breaks", "The breakpoints: hits, on and off, edit, go.", RUN),
    Key("break.previous", ("f7",), "F7", "do('breaks.walk', -1)", "hit back", "Previous hit of a breakpoint.", RUN),
    Key("break.next", ("f8",), "F8", "do('breaks.walk', 1)", "hit", "Next hit of a breakpoint.", RUN),
    Key("run.options", ("o",), "o", "options", "options", "Other options or drafter from here on: a fork.", RUN),
    Key("whatif", ("w",), "w", "do('whatif.open')", "what if", "What if: another bar and window, typed if again.", RUN),
    Key("whatif.auto", ("a",), "a", "do('whatif.auto')", "break-even", "What if: the bar at the break-even.", RUN),
    Key(
        "whatif.sweep",
        ("v",),
        "v",
        "do('whatif.sweep')",
        "sweep",
        "What if: a map of many bars and windows; enter takes one.",
        RUN,
    ),
    Key(
        "whatif.narrow",
        ("less_than_sign",),
        "<",
        "do('whatif.widen', -1)",
        "narrower",
        "What if: a narrower window; up and down move the bar, enter forks a live run.",
        RUN,
    ),
    Key("whatif.widen", ("greater_than_sign",), ">", "do('whatif.widen', 1)", "wider", "What if: a wider window.", RUN),
    Key("compare", ("equals_sign",), "=", "do('compare.choose')", "compare", "Compare with a trace or a branch.", RUN),
    Key(
        "check",
        ("M",),
        "M",
        "do('checking.ask')",
        "check",
        "Check it against a model: which choices and drafts differ, and which known fault explains it.",
        RUN,
    ),
    Key("branches", ("L",), "L", "do('branches.list')", "branches", "List the branches of a live run, show one.", RUN),
    Key("run.restart", ("R",), "R", "restart", "restart", "Start a lost engine again; end one that hangs.", RUN),
    Key("run.follow", ("f",), "f", "do('following.toggle')", "follow", "Follow a growing trace, or pause.", RUN),
    Key("run.save", ("W",), "W", "do('saving.save')", "save", "Save the rounds of a live run as a trace.", RUN),
    Key(
        "export",
        ("X",),
        "X",
        "do('export.ask')",
        "export",
        "Export the screen, a report, the text, or this round.",
        LOOK,
    ),
    Key("copy", ("y",), "y", "do('export.copy')", "copy", "Copy the focused pane: clipboard, and a file always.", LOOK),
    Key("pane.number", (), "1-6", "", "pane", "Show or focus Text, Round, Fallback, Cost, Rounds, Findings.", LOOK),
    Key("pane.next", ("tab",), "tab", "cycle(1)", "pane", "Next pane.", LOOK),
    Key("pane.previous", ("shift+tab",), "shift+tab", "cycle(-1)", "pane back", "Previous pane.", LOOK),
    Key("pane.zoom", ("z",), "z", "zoom", "zoom", "The focused pane alone, and back.", LOOK),
    Key("pane.up", ("up",), "↑", "scroll(-1)", "up", "Scroll the focused pane.", LOOK),
    Key("pane.down", ("down",), "↓", "scroll(1)", "down", "Scroll the focused pane.", LOOK),
    Key(
        "candidates",
        ("d",),
        "d",
        "do('candidates.open')",
        "candidates",
        "Candidates of both sides: would a wider draft pay?",
        LOOK,
    ),
    Key(
        "enter",
        ("enter",),
        "enter",
        "enter",
        "enter",
        "In Findings: to the chosen one; in a what-if of a live run: fork.",
        LOOK,
    ),
    Key("theme", ("t",), "t", "theme", "theme", "Next theme: dark, light, the terminal's own dark and light.", LOOK),
    Key("open", ("O",), "O", "do('opening.open')", "open", "Open a recording, or a trace opened lately.", REST),
    Key("tour", ("D",), "D", "do('touring.start')", "tour", "A tour of the fallback; from there, of faults.", REST),
    Key("palette", ("colon", "ctrl+p"), ":", "palette", "palette", "Every action, found by its name.", REST),
    Key("about", ("i",), "i", "do('about.open')", "about", "What this is a run of: model, device, options.", REST),
    Key("help", ("question_mark", "f1"), "?", "help", "help", "This page.", REST, 9, 5),
    Key("quit", ("q",), "q", "quit", "quit", "Quit.", REST, 10, 6),
)


class Hint(NamedTuple):
    """A key as a footer shows it, and the action that a click on it starts, if any."""

    shown: str
    label: str
    action: str = ""


class Bound(NamedTuple):
    """A binding: keys as Textual writes them, the action they start, the word for it, and its id."""

    keys: str
    action: str
    label: str
    id: str


def bound(keys: Sequence[Key] = KEYS) -> tuple[Bound, ...]:
    """All bindings; the digits are one each."""
    digits = tuple(Bound(digit, f"digit('{digit}')", "count", f"count.{digit}") for digit in "0123456789")
    others = tuple(Bound(",".join(key.keys), key.action, key.label, key.id) for key in keys if key.keys)
    return digits + others


def footer(
    width: int, *, playing: bool, begun: bool = True, breaks: bool = False, keys: Sequence[Key] = KEYS
) -> tuple[Hint, ...]:
    """The keys of the footer, at most seven and no more than fit into ``width`` cells; help and quit stay longest.

    What would do nothing gives way to what would: back before a second round was ``begun``, on to a breakpoint where
    there are no ``breaks``.
    """
    idle = {"round.previous": begun, "run.on": breaks}
    ranked = sorted(
        (key for key in keys if _rank(key, playing) and idle.get(key.id, True)), key=lambda key: _rank(key, playing)
    )
    keep = [key for key in ranked if key.id in ("help", "quit")]
    for key in ranked:
        if key not in keep and len(keep) < 7 and footer_width([*keep, key]) <= width:
            keep.append(key)
    hints = sorted(keep, key=lambda key: _rank(key, playing))
    labels = {"run.play": "pause"} if playing else {}
    return tuple(Hint(key.shown, labels.get(key.id, key.label), key.action) for key in hints)


def waiting_footer(can_end: bool, keys: Sequence[Key] = KEYS) -> tuple[Hint, ...]:
    """The keys of the footer while a source is opened, or a fork: nothing else does anything then."""
    wanted = {"run.interrupt": "give up", "theme": "theme", "help": "help", "quit": "quit"}
    found = [key for key in keys if key.id in wanted and (can_end or key.id != "run.interrupt")]
    return tuple(Hint(key.shown, wanted[key.id], key.action) for key in found)


def footer_width(keys: "list[Key] | tuple[Hint, ...]") -> int:
    """The cells that these keys take in the footer, with a cell at each end."""
    return sum(len(key.shown) + len(key.label) + 3 for key in keys)


def hint_at(hints: Sequence[Hint], x: int) -> Hint | None:
    """The key under a cell of the footer."""
    for hint in hints:
        x -= footer_width((hint,))
        if x < 0:
            return hint
    return None


def groups(keys: Sequence[Key] = KEYS) -> dict[str, list[Key]]:
    """The keys under their headings, in order."""
    result: dict[str, list[Key]] = {}
    for key in keys:
        result.setdefault(key.group, []).append(key)
    return result


def shown(id_: str, keys: Sequence[Key] = KEYS) -> str:
    """How a key is written on the screen."""
    return next(key.shown for key in keys if key.id == id_)


def ascii_of(text: str) -> str:
    """A key, or what is said of it, in ASCII."""
    for sign, word in (("↑", "up"), ("↓", "down"), ("←", "left"), ("→", "right"), ("·", ",")):
        text = text.replace(sign, word)
    return text


def markdown() -> str:
    """The table of the README."""
    rows = [f"| {' '.join(f'`{name}`' for name in key.shown.split(' '))} | {key.help} |" for key in KEYS]
    return "\n".join(("| Key | |", "|---|---|", *rows))


def _rank(key: Key, playing: bool) -> int:
    return key.playing if playing else key.rank
