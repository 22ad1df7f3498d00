"""What a probe found, as text for a person: one table, then the verdict."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from engine.probe.bits import Bits
    from engine.probe.report import Report, Way

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
    "by position %",
    "repeated",
    "fell back",
    "exact",
)


def report_text(report: "Report") -> str:
    """A line for each way, then the verdict."""
    plain = report.plain
    rows = [
        HEAD,
        (
            *("none", "-", "-", "plain", f"{plain.tokens_per_second:.1f}", "1.00", f"{plain.ttft_ms:.2f}"),
            *("-", "-", "-", _figure(plain.repeated_8grams), "-", "-"),
        ),
        *map(_row, report.ways),
    ]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    return "\n".join([_head(report), *lines, *_verdict(report)])


def _head(report: "Report") -> str:
    prompts = ", ".join(f"{text.name} ({text.prompt_tokens} tokens)" for text in report.texts[:3])
    more = f" and {len(report.texts) - 3} more" if len(report.texts) > 3 else ""
    repeats = f", medians of {report.repeat}" if report.repeat > 1 else ""
    return f"{report.base}, {report.sampler}: {report.plain.tokens} tokens decoded after {prompts}{more}{repeats}"


def _row(way: "Way") -> tuple[str, ...]:
    return (
        way.drafter,
        str(way.k),
        way.form,
        way.how,
        f"{way.tokens_per_second:.1f}",
        _figure(way.speedup),
        f"{way.ttft_ms:.2f}",
        _figure(way.tokens_per_round),
        str(way.batches),
        " ".join(f"{100 * rate:.0f}" for rate in way.by_position) or "-",
        _figure(way.repeated_8grams),
        _fell_back(way.fell_back_at),
        "no" if way.difference else "yes",
    )


def _figure(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"


def _fell_back(at: tuple[int | None, ...]) -> str:
    """After how many recorded rounds; of several prompts, on how many of them."""
    fell = [rounds for rounds in at if rounds is not None]
    if not fell:
        return "never"
    return str(fell[0]) if len(at) == 1 else f"{len(fell)} of {len(at)}"


def _verdict(report: "Report") -> list[str]:
    if report.exact:
        return ["exact: every way gave the tokens of plain decode"]
    lines = ["not exact:"]
    for way in report.ways:
        if (found := way.difference) is not None:
            gap = "" if found.gap is None else f", where plain's top-1/top-2 gap is {found.gap:.3g}"
            where = f"{report.texts[found.prompt].name}, " if len(report.texts) > 1 else ""
            lines.append(
                f"  {way.drafter} k={way.k} {way.form} {way.how}: {where}token {found.position} is {found.got}, "
                f"plain decode has {found.expected}{gap}"
            )
    return lines


def bits_text(bits: "Bits") -> str:
    """A line for each seed's text, then the verdict."""
    lines = [
        f"{bits.base}: rows 0..{bits.k} of a verify against steps of width {bits.plain_width}, "
        f"{len(bits.seeds)} texts, {bits.repeats} times each"
    ]
    for seed in bits.seeds:
        found = seed.compared
        again = "" if seed.repeatable else ", not the same when repeated"
        lines.append(
            f"  seed {seed.seed}: {found.identical} of {found.rows} rows bit-identical, maximum difference "
            f"{found.difference:.3g}, {found.flips} argmax flips, smallest top-1/top-2 gap {found.gap:.3g}{again}"
        )
    found = bits.compared
    if found.flips:
        lines.append(f"not exact: {found.flips} of {found.rows} rows choose another token")
    elif bits.identical:
        lines.append("bit-identical: the width of a pass does not matter here")
    else:
        hint = ": --plain-width 2 may make them the same" if bits.plain_width == 1 else ""
        lines.append(f"exact but not bit-identical: a gap under {found.difference:.3g} could flip a choice{hint}")
    return "\n".join(lines)
