"""A loop of another engine, written the way Hugging Face's assisted generation is, records itself by a few calls."""

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from engine.trace.audit import audit
from engine.trace.reader import open_trace
from recordings.exporters import probe
from recordings.exporters.probe import Probe

VOCAB, EOS, PROMPT = 32, 0, [3, 4, 5]
Ids = npt.NDArray[np.int64]


def choice(position: int, token: int) -> int:
    return 1 + (5 * token + 3 * position + token * token) % (VOCAB - 1)


def model(ids: Ids) -> npt.NDArray[np.float32]:
    """Logits for every position of ``ids``, shape (positions, vocabulary)."""
    logits = np.zeros((len(ids), VOCAB), np.float32)
    for position, token in enumerate(ids):
        logits[position, choice(position, int(token))] = 1.0
    return logits


def assistant(ids: Ids, count: int) -> Ids:
    """Candidates after ``ids``; at every fourth position it is wrong."""
    made = list(ids)
    for _ in range(count):
        right = choice(len(made) - 1, int(made[-1]))
        made.append(right if len(made) % 4 else right % (VOCAB - 1) + 1)
    return np.array(made[len(ids) :], np.int64)


def plain_text(count: int) -> list[int]:
    ids = list(PROMPT)
    while len(ids) < len(PROMPT) + count:
        ids.append(choice(len(ids) - 1, ids[-1]))
    return ids[len(PROMPT) :]


def assisted_generation(path: Path, max_new_tokens: int, k: int) -> list[int]:
    """Candidates, one forward pass, the leading matches, the correction: the correction is the next round's ``t1``."""
    record = Probe(str(path))
    base, drafter = {"name": "toy", "vocab_size": VOCAB}, {"kind": "draft-model", "name": "toy assistant"}
    record.begin(PROMPT, base, drafter, form="one-pass", k=k, max_tokens=max_new_tokens, temperature=0.0)
    ids = np.array(PROMPT, np.int64)
    t1 = int(model(ids)[-1].argmax())
    record.prefill(len(ids), t1)
    while len(ids) - len(PROMPT) < max_new_tokens:
        limit = min(k, max_new_tokens - (len(ids) - len(PROMPT)) - 1)
        candidates = assistant(np.append(ids, t1), limit)
        selected = model(np.concatenate((ids, [t1], candidates)))[-limit - 1 :].argmax(axis=-1)
        n_matches = int((~(candidates == selected[:limit])).cumsum().__lt__(1).sum())
        more = {"limit": limit, "cut": "budget"} if 0 < limit < k else {"limit": limit}
        if limit == 0:
            record.round("plain", t1, [], selected.tolist(), 0, reason="budget")
        else:
            record.round("one-pass", t1, candidates.tolist(), selected.tolist(), n_matches, **more)
        ids = np.concatenate((ids, [t1], candidates[:n_matches]))
        t1 = int(selected[n_matches])
    record.event("done", "the budget is used up")
    record.end("max_tokens")
    return [int(token) for token in ids[len(PROMPT) :]]


def test_a_loop_recorded_by_hand_passes_the_audit_and_is_the_text_of_plain_decode(tmp_path: Path) -> None:
    path = tmp_path / "run.msgpack"
    text = assisted_generation(path, max_new_tokens=30, k=3)
    trace = open_trace(path)
    assert audit(trace.records(), trace.torn) == []
    rounds = [trace.round(index) for index in range(len(trace))]
    assert [token for round_ in rounds for token in round_.emitted or ()] == text == plain_text(30)
    assert {round_.take for round_ in rounds} > {0}
    assert trace.end is not None
    assert (trace.end.emitted, trace.events()[0].code) == (30, "done")
    assert path.stat().st_mode & 0o777 == 0o600


def decoded_otherwise(path: Path, max_tokens: int, stop: int) -> list[int]:
    """A loop that counts the correction in the round that decided it, and cuts off what is more than was wanted."""
    record, k = Probe(str(path)), 3
    options = {"k": k, "max_tokens": max_tokens, "stop_tokens": [stop], "temperature": 0.0}
    record.begin(PROMPT, {"name": "toy", "vocab_size": VOCAB}, {"kind": "mtp", "name": "toy head"}, **options)
    held, last = list(PROMPT), choice(len(PROMPT) - 1, PROMPT[-1])
    record.prefill(len(held), last)
    out = [last]
    while len(out) < max_tokens and stop not in out:
        drafts = assistant(np.array([*held, last], np.int64), k).tolist()
        targets = model(np.array([*held, last, *drafts], np.int64))[-k - 1 :].argmax(axis=-1).tolist()
        take = next((j for j in range(k) if drafts[j] != targets[j]), k)
        decided = [*drafts[:take], targets[take]][: max_tokens - len(out)]
        ends = stop in decided
        decided = decided[: decided.index(stop) + 1] if ends else decided
        emitted = [last, *decided[:take]]
        cut = {} if len(decided) >= take else {"cut": "stop" if ends else "budget"}
        record.round("one-pass", last, drafts, targets, take, emitted=emitted, **cut)
        held, out, last = [*held, *emitted], [*out, *decided], targets[take]
    if len(out) > len(held) - len(PROMPT):
        record.round("plain", last, [], [], 0, reason="stop" if last == stop else "budget")
    record.end("stop" if stop in out else "max_tokens")
    return out


def test_a_loop_that_counts_otherwise_is_exported_as_the_format_s_page_says(tmp_path: Path) -> None:
    for max_tokens in range(1, 24):
        for stop in plain_text(24):
            path = tmp_path / "run.msgpack"
            out = decoded_otherwise(path, max_tokens, stop)
            trace = open_trace(path)
            assert audit(trace.records(), trace.torn) == []
            rounds = [trace.round(index) for index in range(len(trace))]
            assert [token for round_ in rounds for token in round_.emitted or ()] == out


def test_arrays_and_their_scalars_are_recorded_as_numbers(tmp_path: Path) -> None:
    one: Any = np.int64
    many: Any = np.array
    record = Probe(str(tmp_path / "run.msgpack"))
    device = {"provider": "npu", "compiled_widths": many([1, 8])}
    record.begin(many([1, 2]).tolist(), {"name": "toy", "vocab_size": one(9)}, None, k=np.int32(3), device=device)
    record.pieces({one(3): b" a"})
    record.prefill(2, one(3), ms=np.float32(3.5))
    record.round("one-pass", one(3), many([4, 5]), many([4, 6, 7]), one(1), gap=np.ones(3, np.float32))
    record.end("aborted", plain_ms=np.float64(1.5))
    trace = open_trace(tmp_path / "run.msgpack")
    assert audit(trace.records(), trace.torn) == []
    assert (trace.header.options, trace.header.device) == ({"k": 3}, {"provider": "npu", "compiled_widths": [1, 8]})
    assert (trace.piece(3), trace.round(0).gap, trace.round(0).emitted) == (b" a", (1.0, 1.0, 1.0), (3, 4))
    assert trace.end is not None
    assert trace.end.plain_ms == 1.5


def test_what_an_engine_says_otherwise_is_kept_and_found(tmp_path: Path) -> None:
    record = Probe(str(tmp_path / "run.msgpack"))
    record.begin([1, 2], {"name": "toy", "vocab_size": 9}, None)
    record.prefill(2, 3)
    record.round("one-pass", 3, [4, 5], [4, 6, 7], 1, consumed=5)
    record.end("aborted")
    trace = open_trace(tmp_path / "run.msgpack")
    assert [finding.rule for finding in audit(trace.records(), trace.torn)] == ["A7"]


def test_it_needs_msgpack_alone() -> None:
    lines = Path(probe.__file__).read_text(encoding="utf-8").splitlines()
    assert [line for line in lines if line.startswith(("import", "from"))] == [
        "import os",
        "from collections.abc import Mapping, Sequence",
        "from typing import Any",
        "import msgpack",
    ]
