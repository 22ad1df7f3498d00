"""All that holding a recorded run against models came to, as one value."""

import dataclasses
import re
from collections.abc import Callable, Iterator, Sequence

from engine.check.held import Explained, Held, Report
from engine.check.suspects import SUSPECTS, Suspect
from engine.check.walk import Walk
from engine.compare.divergence import TIED
from engine.errors import EngineFault, Refused
from engine.opening import Models
from engine.options import Options
from engine.records import RoundSource
from engine.stages import stage

AUTO, NONE = "auto", "none"
BEHIND = 32
"""Rounds behind the first difference that suspects are tried on, together with those before it."""
_LOOKUP = re.compile(r"lookup-(\d+)-(\d+)-(\w+?)(?:-adapt-([\d.e-]+))?")

_TOLD_MORE = ("scripted", "synthetic", "draft-model")
"""Kinds of drafters that need more to be told than a trace says."""

_SAMPLING = ("temperature", "top_k", "top_p", "sampler", "seed")
"""Options of the trace that decide what is chosen on a row."""

Walked = Callable[[Suspect | None, int, Callable[[int], None]], Held]
"""Walks over so many rounds with the fault of a suspect in the models, and tells how many are done."""


def check(
    source: RoundSource,
    models: Models,
    drafter: str = AUTO,
    tie: float = TIED,
    suspects: Sequence[Suspect] = SUSPECTS,
) -> Report:
    """Hold a run against models and, where they differ, look for a known fault that makes them alike.

    ``drafter`` is the name of one, "none" to compare no drafts, "auto" for the models' own of the trace's kind.

    Raises:
        Refused: the trace does not say what has to be run, or another model made it.
        ModelError: there is no such drafter, or it cannot be loaded.
    """
    options = Options.from_map({key: source.header.options.get(key) for key in _SAMPLING})
    spec = _spec(source, models) if drafter == AUTO else drafter
    opened = models.drafter(spec, source.header.prompt or (), options)

    def own(*_: object) -> object:
        if opened is not None:
            opened.rollback(0)
        return opened

    right = dataclasses.replace(models, drafter=own)  # type: ignore[arg-type]

    def walked(suspect: Suspect | None, rounds: int, told: Callable[[int], None]) -> Held:
        models.base.rollback(0)
        with_it = right if suspect is None else suspect.models(right)
        return Walk(source, with_it.base, with_it.drafter(spec), options, tie).run(rounds, told)

    held = walked(None, len(source), stage("holding the rounds against the model", len(source)))
    return Report(
        model=models.base.info.name,
        drafter=None if opened is None else opened.info.name,
        rounds=len(source),
        tie=tie,
        held=held,
        faults=_explained(held, walked, suspects),
        doubts=tuple(_doubts(source, models, held, unasked=drafter == AUTO and spec == NONE)),
    )


def _explained(held: Held, walked: Walked, suspects: Sequence[Suspect]) -> tuple[Explained, ...]:
    """The suspects that make most tokens alike, if they make alike at least half of what is not so without them."""
    if not held.differing:
        return ()
    where = [each.round or 0 for tally in (held.choices, held.drafts) for each in tally.first if not each.tie]
    rounds = min(held.rounds, min(where) + 1 + BEHIND)
    advance = stage("looking for a known fault", (1 + len(suspects)) * rounds)
    without = walked(None, rounds, advance)
    found: list[Explained] = []
    for i, suspect in enumerate(suspects):
        before = (i + 1) * rounds
        try:
            with_it = walked(suspect, rounds, lambda done, before=before: advance(before + done))  # type: ignore[misc]
        except (Refused, EngineFault):
            continue  # these models cannot have it
        compared = with_it.choices.compared + with_it.drafts.compared
        if with_it.equal > without.equal and 2 * (compared - with_it.equal) <= without.differing:
            found.append(
                Explained(
                    name=suspect.name,
                    sentence=suspect.sentence,
                    rounds=rounds,
                    compared=compared,
                    equal=with_it.equal,
                    without=without.equal,
                )
            )
    best = max((each.equal for each in found), default=0)
    return tuple(each for each in found if each.equal == best)


def _spec(source: RoundSource, models: Models) -> str:
    """The name of the models' drafter that is of the trace's kind; "none" where it has none, or none can be told."""
    drafter = source.header.drafter
    if drafter is None:
        return NONE
    if drafter.kind == "lookup" and (found := _LOOKUP.fullmatch(drafter.name)):
        shortest, longest, match, adapt = found.groups()
        return f"lookup:n={longest},min={shortest},match={match},adapt={adapt or 'off'}"
    return drafter.kind if drafter.kind in models.drafters and drafter.kind not in _TOLD_MORE else NONE


def _doubts(source: RoundSource, models: Models, held: Held, *, unasked: bool) -> Iterator[str]:
    header, info = source.header, models.base.info
    if header.base.sha256 and info.sha256 and header.base.sha256 != info.sha256:
        yield f"the trace's base is of other bytes ({header.base.name}, {header.base.sha256[:12]})"
    elif header.base.name != info.name:
        yield f"the trace's base is called {header.base.name}"
    if header.base.vocab_size not in (0, info.vocab_size):
        yield f"the trace's base has {header.base.vocab_size} tokens, this model {info.vocab_size}"
    if unasked and header.drafter is not None:
        yield (
            f"drafts were not compared: the model has no drafter {header.drafter.kind} of its own "
            "(--drafter names another)"
        )
    if not held.judged:
        yield "what the trace chose was drawn at random: its probabilities were compared, not its choices"
