"""A condition over rounds, ready to be asked."""

from engine.conditions.about import About
from engine.conditions.closures import question
from engine.conditions.parser import parse
from engine.conditions.tree import fields
from engine.records import Round


class Condition:
    """A condition as it was written, and what it must be given.

    ``names`` are the names in it, ``needs`` the keys of a round record that it reads; ``past`` tells that it must see
    all rounds from the first on, in order; ``audited`` that its ``About`` must run the audit.

    Raises:
        BadCondition: it cannot be read.
    """

    def __init__(self, text: str) -> None:
        tree = parse(text)
        self.text = text.strip()
        used = fields(tree)
        self.names = frozenset(field.name for field in used)
        self.needs = frozenset(key for field in used for key in field.needs)
        self.past = any(field.past for field in used)
        self.audited = any(field.name == "finding" for field in used)
        self.holds = question(tree)
        """Whether it holds for a round of a run, which ``About`` is up to."""

    def met(self, round_: Round, about: About) -> bool:
        """Take the round in, and ask."""
        if self.past:
            about.take(round_)
        return self.holds(round_, about)
