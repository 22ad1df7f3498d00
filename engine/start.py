"""What a run is refused for, before anything runs."""

from collections.abc import Sequence

from engine.base.base import Base, Floats
from engine.drafters.drafter import Drafter
from engine.errors import Refused
from engine.figures import finite_rows
from engine.options import Options


def check_prompt(base: Base, drafter: Drafter | None, prompt: Sequence[int]) -> None:
    """Refuse a prompt that cannot be prefilled, or a base or drafter that is not empty."""
    if not prompt:
        raise Refused("the prompt is empty: give at least one token")
    if base.vocab_size < 1:
        raise Refused("the base has no vocabulary")
    for i, token in enumerate(prompt):
        if not 0 <= token < base.vocab_size:
            raise Refused(f"prompt token {i} is {token}, outside the base's vocabulary of {base.vocab_size}")
    if base.consumed:
        raise Refused(f"the base already holds {base.consumed} positions: roll it back before a prefill")
    if drafter is not None and drafter.consumed:
        raise Refused(f"the drafter already holds {drafter.consumed} positions: roll it back before a prefill")


def check_pair(base: Base, drafter: Drafter | None, pos: int, options: Options) -> None:
    """Refuse a base, drafter and options that do not go together, with ``pos`` positions of prompt."""
    if base.vocab_size < 1:
        raise Refused("the base has no vocabulary")
    room = base.context_length
    if room is not None and pos + options.max_tokens > room:
        raise Refused(
            f"{pos} positions of prompt and max_tokens {options.max_tokens} do not fit the base's context of {room}: "
            + (f"ask for at most {room - pos}" if pos < room else "shorten the prompt")
        )
    if drafter is None:
        return
    batch = options.k + (options.form == "one-pass")
    if base.widest is not None and batch > base.widest:
        most = options.k - (batch - base.widest)
        raise Refused(
            f"k is {options.k}, so that a round verifies {batch} rows at once, and the widest pass is {base.widest}: "
            + (f"use k {most} or less, or a wider pass" if most > 0 else "a wider pass is needed")
        )
    vocab = drafter.vocab_size
    if vocab is not None and vocab != base.vocab_size:
        raise Refused(f"the drafter's vocabulary is {vocab}, the base's {base.vocab_size}: they must be the same")
    offered = base.features(0, 0)
    for name in sorted(drafter.needs):
        if getattr(offered, name) is None:
            raise Refused(f"drafter {drafter.info.kind} reads the base's {name}, but this base does not give them")
    if drafter.needs_anchor_row and options.form != "two-pass":
        raise Refused(f"drafter {drafter.info.kind} drafts from the base's row of t1: it needs the two-pass form")


def check_start(base: Base, drafter: Drafter | None, pos: int, logits: Floats, options: Options) -> None:
    """Refuse to start from ``pos`` positions and the row ``logits`` after the last of them."""
    if pos == 0:
        raise Refused("pos is 0: the base must hold a prompt of at least one token")
    if pos != base.consumed:
        raise Refused(f"pos is {pos}, but the base holds {base.consumed} positions")
    check_pair(base, drafter, pos, options)
    if drafter is not None and drafter.consumed > pos:
        raise Refused(f"the drafter holds {drafter.consumed} positions, the base {pos}")
    if logits.shape != (base.vocab_size,):
        raise Refused(f"logits have shape {logits.shape}, expected {(base.vocab_size,)}")
    if not finite_rows(logits[None])[0]:
        raise Refused(
            f"the logits at position {pos - 1} hold no finite choice: NaN or infinity came out of the prefill"
        )
