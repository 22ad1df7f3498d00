"""``specstep probe``: is speculation exact here, and does it pay?"""

from typing import TYPE_CHECKING, Annotated

import typer

from engine.commands import run_options as flag
from engine.commands.exits import Exit
from engine.commands.json_text import as_lines
from engine.commands.prompts import read_prompt
from engine.errors import Refused

if TYPE_CHECKING:
    from engine.probe import Report

Ks = Annotated[str, typer.Option("--k", envvar="DFLASH2_K", help="Draft lengths to try, as in 3,5,7.")]
Drafters = Annotated[str, typer.Option("--drafter", help="Drafters to try, as in mtp,dflash,lookup.")]


def probe(
    prompt: flag.Prompt = None,
    prompt_file: flag.PromptFile = None,
    model: flag.Model = "bundled",
    drafter: Drafters = "mtp,dflash,lookup",
    k: Ks = "3",
    max_tokens: flag.MaxTokens = 128,
    fallback_below: flag.FallbackBelow = "0",
    fallback_window: flag.FallbackWindow = 3,
    plain_width: flag.PlainWidth = 1,
    stop: flag.Stop = None,
    threads: flag.Threads = 1,
    as_json: flag.Json = False,
) -> None:
    """Decode plainly, with a hand-written speculative loop, and with run and run_from in both forms; compare them.

    Exit 0 only if all gave the same tokens, else 1 and the first difference.
    """
    from engine.opening import open_models  # noqa: PLC0415 (numpy and onnxruntime: only for a run)
    from engine.options import Options  # noqa: PLC0415
    from engine.probe import probe as decode_in_every_way  # noqa: PLC0415

    bar = flag.bar_of(fallback_below)
    if bar is None:
        raise Refused("probe holds its rounds against a number: give --fallback-below a number of tokens a round")
    models = open_models(model, plain_width=plain_width, threads=threads)
    drafters = []
    for name in _split(drafter):
        opened = models.drafter(name)
        if opened is None:
            raise Refused("probe compares drafters with plain decode: give --drafter a drafter")
        drafters.append((name, opened))
    options = Options(
        max_tokens=max_tokens,
        fallback_below=bar,
        fallback_window=fallback_window,
        plain_width=plain_width,
        stop_tokens=tuple(sorted({*models.stop_tokens, *map(models.stop_token, stop or ())})),
    )
    report = decode_in_every_way(
        models.base, drafters, models.encode(read_prompt(prompt, prompt_file)), options, _numbers(k)
    )
    typer.echo(as_lines(report) if as_json else table(report))
    if not report.exact:
        raise typer.Exit(Exit.NO)


HEAD = (
    "drafter",
    "k",
    "form",
    "how",
    "tokens/s",
    "x plain",
    "first ms",
    "tokens/round",
    "batches",
    "fell back",
    "exact",
)


def table(report: "Report") -> str:
    """The report for a person: a line for each way, then the verdict."""
    plain = report.plain
    rows = [
        HEAD,
        ("none", "-", "-", "plain", f"{plain.tokens_per_second:.1f}", "1.00", f"{plain.ttft_ms:.2f}", *"----"),
    ]
    for way in report.ways:
        times = way.tokens_per_second / plain.tokens_per_second if plain.tokens_per_second else 0.0
        rows.append(
            (
                way.drafter,
                str(way.k),
                way.form,
                way.how,
                f"{way.tokens_per_second:.1f}",
                f"{times:.2f}",
                f"{way.ttft_ms:.2f}",
                "-" if way.tokens_per_round is None else f"{way.tokens_per_round:.2f}",
                str(way.batches),
                "never" if way.fell_back_at is None else str(way.fell_back_at),
                "no" if way.difference else "yes",
            )
        )
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    head = f"{report.base}: {report.prompt_tokens} tokens of prompt, {len(plain.tokens)} decoded"
    return "\n".join([head, *lines, *_verdict(report)])


def _verdict(report: "Report") -> list[str]:
    if report.exact:
        return ["exact: every way gave the tokens of plain decode"]
    lines = ["not exact:"]
    for way in report.ways:
        if (found := way.difference) is not None:
            gap = "" if found.gap is None else f", where plain's top-1/top-2 gap is {found.gap:.3g}"
            lines.append(
                f"  {way.drafter} k={way.k} {way.form} {way.how}: token {found.position} is {found.got}, "
                f"plain decode has {found.expected}{gap}"
            )
    return lines


def _split(text: str) -> list[str]:
    """Names between commas; ``key=value`` behind a comma still belongs to the drafter before it."""
    names: list[str] = []
    for part in text.split(","):
        if names and "=" in part and ":" not in part:
            names[-1] += f",{part}"
        else:
            names.append(part.strip())
    return names


def _numbers(text: str) -> list[int]:
    try:
        return [int(part) for part in text.split(",")]
    except ValueError as error:
        raise Refused(f"--k is {text!r}: give whole numbers, as in 3,5,7") from error
