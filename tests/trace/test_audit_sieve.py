"""Values that are looked at while a round is decoded: the same findings as by looking at them afterwards."""

from pathlib import Path
from typing import Any

import msgspec
import pytest

from engine.records import BaseInfo, Header, Round
from engine.trace.audit import audit, report
from engine.trace.audit.setup import Setup
from engine.trace.audit.sieve import Sieve
from engine.trace.audit.values import Sound
from engine.trace.reader import open_trace
from tests.trace import broken
from tests.trace.broken import run
from tests.trace.clean import VOCAB, Toy, ToyEngine, clean_trace
from tests.trace.makes import written

ENGINES = [kind for kind in vars(broken).values() if isinstance(kind, type) and issubclass(kind, ToyEngine)]
ODD = [
    *({key: value} for key in ("t1", "next") for value in (-1, VOCAB, 2**64 - 1)),
    *({key: (1, value)} for key in ("drafts", "targets", "emitted") for value in (-1, VOCAB, 2**63)),
    *(
        {key: (0.5, value)}
        for key in ("draft_p", "target_p", "accept_p")
        for value in (-0.1, -1e-6, 1 + 1e-6, 1.1, float("nan"), float("inf"))
    ),
    *({key: (((1, 2.0), (value, 1.0)),)} for key in ("top", "draft_top") for value in (-1, VOCAB)),
    *({"ms": {"draft": 1.0, "verify": value}} for value in (-1.0, float("nan"), float("inf"), -0.0, 1e300)),
    {"nonfinite": 1},
    {"state": {"kv_len": 3, "digest": b"\x01", "more": [[{"deep": 1}]]}},
]


def same_by_both(path: Path) -> None:
    """The findings of the file are those of its records as anybody decodes them."""
    with open_trace(path) as trace:
        # As text, in which NaN is NaN.
        assert list(map(repr, report(trace).findings)) == list(map(repr, audit(trace.records(), trace.torn)))


@pytest.mark.parametrize("engine", ENGINES, ids=lambda engine: engine.__name__)
def test_a_broken_engine_is_told_the_same(engine: type[ToyEngine], tmp_path: Path) -> None:
    same_by_both(written(tmp_path / "broken.msgpack", run(engine)))


@pytest.mark.parametrize("changes", ODD, ids=str)
def test_an_odd_value_is_told_the_same(changes: dict[str, Any], tmp_path: Path) -> None:
    records = [
        msgspec.structs.replace(record, **changes) if isinstance(record, Round) and record.index == 3 else record
        for record in clean_trace(Toy())
    ]
    same_by_both(written(tmp_path / "odd.msgpack", records))


def test_every_round_of_a_clean_trace_comes_out_sound(tmp_path: Path) -> None:
    records = clean_trace(Toy())
    with open_trace(written(tmp_path / "clean.msgpack", records)) as trace:
        made = list(trace.records(Sieve(Setup.of(trace.header)).decode))
        plain = list(trace.records())
    assert [isinstance(record, Sound) for record in made] == [isinstance(record, Round) for record in plain]
    for sound, record in zip(made, plain, strict=True):
        assert msgspec.to_builtins(sound) == msgspec.to_builtins(record)


@pytest.mark.parametrize("vocab", [0, 2**62 + 1, 2**64 - 1])
def test_a_vocabulary_of_any_size_can_be_looked_at(vocab: int, tmp_path: Path) -> None:
    records = [
        msgspec.structs.replace(record, base=BaseInfo(name="toy", vocab_size=vocab))
        if isinstance(record, Header)
        else record
        for record in clean_trace(Toy())
    ]
    path = written(tmp_path / "vocab.msgpack", records)
    same_by_both(path)
    with open_trace(path) as trace:
        assert report(trace).findings == ()


@pytest.mark.parametrize(
    "changes", [{"take": 2**40}, {"take": -(2**40)}, {"verified": 2**62}, {"index": 2**63}], ids=str
)
def test_a_number_that_no_machine_word_holds_is_a_finding(changes: dict[str, Any], tmp_path: Path) -> None:
    records = [
        msgspec.structs.replace(record, **changes) if isinstance(record, Round) and record.index == 3 else record
        for record in clean_trace(Toy())
    ]
    path = written(tmp_path / "huge.msgpack", records)
    same_by_both(path)
    with open_trace(path) as trace:
        found = {finding.rule for finding in report(trace).findings}
    assert found & {"A1", "A2"}
