"""``specstep check``: a trace held against a model that runs here."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from engine.check.words import counted, how_far, said
from engine.commands import progress, run_values
from engine.commands import run_options as flag
from engine.commands.exits import Exit, complain
from engine.commands.json_text import as_lines
from engine.commands.reading import TracePath, finish, open_trace
from engine.commands.saying import printable, say
from engine.commands.show import visible
from engine.compare import TIED

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from engine.check.held import Explained, Report, Tally

SHOWN = 12
"""How many differences of a kind are shown to a person."""

Drafter = Annotated[
    str,
    typer.Option("--drafter", help="auto (the model's own of the trace's kind), another by name, or none: no drafts."),
]
Tie = Annotated[
    float, typer.Option("--tie", min=0.0, help="Logits: a lead up to this is a near-tie. Raise it for half precision.")
]


def check(
    trace: TracePath,
    model: flag.Model = "bundled",
    model_file: flag.ModelFile = None,
    drafter: Drafter = "auto",
    tie: Tie = TIED,
    threads: flag.Threads = 1,
    provider: flag.ProviderName = "cpu",
    provider_library: flag.ProviderLibrary = None,
    as_json: flag.Json = False,
) -> None:
    """Hold a trace against a model: does its base choose, and its drafter draft, what they do here?

    The trace's own text is run through the model, so that every row is compared by itself. Where something differs,
    known faults are put into the model, and one that makes it say what the trace says is named. Exit 0 if nothing
    differs by more than a near-tie, 1 if something does, 3 if nothing does as far as an incomplete trace or the model's
    context goes.
    """
    from engine.check.report import check as held_against  # noqa: PLC0415 (this and what follows: only for a run)
    from engine.loads import key_of  # noqa: PLC0415
    from engine.opening import open_models  # noqa: PLC0415
    from engine.request import Setup  # noqa: PLC0415

    place = run_values.provider_of(provider, provider_library, no_fallback=False)
    named = run_values.model_of(model, model_file)
    with open_trace(trace) as source:
        with progress.shown(key_of(named, place.name, "check")):
            models = open_models(named, Setup(place, threads))
            found = held_against(source, models, drafter, tie)
        say(
            as_lines(found)
            if as_json
            else "\n".join(_told(found, lambda token: source.piece(token) or models.piece(token)))
        )
        if not found.holds:
            raise typer.Exit(Exit.NO)
        if found.held.stopped is not None:
            complain(f"{trace}: not all rounds were looked at: {found.held.stopped}")
            raise typer.Exit(Exit.INCOMPLETE)
        finish(source)


def _told(found: "Report", piece: "Callable[[int], bytes | None]") -> Iterator[str]:
    held = found.held
    against = printable(found.model) + (f" with {printable(found.drafter)}" if found.drafter else "")
    yield f"{held.rounds} of {found.rounds} rounds held against {against}"
    for doubt in found.doubts:
        yield f"note: {printable(doubt)}"
    yield ""
    if held.judged:
        yield f"choices  {counted(held.choices)}"
    if found.drafter is not None and held.judged:
        yield f"drafts   {counted(held.drafts)}"
    if numbers := _numbers(found):
        yield f"numbers  {numbers}"
    for tally in (held.choices, held.drafts):
        yield from _differences(tally, piece)
    if found.faults:
        yield from ("", *_explained(found.faults))
    elif held.differing:
        yield from ("", "no known fault makes the model say more of what the trace says")


def _explained(faults: "Sequence[Explained]") -> Iterator[str]:
    yield how_far(faults[0])
    for fault in faults:
        yield f"  {fault.name}: {fault.sentence}"
    if len(faults) > 1:
        yield "  (no token tells them apart)"


def _numbers(found: "Report") -> str:
    held = found.held
    named = (
        ("probabilities of choices", held.choices.apart),
        ("of drafts", held.drafts.apart),
        ("recorded logits", held.logits),
    )
    parts = [f"{name} {apart:.2g}" for name, apart in named if apart is not None]
    return f"apart at most: {', '.join(parts)}" if parts else ""


def _differences(tally: "Tally", piece: "Callable[[int], bytes | None]") -> Iterator[str]:
    if not tally.first:
        return
    yield ""
    for each in tally.first[:SHOWN]:
        where = "prompt" if each.round is None else f"round {each.round}"
        yield f"{where:<10}  {said(each, lambda token: visible(piece(token)))}"
    if (more := tally.differing + tally.ties - min(len(tally.first), SHOWN)) > 0:
        yield f"... and {more} more"
