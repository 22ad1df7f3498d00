"""``--fault``: a fault by its name, whose own options are the defaults of the run that it is put into."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from engine.request import LiveRequest


def defaults(context: typer.Context, name: str | None) -> str | None:
    """Make the run that a fault is shown on the default of every option that is not given.

    Raises:
        Refused: there is no fault of that name.
    """
    if name is not None and not context.resilient_parsing:
        from engine.faults.gallery import named  # noqa: PLC0415 (numpy: only for a fault)

        context.default_map = {**(context.default_map or {}), **_parameters(named(name).shown)}
    return name


def _parameters(request: "LiveRequest") -> dict[str, Any]:
    """A request as the parameters of a command. The prompt, which has two, is left to the command."""
    options = request.options.as_map()
    stops = [*map(str, options.pop("stop_tokens")), *request.stop]
    own = {"model": request.model, "drafter": request.drafter, "candidates": request.candidates}
    bar = str(options.pop("fallback_below"))
    return {**options, **own, "fallback_below": bar, "stop": stops, "ignore_stops": request.ignore_model_stops}


Fault = Annotated[
    str | None,
    typer.Option(
        "--fault",
        metavar="NAME",
        is_eager=True,
        callback=defaults,
        help="Inject this fault into the run, whose options then are those that show it; specstep faults lists them.",
        show_default=False,
    ),
]
