"""What a check found, in words, for a terminal and for the screen."""

from collections.abc import Callable

from engine.check.held import Difference, Explained, Tally

Text = Callable[[int], str]
"""From a token to its text as it may be shown; empty where that is not known."""


def said(each: Difference, text: Text) -> str:
    """A difference, its round apart."""
    place = f"row {each.row}" if each.what == "choice" else f"draft {each.row + 1}"
    here = "nothing" if each.here < 0 else f"{each.here} {text(each.here)}".rstrip()
    lead = "" if each.gap is None else f" by {each.gap:.3g}"
    tie = " (a near-tie)" if each.tie else ""
    traced = f"{each.traced} {text(each.traced)}".rstrip()
    return f"{place}, position {each.position}: {traced} in the trace, {here} here{lead}{tie}"


def counted(tally: Tally) -> str:
    """How many are the model's, and what the others are."""
    told = f"{tally.equal} of {tally.compared} are the model's"
    if tally.ties:
        told += f", {tally.ties} {'is a near-tie' if tally.ties == 1 else 'are near-ties'}"
    return told + (f", {tally.differing} {'differs' if tally.differing == 1 else 'differ'}" if tally.differing else "")


def how_far(fault: Explained) -> str:
    """How much a fault explains."""
    how = "all" if fault.equal == fault.compared else "most"
    return (
        f"a known fault explains {how}: with it {fault.equal} of {fault.compared} tokens of the first {fault.rounds} "
        f"rounds are the trace's, without it {fault.without}"
    )
