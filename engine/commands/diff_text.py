"""What ``specstep diff`` tells a person: the verdict, where the texts part and who decided that, what each cost."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from engine.commands.saying import printable
from engine.commands.show import described, visible
from engine.compare import Choice, Report
from engine.compare.words import decided, rows, verdict

if TYPE_CHECKING:
    from engine.trace.reader import Trace

_NAMES = ("A", "B")


def told(found: Report, left: "Trace", right: "Trace", paths: tuple[str, str]) -> str:
    """The report as lines of text; whatever the traces hold, no control character is among them."""
    return "\n".join(
        [
            printable(verdict(found)),
            *(f"{name}  {_clean(path)}" for name, path in zip(_NAMES, paths, strict=True)),
            *(f"note: {printable(doubt)}" for doubt in found.doubts),
            *(f"note: {printable(reason)}" for reason in (found.expected if found.first is None else ())),
            *_parting(found, left, right),
            *_drafts(found, left, right),
            *_costs(found),
            *_settings(found),
        ]
    )


def _parting(found: Report, left: "Trace", right: "Trace") -> Iterator[str]:
    first = found.first
    if first is None:
        return
    yield ""
    yield f"text before  {_joined(found.before, left)}"
    sides = ((first.left, left, found.left_from), (first.right, right, found.right_from))
    for name, (choice, trace, text) in zip(_NAMES, sides, strict=True):
        yield f"{name} goes on    {_joined(text, trace) or '(ended)'}"
        yield f"             {_token(choice, trace)}{printable(decided(choice))}"
    if found.differing:
        yield f"{found.differing} of the {found.common} tokens that both have differ in their place"
    for name, (choice, trace, _) in zip(_NAMES, sides, strict=True):
        if choice.decided_in is not None:
            yield from ("", f"{name}: the round that decided", described(trace.round(choice.decided_in), trace.piece))


def _token(choice: Choice, trace: "Trace") -> str:
    return "" if choice.token is None else f"{choice.token} {visible(trace.piece(choice.token))} decided "


def _drafts(found: Report, left: "Trace", right: "Trace") -> Iterator[str]:
    met = found.draft
    if met is None:
        return
    yield ""
    yield (
        f"behind the same text the drafts first differ at token {met.token}: round {met.left} of A, {met.right} of B "
        f"({found.drafts} such rounds in all)"
    )
    if found.first is None:
        for name, trace, index in (("A", left, met.left), ("B", right, met.right)):
            yield from ("", f"{name}:", described(trace.round(index), trace.piece))


def _costs(found: Report) -> Iterator[str]:
    table = [("", *_NAMES), *rows(found)]
    widths = [max(len(_clean(row[i])) for row in table) for i in range(3)]
    yield ""
    for name, a, b in table:
        yield f"{name:<{widths[0]}}  {_clean(a):>{widths[1]}}  {_clean(b):>{widths[2]}}"


def _settings(found: Report) -> Iterator[str]:
    if found.settings:
        yield from ("", "set otherwise")
        for name, (a, b) in found.settings.items():
            yield f"  {_clean(name)}: {_short(a)} in A, {_short(b)} in B"


def _joined(tokens: tuple[int, ...], trace: "Trace") -> str:
    pieces = [trace.piece(token) for token in tokens]
    if None in pieces:
        return " ".join(map(str, tokens))
    return visible(b"".join(piece or b"" for piece in pieces))


def _short(value: Any) -> str:
    text = _clean(str(value))
    return text if len(text) <= 40 else f"{text[:39]}…"


def _clean(text: str) -> str:
    return visible(text.encode("utf-8", "surrogateescape"))[1:-1]
