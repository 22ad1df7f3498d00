"""What only a right run beside it can show is found at the round where it first changes anything."""

from pathlib import Path

import msgspec
import pytest

from engine.faults.evidence import evidence, twin_path
from engine.faults.gallery import named
from engine.faults.recording import begin_twin, record
from engine.faults.running import begin_faulty
from engine.trace.reader import Trace
from tests.faults.first_rounds import SEEN_AS_INJECTED
from tests.faults.made import empty
from tests.faults.spies import watched

TOKENS = 60


@pytest.mark.parametrize("name", sorted(SEEN_AS_INJECTED))
def test_it_is_found_where_the_spy_saw_it_bite(name: str, tmp_path: Path) -> None:
    fault = named(name)
    options = msgspec.structs.replace(fault.shown.options, max_tokens=TOKENS)
    request = msgspec.structs.replace(fault.shown, options=options)
    spied, first_bite = watched(fault, request.drafter)
    path, twin = tmp_path / f"{name}.msgpack", twin_path(fault, tmp_path)
    assert twin is not None
    record(begin_faulty(spied, empty(request.model), request), path)
    record(begin_twin(fault, empty(request.model), request), twin)
    with Trace(path) as trace:
        expected = first_bite([trace.round(index) for index in range(len(trace))])
    assert evidence(fault, tmp_path).round == expected
