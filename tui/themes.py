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
    },
)

ANSI_VARIABLES = {
    "strong": "ansi_default",
    "quiet": "ansi_bright_black",
    "rule": "ansi_bright_black",
    "accept": "ansi_blue",
    "reject": "ansi_yellow",
    "carry": "ansi_default",
    "prompt": "ansi_default",
    "curve": "ansi_blue",
    "bar": "ansi_yellow",
    "alarm": "ansi_yellow",
}
"""What a theme of the terminal's own colours uses."""

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
    Role.KEY: ("primary", "bold"),
    Role.ACTIVE: ("primary", "bold reverse"),
    Role.WARNING: ("alarm", "bold"),
    Role.FAULT: ("reject", "bold reverse"),
}


def styles(variables: dict[str, str]) -> dict[Role, Style]:
    """The style of each role under a theme's variables."""
    result = {}
    for role, (name, attributes) in _ROLES.items():
        colour = Color.parse(variables[name]).rich_color
        result[role] = Style.parse(attributes) + Style(color=colour) if attributes else Style(color=colour)
    return result
