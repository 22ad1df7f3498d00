"""What of a trace an audit had to look at: how often each key that a rule reads is there, and what no rule knows.

A rule that finds nothing to read finds nothing. A key that is misspelt is kept and ignored, like one of the writer's
own.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from engine.records import AnyRecord, BaseInfo, DrafterInfo

RUN, ROUNDS, DRAFTED = "run", "rounds", "drafted rounds"
_PHASES = ("draft", "step", "verify", "accept", "rollback", "other")
_KEYS = {
    **{str(kind.__struct_config__.tag): kind.__struct_fields__ for kind in AnyRecord.__args__},
    "header.base": BaseInfo.__struct_fields__,
    "header.drafter": DrafterInfo.__struct_fields__,
    "round.ms": _PHASES,
    "round.fallback": ("window", "mean", "off"),
}
_VALUES = {
    "header.detail": ("full", "counts"),
    "round.form": ("one-pass", "two-pass", "plain"),
    "round.reason": ("stop", "fallback", "no-drafter", "budget", "zero-draft", "cooldown"),
    "round.cut": ("stop", "budget"),
    "event.level": ("info", "warning", "fault"),
    "end.reason": ("max_tokens", "stop", "fault", "aborted", "unknown"),
}


class Reads(NamedTuple):
    """A key that rules read, and among what it is counted."""

    key: str
    rules: str
    among: str


class Covered(NamedTuple):
    """A key, the rules that read it, and in how many of how many (of the run, the rounds, the drafted rounds) it is."""

    key: str
    rules: str
    among: str
    recorded: int
    of: int


_ALWAYS = (
    Reads("header.prompt", "A7", RUN),
    Reads("header.base.vocab_size", "A11", RUN),
    Reads("header.options.form", "A16", RUN),
    Reads("header.options.k", "A2", RUN),
    Reads("header.options.max_tokens", "A8", RUN),
    Reads("header.options.stop_tokens", "A8", RUN),
    Reads("header.device.provider", "A16", RUN),
    Reads("prefill.next", "A6", RUN),
    Reads("round.t1", "A3 A6", ROUNDS),
    Reads("round.drafts", "A2 A3 A4 A13 A17", ROUNDS),
    Reads("round.targets", "A2 A4 A5", ROUNDS),
    Reads("round.emitted", "A3 A8 A18", ROUNDS),
    Reads("round.next", "A5 A6", ROUNDS),
    Reads("round.pos", "A7", ROUNDS),
    Reads("round.consumed", "A7", ROUNDS),
    Reads("round.limit", "A2 A8", DRAFTED),
    Reads("round.gap", "A12", ROUNDS),
    Reads("round.ms.draft", "A13", DRAFTED),
    Reads("round.state.kv_len", "A14", ROUNDS),
    Reads("round.state.draft_len", "A14", DRAFTED),
    Reads("end.rounds", "A10", RUN),
    Reads("end.emitted", "A10", RUN),
)
_FALLBACK = (
    Reads("header.options.fallback_window", "A9", RUN),
    Reads("round.fallback", "A9", DRAFTED),
    Reads("end.fell_back_at", "A10", RUN),
)
_SAMPLED = (
    Reads("round.u", "A15", DRAFTED),
    Reads("round.accept_p", "A15", DRAFTED),
    Reads("round.draft_p", "A15", DRAFTED),
)


class Coverage:
    """Counts keys over the records of a trace, as maps in the order of the file.

    ``unknown`` are keys, values and records that the format does not have, and how often each is there.
    """

    def __init__(self, records: Iterable[Mapping[str, Any]]) -> None:
        self._seen: Counter[tuple[str, str]] = Counter()
        self._among: Counter[str] = Counter({RUN: 1})
        self.unknown: Counter[str] = Counter()
        self._options: Mapping[str, Any] = {}
        for record in records:
            self._take(record)

    def covered(self) -> list[Covered]:
        """What the rules read of such a run."""
        options, wanted = self._options, list(_ALWAYS)
        if options.get("fallback_below"):
            wanted += _FALLBACK
        if options.get("sampler") == "rejection" or (options.get("sampler") is None and options.get("temperature")):
            wanted += _SAMPLED
        every = (Covered(*read, self._seen[read.key, read.among], self._among[read.among]) for read in wanted)
        return [covered for covered in every if covered.of]

    def _take(self, record: Mapping[str, Any]) -> None:
        kind = record.get("type")
        if not isinstance(kind, str) or kind not in _KEYS:
            self.unknown[f"a record of type {kind}"] += 1
            return
        places = [RUN]
        if kind == "header" and isinstance(record.get("options"), Mapping):
            self._options = record["options"]
        if kind == "round":
            places = [ROUNDS, *([DRAFTED] if record.get("drafts") or record.get("n_drafts") else [])]
            self._among.update(places)
        self._look(kind, record, places)

    def _look(self, path: str, fields: Mapping[Any, Any], places: list[str]) -> None:
        known = _KEYS.get(path)
        for name, value in fields.items():
            key = f"{path}.{name}"
            if known is not None and name not in known and name != "type":
                self.unknown[key] += 1
            elif key in _VALUES and value is not None and value not in _VALUES[key]:
                self.unknown[f"{key} = {value!r:.60}"] += 1
            if value is not None or key == "end.fell_back_at":
                self._seen.update((key, place) for place in places)
            if isinstance(value, Mapping) and path.count(".") < 1 and key != "tokens.pieces":
                self._look(key, value, places)
