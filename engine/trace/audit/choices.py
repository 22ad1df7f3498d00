"""A4 and A5: a round accepts exactly the drafts that are the base's own choices, and carries its next choice on."""

from engine.records import End, Round
from engine.trace.audit.finding import Finding, Findings, Rules
from engine.trace.audit.setup import Setup


class Choices(Rules):
    """For runs whose rule is "the draft equals the target" (greedy and gumbel); never for rejection sampling.

    Where the sampler is unknown, rounds that used uniform numbers are passed over. Where the stop tokens are unknown,
    a round that accepts too few is only a finding if it is not the one that a stop ended.
    """

    def __init__(self, setup: Setup) -> None:
        self._unsure = setup.sampler is None
        self._stops = setup.stops
        self._max_tokens = setup.max_tokens
        self._emitted = 0
        self._held: Finding | None = None

    def round(self, round_: Round, found: Findings) -> None:
        if self._held is not None:
            self._release(found)
        self._emitted += round_.count if round_.emitted is None else len(round_.emitted)
        drafts, targets, take = round_.drafts, round_.targets, round_.take
        if targets is None or not 0 <= take < len(targets) or (self._unsure and round_.u is not None):
            return
        if drafts:
            if drafts[:take] != targets[:take]:
                self._accepts_wrong(round_, drafts, targets, found)
            elif (
                take < len(drafts)
                and take < len(targets) - 1
                and drafts[take] == targets[take]
                and not self._was_cut(round_)
            ):
                self._accepts_too_few(round_, drafts[take], found)
        if round_.next is not None and round_.next != targets[take]:
            self._next_is_wrong(round_, targets, found)

    def kept(self, round_: Round, found: Findings) -> None:  # noqa: ARG002
        self._emitted += round_.count

    def end(self, end: End, found: Findings) -> None:
        if self._held is not None and end.reason != "stop":
            self._release(found)
        self._held = None

    def finish(self, found: Findings) -> None:
        if self._held is not None:
            self._release(found)

    def _was_cut(self, round_: Round) -> bool:
        if round_.cut == "stop":
            return True
        if round_.cut == "budget" and self._max_tokens in (None, self._emitted):
            return True
        return bool(self._stops and round_.emitted and round_.emitted[-1] in self._stops)

    def _release(self, found: Findings) -> None:
        if self._held is not None:
            found.put(self._held)
        self._held = None

    def _accepts_wrong(self, round_: Round, drafts: tuple[int, ...], targets: tuple[int, ...], found: Findings) -> None:
        j = next((j for j in range(min(round_.take, len(drafts))) if drafts[j] != targets[j]), None)
        if j is None:
            return
        shifted = j + 1 < len(drafts) and drafts[1 : round_.take] == targets[: round_.take - 1] != ()
        hint = (
            "the drafts match one row too early, so rows and drafts are shifted against each other"
            if shifted
            else "the drafts are counted without being compared, or compared with the wrong row"
        )
        found.add(
            "A4",
            round_.index,
            "drafts",
            drafts[j],
            targets[j],
            f"round {round_.index} accepts draft {j + 1} (token {drafts[j]}) where the base chose {targets[j]}: {hint}",
        )

    def _accepts_too_few(self, round_: Round, token: int, found: Findings) -> None:
        take = round_.take
        finding = Finding(
            "A4",
            round_.index,
            "take",
            take,
            take + 1,
            f"round {round_.index} stops at {take} accepted drafts, but draft {take + 1} (token {token}) is the base's "
            "own choice and no stop or limit cut it: look at the row that the comparison reads",
        )
        if self._stops is None:
            self._held = finding
        else:
            found.put(finding)

    def _next_is_wrong(self, round_: Round, targets: tuple[int, ...], found: Findings) -> None:
        take = round_.take
        if take and round_.next == targets[take - 1]:
            hint = f"that is row {take - 1}'s choice, so the last token will come twice"
        else:
            hint = "the correction is read from the wrong row"
        found.add(
            "A5",
            round_.index,
            "next",
            round_.next,
            targets[take],
            f"round {round_.index} carries token {round_.next} on, but the base's choice on row {take} is "
            f"{targets[take]}: {hint}",
        )
