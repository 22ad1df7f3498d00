"""Going through a trace: the few keys that are read give the same answers as the whole rounds."""

from pathlib import Path

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings

from engine.conditions import About, BadCondition, Condition
from engine.conditions.fields import FIELDS
from engine.conditions.scan import Scan
from engine.errors import TraceError
from engine.records import RoundSource
from engine.trace.reader import Trace, open_trace
from engine.trace.writer import TraceWriter
from tests.conditions.made import CONDITIONS
from tests.tui.runs import Listed, drafted, finished, live

RECORDINGS = Path(__file__).parents[2] / "recordings"


def slow(source: RoundSource, text: str) -> list[int]:
    condition = Condition(text)
    about = About(source.header, source.prefill, source.piece, audited=condition.audited)
    about.hear(source.events())
    return [i for i in range(len(source)) if condition.met(source.round(i), about)]


def fast(source: RoundSource, text: str, step: int) -> list[int]:
    scan = Scan(source, Condition(text))
    while not scan.complete:
        assert scan.advance(step) == min(step, len(source) - scan.seen + step) or scan.complete
    return list(scan.hits)


@pytest.fixture(scope="module")
def flip() -> Trace:
    return open_trace(RECORDINGS / "flip.msgpack")


@pytest.mark.parametrize("field", FIELDS, ids=lambda field: field.name)
def test_every_name_is_read_from_the_keys_it_needs(flip: Trace, field: object) -> None:
    name = getattr(field, "name", "")
    for text in (f"known {name}", f"{name} > 3", f'{name} contains "e"', name):
        try:
            condition = Condition(text)
        except BadCondition:
            continue
        assert fast(flip, condition.text, 17) == slow(flip, text)


@given(CONDITIONS)
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_condition_is_answered_alike(flip: Trace, text: str) -> None:
    assert fast(flip, text, 50) == slow(flip, text)


def test_hits_are_numbered_and_found_on_both_sides(flip: Trace) -> None:
    scan = Scan(flip, Condition("round % 10 == 5"))
    while scan.advance(7):
        pass
    assert scan.complete
    assert (scan.after(5), scan.before(5), scan.number(25), scan.number(24)) == (15, None, 3, None)
    assert scan.before(6) == 5
    assert scan.after(10**6) is None


def test_rounds_that_come_later_are_looked_at_then() -> None:
    source = live()
    scan = Scan(source, Condition("take == 0"))
    assert scan.advance(10) == 0
    finished(source)
    scan.advance(1000)
    assert list(scan.hits) == slow(source, "take == 0")
    assert len(scan.hits) > 1


def test_a_trace_that_breaks_in_the_middle_gives_the_hits_before_that(tmp_path: Path) -> None:
    path = tmp_path / "broken.msgpack"
    source = Listed([drafted(i, i % 2) for i in range(9)])
    with TraceWriter(path) as writer:
        writer.write(source.header)
        for i in range(9):
            writer.write(source.round(i))
    data = path.read_bytes()
    good = msgspec.msgpack.encode(source.round(6))
    path.write_bytes(data.replace(good, good.replace(b"\xa4take\x00", b"\xa4take\xc2")))
    scan = Scan(open_trace(path), Condition("take == 0"))

    with pytest.raises(TraceError, match="take"):
        scan.advance(100)

    assert (list(scan.hits), scan.seen) == ([0, 2, 4], 6)
