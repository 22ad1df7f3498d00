"""A loop of another engine, written the way Hugging Face's assisted generation is, records itself by a few calls."""

from pathlib import Path

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


def test_it_is_small_enough_to_copy() -> None:
    lines = Path(probe.__file__).read_text(encoding="utf-8").splitlines()
    assert len(lines) <= 40
    assert [line for line in lines if line.startswith(("import", "from"))] == [
        "import os",
        "from collections.abc import Sequence",
        "from typing import Any",
        "import msgpack",
    ]
