"""One task of a ``llama-server`` log: its accept lines become rounds, with the unlogged steps between them."""

from typing import Any, NamedTuple

from engine.records import DrafterInfo, Event, Round
from engine.trace.importers.request import Request, Totals, drafted, note, plain

_FAR = 4096
"""A jump of the position beyond this is no run of plain steps: the context was shifted or filled anew."""


class Accept(NamedTuple):
    """An accept line: drafts accepted and drafted (0: not logged), positions held after it, a restore, its seconds."""

    take: int
    n: int
    held: int | None
    restored: bool
    seconds: float | None


class Task:
    """Collects what the lines of one task say."""

    def __init__(self) -> None:
        self.accepted: int | None = None
        self.drafted: int | None = None
        self.emitted: int | None = None
        self.prompt_tokens: int | None = None
        self.prompt_ms: float | None = None
        self.eval_ms: float | None = None
        self.began: float | None = None
        self.reason = "unknown"
        self.reported: dict[str, Any] = {}
        self._accepts: list[Accept] = []

    def accept(self, line: Accept) -> None:
        """Take in a line; one round may be logged twice, first without its position."""
        last = self._accepts[-1] if self._accepts else None
        if last is not None and line.held is not None and last[:4] == (line.take, line.n, None, False):
            self._accepts[-1] = line
        else:
            self._accepts.append(line)

    def request(self, name: str, kind: str | None) -> Request | None:
        """The task as a request; ``None`` if its lines say nothing of speculation."""
        if not self._accepts and self.drafted is None:
            return None
        reported = dict(self.reported)
        if self.eval_ms is not None:
            reported["eval_ms"] = self.eval_ms
        request = Request(
            name,
            reported=reported,
            base="llama-server",
            drafter=DrafterInfo(kind=kind or "unknown", name=kind or "llama-server"),
            prompt_tokens=self.prompt_tokens,
            ttft_ms=self.prompt_ms,
            reason=self.reason,
        )
        if not self._accepts:
            return request._replace(totals=Totals(drafted=self.drafted, accepted=self.accepted, emitted=self.emitted))
        rounds, notes = self._rounds()
        return request._replace(rounds=rounds, notes=notes)

    def _rounds(self) -> tuple[tuple[Round, ...], tuple[Event, ...]]:
        made: list[Round] = []
        notes: list[Event] = []
        held, seconds = self.prompt_tokens, self.began
        replays = unlogged = 0
        restored: Accept | None = None
        for line in self._accepts:
            if line.restored:
                restored = line
                continue
            rounds = self._replayed(restored, line)
            replays += len(rounds) == 2
            restored = None
            emitted = sum(round_.count for round_ in rounds)
            gap = 0 if held is None or line.held is None else line.held - held - emitted
            if not 0 <= gap <= _FAR:
                what = f"round {len(made)}: the position moves from {held} to {line.held}, the round emits {emitted}"
                notes.append(note("import.position", f"{what}; the context was shifted or filled anew", "warning"))
                gap, held = 0, None
            rounds = [plain()] * gap + rounds
            unlogged += gap
            if len(rounds) == 1 and seconds is not None and line.seconds is not None and line.seconds >= seconds:
                rounds = [_timed(rounds[0], (line.seconds - seconds) * 1000)]
            made += _placed(rounds, line.held)
            held, seconds = line.held if line.held is not None else None, line.seconds
        notes += self._remarks(replays, unlogged)
        return tuple(made), tuple(notes)

    def _replayed(self, restored: Accept | None, line: Accept) -> list[Round]:
        """A round, or one whose kept drafts and correction were verified a second time: that is a plain step more."""
        if restored is not None and line.take == line.n == restored.take + 1:
            return [drafted(restored.n or None, restored.take), plain()]
        return [drafted(line.n or None, line.take)]

    def _remarks(self, replays: int, unlogged: int) -> list[Event]:
        remarks = []
        if any(line.n == 0 for line in self._accepts):
            message = (
                "this build logs 0 for the number of drafts (ggml-org/llama.cpp pull request 18211): tokens a round "
                "are right, acceptance rates cannot be known"
            )
            remarks.append(note("import.drafts-unknown", message, "warning"))
        if replays:
            message = (
                f"{replays} rounds were restored from a checkpoint and their kept drafts verified again: each stands "
                "here as the round of its drafts and a plain step"
            )
            remarks.append(note("import.replayed", message))
        if unlogged:
            message = f"{unlogged} steps without drafts have no line of their own: they follow from the positions"
            remarks.append(note("import.plain-steps", message))
        takes = sum(line.take for line in self._accepts if not line.restored) - replays
        if self.accepted is not None and self.accepted != takes:
            message = f"the request's own line counts {self.accepted} accepted drafts, its rounds {takes}"
            remarks.append(note("import.disagrees", message, "warning"))
        return remarks


def _timed(round_: Round, ms: float) -> Round:
    return drafted(round_.n_drafts, round_.take, {"other": ms})


def _placed(rounds: list[Round], held: int | None) -> list[Round]:
    """The rounds with their positions, counted back from what the base holds after the last."""
    placed: list[Round] = []
    for round_ in reversed(rounds):
        if held is None:
            placed.append(round_)
            continue
        before = held - round_.count
        placed.append(
            drafted(round_.n_drafts, round_.take, round_.ms, pos=before, consumed=held)
            if round_.form != "plain"
            else plain(round_.ms, pos=before, consumed=held)
        )
        held = before
    return placed[::-1]
