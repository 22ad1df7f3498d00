"""One sentence on what a phase of a round did, for someone who sees the first round of their life."""

from engine.records import Round, RoundSource
from tui.lines import shorten
from tui.marks import Marks
from tui.moment import Phase
from tui.text import safe, token_text

_QUOTED = 40
"""Cells of a token in a sentence at most."""
_REASONS = {
    "stop": "the carried token is a stop token, nothing may follow it",
    "fallback": "drafting was given up (see Fallback)",
    "no-drafter": "the run has no drafter",
    "budget": "one token is left to emit, no room for a draft",
    "zero-draft": "the drafter ran and proposed nothing",
    "cooldown": "drafting pauses before it is tried again",
}


def story(source: RoundSource, round_: Round, phase: Phase, marks: Marks) -> str:
    """What happened in ``phase``; after the commit, what came of the whole round."""
    if round_.drafted:
        return _drafted(source, round_, phase, marks)
    given = quoted(source, round_.t1, marks)
    match phase:
        case Phase.DRAFT:
            return f"The drafter was asked what follows {given} and proposes nothing."
        case Phase.VERIFY:
            return f"The base takes one plain step over {given}."
        case _:
            why = _REASONS.get(round_.reason or "", f"reason {safe(round_.reason or 'unknown', marks)}")
            return f"A plain round, one token: {why}."


def named(source: RoundSource, token: int | None, marks: Marks) -> str:
    """A token in a table."""
    return "?" if token is None else token_text(token, source.piece(token), marks)


def quoted(source: RoundSource, token: int | None, marks: Marks) -> str:
    """A token in a sentence."""
    if token is None:
        return "a token"
    text = shorten(named(source, token, marks), _QUOTED, marks)
    return text if marks.plain_text else f'"{text}"'


def tokens(count: int) -> str:
    """``1 token``, ``2 tokens``."""
    return f"{count} token{'' if count == 1 else 's'}"


def _drafted(source: RoundSource, round_: Round, phase: Phase, marks: Marks) -> str:
    given, count = quoted(source, round_.t1, marks), round_.drafted
    match phase:
        case Phase.DRAFT:
            return f"The drafter proposes {tokens(count)} to follow {given}, which is already decided."
        case Phase.VERIFY if round_.form == "two-pass":
            return (
                f"The base steps over {given}, runs {tokens(round_.in_batch)} in one batch, and chooses at every row."
            )
        case Phase.VERIFY:
            return f"The base runs {given} and {tokens(round_.in_batch)} in one batch, and chooses at every row."
        case Phase.ACCEPT:
            return f"{_verdict(source, round_, marks)}."
        case Phase.COMMIT:
            return f"{_verdict(source, round_, marks)}: {tokens(round_.count)} out of one pass."


def _verdict(source: RoundSource, round_: Round, marks: Marks) -> str:
    take, count = round_.take, round_.drafted
    if round_.cut == "stop":
        return f"{take} of {count} drafts accepted, the last is a stop token and ends the run"
    if take == count:
        return f"All {count} drafts accepted" if count > 1 else "The draft is accepted"
    share = f"{take} of {count} drafts accepted" if take else f"No draft of {count} accepted"
    if take >= round_.in_batch:
        return f"{share}, the others were not in the batch"
    if round_.drafts and round_.targets and take < len(round_.targets):
        chosen = quoted(source, round_.targets[take], marks)
        drafted = quoted(source, round_.drafts[take], marks)
        return f"{share}, then the base chose {chosen} over {drafted}"
    return share
