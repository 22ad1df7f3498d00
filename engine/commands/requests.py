"""The options of a run as the parameters of a command: declared once, handed over as one request."""

import functools
import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, get_type_hints

from engine.commands import run_values
from engine.commands.prompts import read_prompt

if TYPE_CHECKING:
    import typer

    from engine.commands import run_options as flag
    from engine.commands.fault_option import Fault
    from engine.request import LiveRequest


def request_of(
    prompt: "flag.Prompt" = None,
    prompt_file: "flag.PromptFile" = None,
    model: "flag.Model" = "bundled",
    model_file: "flag.ModelFile" = None,
    chat: "flag.Chat" = False,
    system: "flag.System" = None,
    drafter: "flag.Drafter" = "auto",
    k: "flag.K" = 3,
    form: "flag.Form" = "one-pass",
    max_tokens: "flag.MaxTokens" = 128,
    tau: "flag.Tau" = 0.0,
    fallback_below: "flag.FallbackBelow" = "0",
    fallback_window: "flag.FallbackWindow" = 3,
    temperature: "flag.Temperature" = 0.0,
    top_k: "flag.TopK" = 0,
    top_p: "flag.TopP" = 1.0,
    sampler: "flag.Sampler" = None,
    seed: "flag.Seed" = 0,
    plain_width: "flag.PlainWidth" = 1,
    stop: "flag.Stop" = None,
    ignore_stops: "flag.IgnoreStops" = False,
    candidates: "flag.Candidates" = 5,
    threads: "flag.Threads" = 1,
    provider: "flag.ProviderName" = "cpu",
    provider_library: "flag.ProviderLibrary" = None,
    no_fallback: "flag.NoFallback" = False,
    widths: "flag.Widths" = None,
    fault: "Fault" = None,
) -> "LiveRequest":
    """What to run.

    Raises:
        Refused: a value is out of its range, or the prompt cannot be read.
    """
    if fault is not None and prompt is None and prompt_file is None:
        from engine.faults.gallery import named  # noqa: PLC0415 (numpy: only for a run)

        prompt = named(fault).shown.prompt
    from engine.options import Options  # noqa: PLC0415 (msgspec: only for a run)
    from engine.request import LiveRequest  # noqa: PLC0415

    bar = run_values.bar_of(fallback_below)
    return LiveRequest(
        prompt=read_prompt(prompt, prompt_file),
        options=Options(
            form=form,
            k=k,
            max_tokens=max_tokens,
            tau=tau,
            fallback_below=bar or 0.0,
            fallback_window=fallback_window,
            temperature=temperature,
            top_k=top_k,
            top_p=top_p,
            sampler=sampler or ("rejection" if temperature > 0 else "greedy"),
            seed=seed,
            plain_width=plain_width,
        ),
        model=run_values.model_of(model, model_file),
        chat=run_values.chat_of(chat, system),
        system=system,
        drafter=drafter,
        stop=tuple(stop or ()),
        ignore_model_stops=ignore_stops,
        auto_bar=bar is None,
        candidates=candidates,
        threads=threads,
        provider=run_values.provider_of(provider, provider_library, no_fallback),
        widths=run_values.widths_of(widths),
        fault=fault,
    )


def given(context: "typer.Context", request: "LiveRequest") -> dict[str, Any]:
    """Of a request only what stood on the command line: for an engine that has options of its own."""
    words = {
        name
        for name in inspect.signature(request_of).parameters
        if getattr(context.get_parameter_source(name), "name", "") == "COMMANDLINE"
    }
    keys = {
        name: name
        for name in (
            "prompt",
            "model",
            "chat",
            "system",
            "drafter",
            "stop",
            "candidates",
            "threads",
            "provider",
            "widths",
            "fault",
        )
    }
    keys |= {
        "prompt_file": "prompt",
        "ignore_stops": "ignore_model_stops",
        "fallback_below": "auto_bar",
        "model_file": "model",
    }
    keys |= {"provider_library": "provider", "no_fallback": "provider"}
    chosen = {keys[name]: getattr(request, keys[name]) for name in words if name in keys}
    options = request.options.as_map()
    changed = {name: options[name] for name in words if name in options}
    if "temperature" in words:
        changed["sampler"] = options["sampler"]
    return {**chosen, "options": changed} if changed else chosen


def takes_request(command: Callable[..., None]) -> Callable[..., None]:
    """The command with the parameters of ``request_of`` in place of its own ``request``, which makes the request."""
    own, run = inspect.signature(command), inspect.signature(request_of)

    @functools.wraps(command)
    def made(**given: Any) -> None:
        values = {name: given.pop(name) for name in run.parameters}
        command(request=functools.partial(request_of, **values), **given)

    rest = [parameter for name, parameter in own.parameters.items() if name != "request"]
    hints = _hints(request_of) | _hints(command)
    named = [
        each.replace(kind=inspect.Parameter.KEYWORD_ONLY, annotation=hints[each.name])
        for each in (*run.parameters.values(), *rest)
    ]
    made.__signature__ = inspect.Signature(named)  # type: ignore[attr-defined]
    made.__annotations__ = {name: hint for name, hint in hints.items() if name != "request"}
    return made


def _hints(function: Callable[..., object]) -> dict[str, Any]:
    """What the parameters are to Typer, which is not loaded where a request is made without a command line."""
    from engine.commands import run_options as flag  # noqa: PLC0415
    from engine.commands.fault_option import Fault  # noqa: PLC0415

    names = {"LiveRequest": Any, "flag": flag, "Fault": Fault}
    return get_type_hints(function, include_extras=True, localns=names)
