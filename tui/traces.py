"""The traces that can be opened: those that come with specstep, and those that were opened last; and what each is."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import recordings
from engine.errors import SpecstepError
from engine.trace.audit import report
from engine.trace.reader import Trace, open_trace

BUNDLED = Path(recordings.__file__).parent
_AUDITED = 64
"""Rounds up to which a trace is audited only to list it."""


class Entry(NamedTuple):
    """A trace in the list: where it comes from ("recent", "bundled" or "fault"), and its file."""

    kind: str
    path: Path

    @property
    def name(self) -> str:
        """What it is called in the list."""
        return self.path.name if self.kind == "recent" else self.path.name.removesuffix(".msgpack")


class About(NamedTuple):
    """What a trace is; ``says`` is a sentence. ``findings`` is ``None`` where the trace is too long to look."""

    model: str = ""
    rounds: int | None = None
    flip: int | None = None
    findings: int | None = None
    says: str = ""
    broken: bool = False


def entries(recent: Sequence[Path]) -> list[Entry]:
    """All traces of the list, the recent ones that are still there first."""
    found = [Entry("recent", path) for path in recent if path.is_file()]
    found += [Entry("bundled", path) for path in sorted(BUNDLED.glob("*.msgpack"))]
    return found + [Entry("fault", path) for path in sorted((BUNDLED / "faults").glob("*.msgpack"))]


def is_bundled(path: Path) -> bool:
    """Whether a trace comes with specstep."""
    return path.resolve().is_relative_to(BUNDLED.resolve())


def about(path: Path) -> About:
    """Look into a trace. One that cannot be read says why."""
    try:
        with open_trace(path) as trace:
            return _about(trace)
    except SpecstepError as error:
        return About(says=str(error), broken=True)


def _about(trace: Trace) -> About:
    header, end = trace.header, trace.end
    drafter = header.drafter.kind if header.drafter else "no drafter"
    fell = None if end is None else end.fell_back_at
    findings = len(report(trace).findings) if len(trace) <= _AUDITED else None
    flip = None if fell is None else _round_of(trace, fell)
    return About(f"{header.base.name} + {drafter}", len(trace), flip, findings, _says(trace))


def _round_of(trace: Trace, fell: int) -> int:
    """The round that was number ``fell`` of those in the fallback's window."""
    seen = 0
    for index in range(len(trace)):
        round_ = trace.round(index)
        seen += bool(round_.drafted) or round_.reason == "zero-draft"
        if seen == fell:
            return index
    return len(trace) - 1


def _says(trace: Trace) -> str:
    run, options = trace.header.run, trace.header.options
    parts = [f"{options.get('form', '')} k={options.get('k', '?')}".strip()]
    if isinstance(run.get("injected"), str):
        parts.insert(0, run["injected"])
    elif isinstance(run.get("demo"), str):
        parts.insert(0, f"the demo, {run['demo']}")
    if trace.torn is not None:
        parts.append(f"torn at byte {trace.torn.byte}")
    elif trace.end is None:
        parts.append("no end record")
    return "; ".join(parts)
