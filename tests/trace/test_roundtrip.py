"""Whatever records can hold comes back from a trace as it went in."""

import io
from typing import Any

import msgpack
import msgspec
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from engine.records import MOST, AnyRecord, BaseInfo, DrafterInfo, End, Event, Header, Prefill, Round, Window
from engine.trace.decoding import decode, fields, glance_at
from engine.trace.follow import RecordStream
from engine.trace.writer import TraceWriter

ids = st.integers(0, 2**32)
numbers = st.floats(allow_nan=False)
texts = st.text(max_size=20)


def some(strategy: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Or nothing."""
    return st.none() | strategy


def several(strategy: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """A short tuple, or nothing."""
    return st.none() | st.lists(strategy, max_size=6).map(tuple)


candidates = several(st.lists(st.tuples(ids, numbers), max_size=3).map(tuple))
free = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | numbers | texts | st.binary(max_size=9),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=8,
)
maps = st.dictionaries(texts, free, max_size=4)
drafters = st.builds(DrafterInfo, kind=texts, name=texts, block_size=some(ids), taps=several(ids))
headers = st.builds(
    Header,
    version=st.just(1), minor=ids, created=texts, run=maps, device=maps, options=maps, prompt=several(ids),
    base=st.builds(BaseInfo, name=texts, vocab_size=ids, sha256=some(texts)), drafter=some(drafters),
)  # fmt: skip
prefills = st.builds(Prefill, positions=ids, ms=some(numbers), next=some(ids), top=several(st.tuples(ids, numbers)))
windows = st.builds(Window, window=st.lists(ids, max_size=4).map(tuple), mean=some(numbers), off=st.booleans())
rounds = st.builds(
    Round,
    index=ids, form=texts, reason=some(texts), pos=some(ids), t1=some(ids), drafts=several(ids), verified=some(ids),
    targets=several(ids), take=st.integers(0, 300), emitted=several(ids), next=some(ids), draft_p=several(numbers),
    u=several(numbers), top=candidates, draft_top=candidates, n_emitted=some(st.integers(0, MOST)),
    fallback=some(windows), ms=some(st.dictionaries(texts, numbers, max_size=3)), state=some(maps),
)  # fmt: skip
events = st.builds(Event, round=some(ids), level=texts, code=texts, message=texts)
ends = st.builds(End, reason=texts, rounds=some(ids), emitted=some(ids), fell_back_at=some(ids), stats=maps)
records = st.one_of(prefills, rounds, events)


def written(made: list[AnyRecord]) -> bytes:
    """The bytes of a trace of these records."""
    stream = io.BytesIO()
    with TraceWriter(stream, index=False) as writer:
        for record in made:
            writer.write(record)
    return stream.getvalue()


@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(headers, st.lists(records, max_size=5), ends, st.integers(1, 50))
def test_records_come_back_as_they_went_in(header: Header, made: list[AnyRecord], end: End, step: int) -> None:
    data, stream = written([header, *made, end]), RecordStream()
    found = [record for at in range(0, len(data), step) for record in stream.feed(data[at : at + step])]
    assert [record for record in found if not msgspec.structs.asdict(record).get("crc32")] == [header, *made, end]
    assert stream.ended


@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(rounds)
def test_every_way_to_look_at_a_round_agrees(round_: Round) -> None:
    data = msgspec.msgpack.encode(round_)
    glance = glance_at(data)
    assert (glance.type, glance.index, glance.count) == ("round", round_.index, round_.count)
    assert decode(data, 0) == round_
    assert fields(data, 0) == msgpack.unpackb(data, strict_map_key=False)
