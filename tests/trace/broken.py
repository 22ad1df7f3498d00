"""The toy engine with one fault each, as real engines have had them."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from engine.records import AnyRecord, End, Header, Round
from engine.trace.audit import Finding
from tests.trace.clean import VOCAB, Judged, Toy, ToyEngine


class CountsEverything(ToyEngine):
    """Every draft is accepted; nothing is compared."""

    def judge(self, drafts: list[int]) -> Judged:
        judged = super().judge(drafts)
        return judged._replace(take=len(drafts), cut=None)


class FirstUnchecked(ToyEngine):
    """The comparison starts one row late."""

    def judge(self, drafts: list[int]) -> Judged:
        judged = super().judge(drafts)
        take = min(1, len(drafts))
        while take < len(drafts) and drafts[take] == judged.targets[take]:
            take += 1
        return judged._replace(take=take)


class StopInside(ToyEngine):
    """A stop inside the accepted run does not shorten it."""

    def stop(self, drafts: list[int], take: int) -> tuple[int, str | None]:
        return take, None


class Overshoots(ToyEngine):
    """The limit is k, whatever is left."""

    def limit(self) -> int:
        return self.toy.k


class CorrectsFromRowBefore(ToyEngine):
    """The correction is the choice on row take - 1."""

    def judge(self, drafts: list[int]) -> Judged:
        judged = super().judge(drafts)
        return judged._replace(following=judged.targets[max(0, judged.take - 1)])


class PadsDrafts(ToyEngine):
    """From round 5 on nothing is drafted and zeros are verified."""

    def draft(self, limit: int) -> tuple[list[int], list[float]]:
        if self.number < 5:
            return super().draft(limit)
        return [0] * limit, [1.0] * limit


class WrongAfterSome(ToyEngine):
    """The state is right after full and after zero acceptance, and wrong in between."""

    def ease(self) -> float:
        return 0.02 if 0 < self.took < self.offered else super().ease()


class StaleHidden(ToyEngine):
    """A draft starts from the last row of the batch before it, which is right only if everything was accepted."""

    def right(self, place: int) -> bool:
        if place == 0 and self.took < self.offered:
            return self.random.random() < 0.04
        return super().right(place)


class DeadPosition(ToyEngine):
    """The draft at place 3 is always wrong."""

    def right(self, place: int) -> bool:
        return place != 2 and super().right(place)


class ShortWindow(ToyEngine):
    """Past 600 positions the drafts from place 4 on are always wrong."""

    def right(self, place: int) -> bool:
        return not (place >= 3 and len(self.text) > 600) and super().right(place)


class Forgets(ToyEngine):
    """Past 600 positions no draft is right any more."""

    def right(self, place: int) -> bool:
        return len(self.text) <= 600 and super().right(place)


class DrawsFromBase(ToyEngine):
    """After a rejection the next token is drawn from p and not from the residual."""

    def residual(self, p: list[float], q: list[float]) -> list[float]:
        return p


class OneCoin(ToyEngine):
    """One uniform number decides on all drafts of a round."""

    def coins(self, count: int) -> list[float]:
        return [self.random.random()] * count


class PicksAsIfDrawn(ToyEngine):
    """The drafter takes its most likely token and is judged as if it had drawn it."""

    def pick(self, q: list[float]) -> int:
        return q.index(max(q))


class OtherBasis(ToyEngine):
    """The base's probabilities are recorded and compared without the temperature that they are judged with."""

    def recorded_p(self, p: float) -> float:
        return p**2


class Degenerates(ToyEngine):
    """Base and drafter agree on one token from place 30 on."""

    def choose(self, text: Sequence[int]) -> int:
        return VOCAB - 1 if len(text) > 30 else super().choose(text)

    def ease(self) -> float:
        return 1.0 if len(self.text) > 30 else super().ease()


class EarlyVerdict(ToyEngine):
    """The mean is judged before the window is full."""

    def verdict(self, last: list[int]) -> bool:
        return sum(last) < self.toy.below * len(last)


class AtTheBar(ToyEngine):
    """Fires at exactly the bar."""

    def verdict(self, last: list[int]) -> bool:
        return len(last) == self.toy.window and sum(last) <= self.toy.below * len(last)


class Tumbles(ToyEngine):
    """The window is emptied when it is full."""

    def window(self) -> list[int]:
        size = self.toy.window
        return self.recorded[(len(self.recorded) - 1) // size * size :]


class CountsPlainRounds(ToyEngine):
    """Plain rounds go into the window."""

    def counts(self, reason: str | None) -> bool:
        return reason != "stop"


class ForgetsZeroDrafts(ToyEngine):
    """A drafter that returns nothing is not recorded."""

    def counts(self, reason: str | None) -> bool:
        return reason is None


class RecordsTake(ToyEngine):
    """The accepted drafts are recorded instead of the emitted tokens."""

    def record(self, emitted: int) -> None:
        super().record(emitted - 1)


class NeverOff(ToyEngine):
    """The fallback says off and drafting goes on."""

    def is_off(self) -> bool:
        return False


def with_rounds(records: list[AnyRecord], **changes: Mapping[int, object]) -> list[AnyRecord]:
    """The records with some fields of some rounds changed: ``take={3: 0}``."""
    out: list[AnyRecord] = []
    for record in records:
        if isinstance(record, Round):
            here = {field: by_round[record.index] for field, by_round in changes.items() if record.index in by_round}
            record = msgspec.structs.replace(record, **here) if here else record  # noqa: PLW2901
        out.append(record)
    return out


def rounds_of(records: list[AnyRecord]) -> list[Round]:
    """Only the rounds."""
    return [record for record in records if isinstance(record, Round)]


def run(engine: type[ToyEngine], **options: object) -> list[AnyRecord]:
    """A run of that engine."""
    return engine(msgspec.convert(options, Toy)).records()


def first(findings: list[Finding], rule: str) -> Finding:
    """The first finding of a rule."""
    return next(finding for finding in findings if finding.rule == rule)


def partly_accepted(records: list[AnyRecord]) -> int:
    """The first round that accepts some of its drafts and not all."""
    return next(round_.index for round_ in rounds_of(records) if 0 < round_.take < round_.drafted)


def retold(records: list[AnyRecord], **changes: Any) -> list[AnyRecord]:
    """The records with a changed header."""
    return [msgspec.structs.replace(r, **changes) if isinstance(r, Header) else r for r in records]


def ended(records: list[AnyRecord], **changes: Any) -> list[AnyRecord]:
    """The records with a changed end."""
    return [msgspec.structs.replace(r, **changes) if isinstance(r, End) else r for r in records]
