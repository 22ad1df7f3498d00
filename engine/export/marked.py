"""A run's text for a page: every token with a mark and a class for how it came, all of it escaped."""

from collections.abc import Iterator
from html import escape

from engine.export.visible import Joiner, visible
from engine.records import Round, Verdict
from engine.trace.reader import Trace

LEGEND = (
    ("c", "→", "carried: the base's choice in the round before"),
    ("a", "✓", "accepted draft"),
    ("p", "▸", "plain step"),
    ("r", "✗", "rejected draft"),
    ("u", "·", "draft not judged"),
    ("u", "◦", "draft not verified"),
)
_TRIES = {Verdict.REJECTED: ("r", "✗"), Verdict.UNJUDGED: ("u", "·"), Verdict.UNVERIFIED: ("u", "◦")}


def marked(trace: Trace, rounds: int) -> Iterator[str]:
    """The prompt and the first ``rounds`` rounds as HTML."""
    joiner = Joiner()
    prompt = "".join(joiner.feed(token, trace.piece(token)) for token in trace.header.prompt or ())
    if prompt or joiner.held:
        yield f'<span class="prompt">{escape(visible(prompt))}</span>'
    for index in range(rounds):
        yield _round(trace, trace.round(index), joiner)
    rest = joiner.rest()
    if rest:
        yield escape(rest)


def _round(trace: Trace, round_: Round, joiner: Joiner) -> str:
    first = ("p", "▸") if round_.form == "plain" else ("c", "→")
    parts = []
    for j, token in enumerate(round_.emitted or ()):
        kind, mark = first if j == 0 else ("a", "✓")
        where = f"round {round_.index}, token {token}"
        parts.append(_span(kind, mark, joiner.feed(token, trace.piece(token)), where))
    ahead = Joiner(joiner.held)
    tries = [
        _span(*_TRIES[verdict], ahead.feed(token, trace.piece(token)) or ahead.rest(), f"draft {j + 1}, token {token}")
        for j, (token, verdict) in enumerate(zip(round_.drafts or (), round_.verdicts, strict=False))
        if verdict is not Verdict.ACCEPTED
    ]
    return "".join(parts) + (f'<span class="tries">{"".join(tries)}</span>' if tries else "")


def _span(kind: str, mark: str, text: str, where: str) -> str:
    return f'<span class="{kind}" title="{escape(where)}"><i class="m">{mark}</i>{escape(visible(text))}</span>'
