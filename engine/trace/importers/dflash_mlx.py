"""The cycles of dflash-mlx, as ``cycle_events.jsonl`` under its benchmark log directory.

Shape: bstnxbt/dflash-mlx dflash_mlx/engine/events.py (``CycleCompleteEvent``) and dflash_mlx/bench_logger.py: one
object a line with ``block_len`` (which counts the anchor), ``acceptance_len``, ``commit_count`` (the anchor and the
accepted drafts: the same round as here), ``verify_token_count`` and microseconds by phase. Lines of memory diagnostics
stand between them. Cycles are told apart by ``request_id``; without one, a number that starts over begins a request.
"""

from pathlib import Path
from typing import Any

from engine.errors import TraceError
from engine.records import DrafterInfo, Round
from engine.trace.importers.request import Found, Request, count, drafted, mapping, number, plain
from engine.trace.importers.source import Problem, documents

_PHASES = {"draft_us": "draft", "verify_us": "verify", "acceptance_us": "accept", "rollback_us": "rollback"}
_REST = ("hidden_extraction_us", "commit_us", "other_us")


def read(path: Path) -> Found:
    """The requests of a file. Raises ``TraceError`` for a file that holds no JSON."""
    values, problems = documents(path)
    found = Found([], list(problems))
    rounds: dict[str, list[Round]] = {}
    blocks: dict[str, int] = {}
    runs, last = 0, 0
    for line, value in values:
        fields = mapping(value)
        if "cycle" not in fields and "block_len" not in fields:
            continue
        try:
            cycle, block = count(fields, "cycle") or 0, count(fields, "block_len")
            round_ = _round(fields, block)
        except TraceError as error:
            found.problems.append(Problem(line, str(error)))
            continue
        runs, last = runs + (cycle <= last), cycle
        name = str(fields["request_id"]) if "request_id" in fields else f"run {runs + 1}"
        rounds.setdefault(name, []).append(round_)
        blocks[name] = max(blocks.get(name, 1), block or 1)
    for name, made in rounds.items():
        drafter = DrafterInfo(kind="dflash", name="dflash", block_size=blocks[name])
        k = blocks[name] - 1
        found.requests.append(Request(name, tuple(made), k=k or None, base="dflash-mlx", drafter=drafter))
    return found


def _round(fields: dict[str, Any], block: int | None) -> Round:
    take, emitted = count(fields, "acceptance_len"), count(fields, "commit_count")
    if block is None or take is None:
        raise TraceError("a cycle without block_len or acceptance_len")
    if block < 1 or take > block - 1:
        raise TraceError(f"a cycle accepted {take} of a block of {block}, anchor included")
    if emitted is not None and emitted != take + 1:
        raise TraceError(f"commit_count is {emitted} for {take} accepted drafts and the anchor")
    width = count(fields, "verify_token_count")
    if width is not None and not take + 1 <= width <= block:
        raise TraceError(f"verify_token_count is {width} for a block of {block} with {take} accepted")
    ms = {phase: value / 1000 for key, phase in _PHASES.items() if (value := number(fields, key)) is not None}
    rest = [value for key in _REST if (value := number(fields, key)) is not None]
    if rest:
        ms["other"] = sum(rest) / 1000
    if block == 1:
        if "verify" in ms:
            ms["step"] = ms.pop("verify")
        return plain(ms)
    verified = None if width is None or width == block else width - 1
    return drafted(block - 1, take, ms, verified=verified)
