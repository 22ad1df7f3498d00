"""Where the screen stands: a round, and how far into it."""

import dataclasses
from enum import IntEnum

from engine.records import Round


class Phase(IntEnum):
    """How much of a round has happened. After ``COMMIT`` all of it is known."""

    DRAFT = 0
    VERIFY = 1
    ACCEPT = 2
    COMMIT = 3


@dataclasses.dataclass(frozen=True)
class Moment:
    """A phase of a round. Index -1 is the start, where the prompt is consumed and no round was made."""

    index: int
    phase: Phase = Phase.COMMIT


START = Moment(-1)


def phases_of(round_: Round) -> tuple[Phase, ...]:
    """The phases that a round went through: a plain one drafts nothing and judges nothing."""
    if round_.drafted:
        return tuple(Phase)
    if round_.reason == "zero-draft":
        return (Phase.DRAFT, Phase.VERIFY, Phase.COMMIT)
    return (Phase.VERIFY, Phase.COMMIT)


def phase_name(phase: Phase, round_: Round) -> str:
    """What the phase is called; the single pass of a plain round is a step."""
    return "step" if phase is Phase.VERIFY and not round_.drafted else phase.name.lower()
