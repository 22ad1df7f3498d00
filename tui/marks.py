"""The signs that carry meaning on the screen, in Unicode and in ASCII: colour only ever repeats what a sign says."""

import dataclasses
from enum import StrEnum

from engine.records import Verdict


class Role(StrEnum):
    """What a piece of text is. The theme gives a role its colour; the role's own attributes live in ``themes``."""

    TEXT = "text"
    STRONG = "strong"
    DIM = "dim"
    RULE = "rule"
    PROMPT = "prompt"
    CARRIED = "carried"
    ACCEPTED = "accepted"
    HISTORY = "history"
    REJECTED = "rejected"
    STRUCK = "struck"
    UNJUDGED = "unjudged"
    PLAIN = "plain"
    ESCAPE = "escape"
    MATCH = "match"
    TIE = "tie"
    DATA = "data"
    BELOW = "below"
    BAR = "bar"
    FLIP = "flip"
    CURSOR = "cursor"
    KEY = "key"
    ACTIVE = "active"
    WARNING = "warning"
    FAULT = "fault"


@dataclasses.dataclass(frozen=True)
class Marks:
    """One set of signs. Those of verdicts, modes and events are one cell wide; ``heights`` are bars, lowest first."""

    plain_text: bool
    accepted: str
    rejected: str
    unjudged: str
    unverified: str
    carried: str
    plain: str
    finding: str
    stop: str
    tie: str
    flip: str
    asked: str
    cursor: str
    bookmark: str
    space: str
    ellipsis: str
    dash: str
    dot: str
    times: str
    vertical: str
    bar_line: str
    asked_line: str
    axis: str
    corner: str
    block: str
    heights: str
    up: str
    down: str
    opens: str
    closes: str
    to: str

    def of(self, verdict: Verdict) -> str:
        """The sign of a verdict."""
        match verdict:
            case Verdict.ACCEPTED:
                return self.accepted
            case Verdict.REJECTED:
                return self.rejected
            case Verdict.UNJUDGED:
                return self.unjudged
            case Verdict.UNVERIFIED:
                return self.unverified


UNICODE = Marks(
    plain_text=False,
    accepted="✓",
    rejected="✗",
    unjudged="·",
    unverified="◦",
    carried="→",
    plain="▸",
    finding="!",
    stop="●",
    tie="≈",
    flip="▲",
    asked="△",
    cursor="^",
    bookmark="◆",
    space="␣",
    ellipsis="…",
    dash="–",
    dot="·",
    times="×",
    vertical="│",
    bar_line="─",
    asked_line="╌",
    axis="─",
    corner="└",
    block="▇",
    heights="▁▂▃▄▅▆▇█",
    up="↑",
    down="↓",
    opens="‹",
    closes="›",
    to="→",
)

ASCII = Marks(
    plain_text=True,
    accepted="+",
    rejected="x",
    unjudged=".",
    unverified="o",
    carried=">",
    plain="}",
    finding="!",
    stop="@",
    tie="~",
    flip="F",
    asked="f",
    cursor="^",
    bookmark="*",
    space="_",
    ellipsis="~",
    dash="-",
    dot="-",
    times="x",
    vertical="|",
    bar_line="-",
    asked_line="=",
    axis="-",
    corner="+",
    block="#",
    heights=".:|#",
    up="^",
    down="v",
    opens="<",
    closes=">",
    to="->",
)
