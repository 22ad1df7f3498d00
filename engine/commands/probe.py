"""``specstep probe``: is speculation exact here, and does it pay?"""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from engine.commands import progress, run_values
from engine.commands import run_options as flag
from engine.commands.exits import Exit, complain
from engine.commands.json_text import as_lines
from engine.commands.probe_text import bits_text, report_text
from engine.commands.prompts import NamedPrompt, held_out, read_prompt
from engine.errors import Refused
from engine.loads import key_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engine.drafters.drafter import Drafter
    from engine.opening import Models
    from engine.options import Options
    from engine.probe.bits import Bits
    from engine.probe.compare import Candidate
    from engine.probe.report import Report

DOMAIN = "code"

Ks = Annotated[
    str | None,
    typer.Option("--k", envvar="DFLASH2_K", help="Draft lengths to try, as in 3,5,7; by default 3, with --bits 7."),
]
Drafters = Annotated[
    str,
    typer.Option(
        "--drafter", help="Drafters to try, as in mtp,lookup:n=3,draft-model:FOLDER; all: those of the model."
    ),
]
Domain = Annotated[
    str | None, typer.Option("--domain", help="Held-out prompts that come with it: code, docs, prose, story or verse.")
]
Prompts = Annotated[int, typer.Option("--prompts", help="How many prompts of the domain.")]
Repeat = Annotated[
    int, typer.Option("--repeat", min=1, help="Timed decodes of each way and prompt; medians are shown.")
]
Sampler = Annotated[
    str | None, typer.Option("--sampler", help="greedy or gumbel; by default greedy, or gumbel above temperature 0.")
]
Form = Annotated[str, typer.Option("--form", help="one-pass, two-pass or both.")]
CompareBits = Annotated[
    bool, typer.Option("--bits", help="Compare the rows of a verify with those of single steps instead, bit by bit.")
]


def probe(
    prompt: flag.Prompt = None,
    prompt_file: flag.PromptFile = None,
    domain: Domain = None,
    prompts: Prompts = 1,
    model: flag.Model = "bundled",
    model_file: flag.ModelFile = None,
    chat: flag.Chat = False,
    system: flag.System = None,
    drafter: Drafters = "all",
    k: Ks = None,
    form: Form = "both",
    repeat: Repeat = 3,
    bits: CompareBits = False,
    max_tokens: flag.MaxTokens = 128,
    tau: flag.Tau = 0.0,
    fallback_below: flag.FallbackBelow = "0",
    fallback_window: flag.FallbackWindow = 3,
    temperature: flag.Temperature = 0.0,
    top_k: flag.TopK = 0,
    top_p: flag.TopP = 1.0,
    sampler: Sampler = None,
    seed: flag.Seed = 0,
    plain_width: flag.PlainWidth = 1,
    stop: flag.Stop = None,
    ignore_stops: flag.IgnoreStops = False,
    threads: flag.Threads = 1,
    provider: flag.ProviderName = "cpu",
    provider_library: flag.ProviderLibrary = None,
    no_fallback: flag.NoFallback = False,
    widths: flag.Widths = None,
    as_json: flag.Json = False,
) -> None:
    """Decode plainly, with a hand-written speculative loop, and with run and run_from in both forms; compare them.

    Exit 0 only if all gave the same tokens, else 1 and the first difference. With --bits, 1 if a choice flips.
    """
    import msgspec  # noqa: PLC0415 (this and what follows: only for a run)

    from engine.opening import open_models  # noqa: PLC0415
    from engine.options import FORMS, Options  # noqa: PLC0415
    from engine.probe.bits import probe_bits  # noqa: PLC0415
    from engine.probe.compare import Prompt  # noqa: PLC0415
    from engine.probe.compare import probe as decode_in_every_way  # noqa: PLC0415
    from engine.request import Setup  # noqa: PLC0415

    bar = run_values.bar_of(fallback_below)
    if bar is None:
        raise Refused("probe holds its rounds against a number: give --fallback-below a number of tokens a round")
    if form not in (*FORMS, "both"):
        raise Refused(f"--form is {form!r}: use one of {', '.join(FORMS)}, both")
    ks = _numbers(k or ("7" if bits else "3"))
    options = Options(
        k=ks[0],
        max_tokens=max_tokens,
        tau=tau,
        fallback_below=bar,
        fallback_window=fallback_window,
        temperature=temperature,
        top_k=top_k,
        top_p=top_p,
        sampler=sampler or ("gumbel" if temperature > 0 else "greedy"),
        seed=seed,
        plain_width=plain_width,
    )
    texts = _prompts(prompt, prompt_file, domain, prompts)
    place = run_values.provider_of(provider, provider_library, no_fallback)
    run_values.chat_of(chat, system)
    setup = Setup(place, threads, run_values.widths_of(widths), plain_width)
    named = run_values.model_of(model, model_file)
    with progress.shown(key_of(named, place.name, "probe")):
        models = open_models(named, setup)
    stops = {*(() if ignore_stops else models.stop_tokens), *map(models.stop_token, stop or ())}
    options = msgspec.structs.replace(options, stop_tokens=tuple(sorted(stops)))
    found: Bits | Report
    if bits:
        if len(ks) > 1:
            raise Refused(f"--k is {k!r}: --bits compares at one k")
        found = probe_bits(models.base, models.tokens_of(texts[0].text, chat=chat, system=system), options)
        shown = bits_text(found)
    else:
        found = decode_in_every_way(
            models.base,
            [_candidate(models, name, options) for name in _names(drafter, models)],
            [Prompt(name, models.tokens_of(text, chat=chat, system=system)) for name, text in texts],
            options,
            ks,
            forms=FORMS if form == "both" else (form,),
            repeat=repeat,
        )
        shown = report_text(found)
        if found.warning is not None:
            complain(found.warning)
    for event in models.events():
        if event.level != "info":
            complain(event.message)
    typer.echo(as_lines(found) if as_json else shown)
    if not found.exact:
        if plain_width == 1 and models.about.get("quantised"):
            complain("this graph is quantised: --plain-width 2 makes a plain step a row like those of a batch")
        raise typer.Exit(Exit.NO)


def _prompts(text: str | None, path: Path | None, domain: str | None, count: int) -> list[NamedPrompt]:
    if text is None and path is None:
        return held_out(domain or DOMAIN, count)
    if domain is not None or count != 1:
        raise Refused("give a prompt, or a --domain with a number of --prompts, not both")
    return [NamedPrompt(str(path or "prompt"), read_prompt(text, path))]


def _names(text: str, models: "Models") -> tuple[str, ...]:
    """Names between commas; ``key=value`` behind a comma still belongs to the drafter before it."""
    if text == "all":
        return models.drafters
    names: list[str] = []
    for part in text.split(","):
        if names and "=" in part and ":" not in part:
            names[-1] += f",{part}"
        else:
            names.append(part.strip())
    return tuple(names)


def _candidate(models: "Models", name: str, options: "Options") -> "Candidate":
    from engine.probe.compare import Candidate  # noqa: PLC0415

    def opened(prompt: "Sequence[int]") -> "Drafter":
        made = models.drafter(name, prompt, options)
        if made is None:
            raise Refused("probe compares drafters with plain decode: give --drafter a drafter")
        return made

    return Candidate(name, opened)


def _numbers(text: str) -> list[int]:
    try:
        return [int(part) for part in text.split(",")]
    except ValueError as error:
        raise Refused(f"--k is {text!r}: give whole numbers, as in 3,5,7") from error
