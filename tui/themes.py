"""The themes, and how a role is drawn in each. The default tells things apart by blue and orange, for all eyes."""

from rich.style import Style
from textual.color import Color
from textual.theme import Theme

from tui.marks import Role
from tui.settings import THEMES

DARK = Theme(
    name="specstep-dark",
    primary="#5eb1ef",
    secondary="#8fa3b8",
    accent="#f2a33c",
    foreground="#d6dde5",
    background="#10151b",
    surface="#161d25",
    panel="#1e2731",
    warning="#f2a33c",
    error="#f2a33c",
    success="#5eb1ef",
    dark=True,
    variables={
        "strong": "#ffffff",
        "quiet": "#8593a3",
        "rule": "#33404d",
        "accept": "#6bbcf7",
        "reject": "#f6a53b",
        "carry": "#f3e9c6",
        "prompt": "#9aa7b5",
        "curve": "#6bbcf7",
        "bar": "#f6a53b",
        "alarm": "#ffcf70",
        "key": "#5eb1ef",
    },
)

LIGHT = Theme(
    name="specstep-light",
    primary="#0b62a8",
    secondary="#4d5b69",
    accent="#a84b00",
    foreground="#1d2630",
    background="#fbfaf6",
    surface="#f1efe8",
    panel="#e6e3da",
    warning="#a84b00",
    error="#a84b00",
    success="#0b62a8",
    dark=False,
    variables={
        "strong": "#000000",
        "quiet": "#65717d",
        "rule": "#c9c5b8",
        "accept": "#0b62a8",
        "reject": "#a84b00",
        "carry": "#4a2f00",
        "prompt": "#5b6873",
        "curve": "#0b62a8",
        "bar": "#a84b00",
        "alarm": "#8a3d00",
        "key": "#0b62a8",
    },
)

_DEFAULT = "ansi_default"


def ansi_variables(*, dark: bool) -> dict[str, str]:
    """What a theme of the terminal's own colours uses: those that can be read on nearly every dark, or light, ground.

    Blue is too dark for the one and yellow too light for the other; bright black is the ground itself in some palettes,
    so what is quiet is the text's own colour, fainter.
    """
    accept, reject, alarm = ("cyan", "yellow", "yellow") if dark else ("blue", "red", "magenta")
    return {
        "strong": _DEFAULT,
        "quiet": _DEFAULT,
        "rule": "ansi_bright_black",
        "accept": f"ansi_{accept}",
        "reject": f"ansi_{reject}",
        "carry": _DEFAULT,
        "prompt": _DEFAULT,
        "curve": f"ansi_{accept}",
        "bar": f"ansi_{reject}",
        "alarm": f"ansi_{alarm}",
        "key": f"ansi_{accept}",
    }


NAMES = THEMES

_ROLES: dict[Role, tuple[str, str]] = {
    Role.TEXT: ("foreground", ""),
    Role.STRONG: ("strong", "bold"),
    Role.DIM: ("quiet", ""),
    Role.RULE: ("rule", ""),
    Role.PROMPT: ("prompt", ""),
    Role.CARRIED: ("carry", "bold"),
    Role.ACCEPTED: ("accept", "bold"),
    Role.HISTORY: ("accept", "underline"),
    Role.REJECTED: ("reject", "bold"),
    Role.STRUCK: ("reject", "strike"),
    Role.UNJUDGED: ("quiet", "italic"),
    Role.PLAIN: ("quiet", "bold"),
    Role.ESCAPE: ("quiet", "reverse"),
    Role.MATCH: ("alarm", "reverse"),
    Role.TIE: ("alarm", "bold"),
    Role.DATA: ("curve", ""),
    Role.BELOW: ("reject", ""),
    Role.BAR: ("bar", ""),
    Role.FLIP: ("reject", "bold"),
    Role.CURSOR: ("strong", "bold reverse"),
    Role.KEY: ("key", "bold"),
    Role.ACTIVE: ("key", "bold reverse"),
    Role.WARNING: ("alarm", "bold"),
    Role.FAULT: ("reject", "bold reverse"),
}


_FAINT = ("quiet", "rule")


def styles(variables: dict[str, str]) -> dict[Role, Style]:
    """The style of each role under a theme's variables."""
    own = variables["quiet"] == _DEFAULT
    result = {}
    for role, (name, attributes) in _ROLES.items():
        faint = own and name in _FAINT
        colour = Color.parse(_DEFAULT if faint else variables[name]).rich_color
        result[role] = Style.parse(attributes) + Style(color=colour, dim=faint or None)
    return result
