"""The values of a run, as they are shown and as they stand in a trace: one frozen struct per record type.

Field names and meanings are those of the trace format (``recordings/FORMAT.md``). ``None`` means unknown or not
applicable and is not written, but for the three keys whose absence would mean something else (``Header.drafter``,
``Event.round``, ``End.fell_back_at``). Those have a default *factory*, which msgspec never leaves out, and so have the
few other keys that are written even when they hold their default (``format``, ``detail``, ``take``, ``level``).
"""

from enum import StrEnum
from typing import Annotated, Any, Protocol

import msgspec

FORMAT, VERSION, MINOR = "specstep", 1, 0

MOST = 2**16
"""A round of which only counts are known drafts and emits no more tokens than that: to read it costs no more either."""

Candidates = tuple[tuple[tuple[int, float], ...], ...]
"""For each row, (token id, logit) pairs, best first."""


class Verdict(StrEnum):
    """What became of one drafted token."""

    ACCEPTED = "accepted"
    REJECTED = "rejected"
    UNJUDGED = "unjudged"
    UNVERIFIED = "unverified"


class Record(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="type"):
    """Base of all records."""


class BaseInfo(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The target model of a run. A ``vocab_size`` of 0 is unknown (an imported log) and is not written."""

    name: str
    vocab_size: int = 0
    sha256: str | None = None
    layers: int | None = None
    state: str | None = None
    dtype: str | None = None


class DrafterInfo(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The drafter of a run; ``taps`` are 0-based layers, a tap is the output after that layer."""

    kind: str
    name: str
    sha256: str | None = None
    block_size: int | None = None
    mask_token: int | None = None
    taps: tuple[int, ...] | None = None


class Header(Record, frozen=True, kw_only=True, tag="header"):
    """The first record of a trace. ``options`` is a free map; ``engine.options.Options`` reads the known keys."""

    format: str = msgspec.field(default_factory=lambda: FORMAT)
    version: int
    minor: int
    created: str = ""
    writer: dict[str, Any] = {}
    run: dict[str, Any] = {}
    device: dict[str, Any] = {}
    base: BaseInfo
    drafter: DrafterInfo | None = msgspec.field(default_factory=lambda: None)
    options: dict[str, Any] = {}
    prompt: tuple[int, ...] | None = None
    detail: str = msgspec.field(default_factory=lambda: "full")


class Tokens(Record, frozen=True, kw_only=True, tag="tokens"):
    """The bytes that token ids stand for."""

    pieces: dict[int, bytes]


class Prefill(Record, frozen=True, kw_only=True, tag="prefill"):
    """The prompt's pass. ``ms`` is the time to the first token, ``plain_ms`` a plain step measured right after it."""

    positions: int
    batched: bool | None = None
    ms: float | None = None
    next: int | None = None
    gap: float | None = None
    plain_ms: float | None = None
    top: tuple[tuple[int, float], ...] | None = None


class Window(msgspec.Struct, frozen=True, kw_only=True):
    """The fallback rule after a round: the emitted counts of the last recorded rounds, oldest first."""

    window: tuple[int, ...] = ()
    mean: float | None = None
    off: bool = False


class Round(Record, frozen=True, kw_only=True, tag="round"):
    """One round. Sequences over rows have ``verified + 1`` entries, over drafts ``len(drafts)``.

    ``ms`` maps phases (draft, step, verify, accept, rollback, other) to milliseconds. A round of an imported log
    (``detail`` "counts") has ``n_drafts`` and ``n_emitted`` and no token keys.
    """

    index: int
    form: str
    reason: str | None = None
    pos: int | None = None
    t1: int | None = None
    limit: int | None = None
    drafts: tuple[int, ...] | None = None
    verified: int | None = None
    targets: tuple[int, ...] | None = None
    take: int = msgspec.field(default_factory=int)
    emitted: tuple[int, ...] | None = None
    cut: str | None = None
    next: int | None = None
    consumed: int | None = None
    draft_p: tuple[float, ...] | None = None
    target_p: tuple[float, ...] | None = None
    accept_p: tuple[float, ...] | None = None
    gap: tuple[float, ...] | None = None
    u: tuple[float, ...] | None = None
    top: Candidates | None = None
    draft_top: Candidates | None = None
    nonfinite: int | None = None
    width: int | None = None
    n_drafts: Annotated[int, msgspec.Meta(le=MOST)] | None = None
    n_emitted: Annotated[int, msgspec.Meta(le=MOST)] | None = None
    fallback: Window | None = None
    ms: dict[str, float] | None = None
    state: dict[str, Any] | None = None

    @property
    def drafted(self) -> int:
        """How many tokens the drafter proposed."""
        return len(self.drafts) if self.drafts is not None else (self.n_drafts or 0)

    @property
    def in_batch(self) -> int:
        """How many of them were verified."""
        return self.drafted if self.verified is None else self.verified

    @property
    def count(self) -> int:
        """How many tokens the round emitted."""
        if self.emitted is not None:
            return len(self.emitted)
        return self.take + 1 if self.n_emitted is None else self.n_emitted

    @property
    def verdicts(self) -> tuple[Verdict, ...]:
        """One for each drafted token. Behind a stop, and behind the first rejection, nothing was judged."""
        judged = []
        for j in range(self.drafted):
            if j < self.take:
                judged.append(Verdict.ACCEPTED)
            elif j >= self.in_batch:
                judged.append(Verdict.UNVERIFIED)
            elif j == self.take and self.cut != "stop":
                judged.append(Verdict.REJECTED)
            else:
                judged.append(Verdict.UNJUDGED)
        return tuple(judged)


class Event(Record, frozen=True, kw_only=True, tag="event"):
    """Something worth saying; ``level`` is "info", "warning" or "fault"."""

    round: int | None = msgspec.field(default_factory=lambda: None)
    level: str = msgspec.field(default_factory=lambda: "info")
    code: str = ""
    message: str = ""


class Check(Record, frozen=True, kw_only=True, tag="check"):
    """A checksum over the file's bytes since the check before, and the run's state at this point."""

    round: int
    bytes: int
    crc32: int
    tokens: int
    pos: int | None = None
    window: tuple[int, ...] | None = None
    off: bool | None = None
    fell_back_at: int | None = None


class End(Record, frozen=True, kw_only=True, tag="end"):
    """The last record of a run. ``fell_back_at`` counts recorded rounds; ``None`` is a run that never fell back."""

    reason: str
    rounds: int | None = None
    emitted: int | None = None
    fell_back_at: int | None = msgspec.field(default_factory=lambda: None)
    plain_ms: float | None = None
    stats: dict[str, Any] = {}


class Index(Record, frozen=True, kw_only=True, tag="index"):
    """Byte offsets of every ``every``-th round and of ``tokens`` and ``event`` records; ``counts`` is a byte a round.

    ``events_at`` is ``None`` where the writer did not list the events.
    """

    every: int
    offsets: tuple[int, ...] = ()
    counts: bytes = b""
    tokens_at: tuple[int, ...] = ()
    events_at: tuple[int, ...] | None = None


AnyRecord = Header | Tokens | Prefill | Round | Event | Check | End | Index


class RoundSource(Protocol):
    """Where rounds come from: a finished trace, a growing one, or a running engine. The screen knows only this.

    Rounds are numbered from 0 without holes; ``round(i)`` is cheap for any ``i < len(source)``.
    """

    @property
    def header(self) -> Header: ...
    @property
    def prefill(self) -> Prefill | None: ...
    @property
    def end(self) -> End | None: ...
    @property
    def live(self) -> bool: ...
    def __len__(self) -> int: ...
    def round(self, index: int) -> Round: ...
    def events(self) -> tuple[Event, ...]: ...
    def piece(self, token: int) -> bytes | None: ...
