"""What an audit had to look at: a rule without its keys finds nothing, and a misspelt key is no key."""

from pathlib import Path
from typing import Any

import msgpack

from engine.trace.audit import Coverage
from tests.cli.commands import recorded, specstep

HEADER: dict[str, Any] = {"type": "header", "format": "specstep", "version": 1, "minor": 0, "base": {"name": "mine"}}
PREFILL = {"type": "prefill", "positions": 3}
END = {"type": "end", "reason": "max_tokens"}


def drafted(index: int, **more: Any) -> dict[str, Any]:
    return {"type": "round", "index": index, "form": "one-pass", "drafts": [4, 5], **more}


def counted(*rounds: dict[str, Any], **header: Any) -> dict[str, tuple[int, int]]:
    coverage = Coverage([HEADER | header, PREFILL, *rounds, END])
    return {each.key: (each.recorded, each.of) for each in coverage.covered()}


def test_keys_are_counted_among_the_rounds_that_may_have_them() -> None:
    plain = {"type": "round", "index": 2, "form": "plain", "t1": 3, "ms": {"step": 1.0}}
    keys = counted(drafted(0, t1=1, ms={"draft": 1.0}), drafted(1, t1=2), plain, options={"k": 3})
    assert (keys["round.t1"], keys["round.ms.draft"], keys["round.gap"]) == ((3, 3), (1, 2), (0, 3))
    assert (keys["header.options.k"], keys["header.options.max_tokens"]) == ((1, 1), (0, 1))


def test_what_a_run_has_no_use_for_is_not_missing() -> None:
    assert (
        not {"round.fallback", "round.u", "round.limit"}
        & counted({"type": "round", "index": 0, "form": "plain"}).keys()
    )
    keys = counted(drafted(0), options={"fallback_below": 2.0, "temperature": 0.7})
    assert keys["round.fallback"] == keys["round.u"] == keys["end.fell_back_at"] == (0, 1)


def test_what_the_format_does_not_have_is_named_and_free_maps_are_free() -> None:
    rounds = [drafted(i, target=[1], state={"mine": 1}, reason="no drafter") for i in range(3)]
    more = {"options": {"mine": 1}, "run": {"ticket": 2}, "base": {"name": "mine", "vocab": 9}}
    coverage = Coverage([HEADER | more, PREFILL, *rounds, {"type": "weather"}, END])
    assert coverage.unknown == {
        "header.base.vocab": 1,
        "round.target": 3,
        "round.reason = 'no drafter'": 3,
        "a record of type weather": 1,
    }


def test_the_command_says_it_after_the_findings_and_in_json(tmp_path: Path) -> None:
    path = tmp_path / "mine"
    rounds = [drafted(i, **{f"own\x1b{j}": j for j in range(30)}) for i in range(2)]
    path.write_bytes(b"".join(map(msgpack.packb, [HEADER, PREFILL, *rounds, END])))
    said = specstep("audit", "--coverage", path)
    assert said.code == 0
    assert said.out.startswith("no findings in 2 rounds\n\nwhat rules read")
    lines = {line.split()[0]: " ".join(line.split()[1:]) for line in said.out.splitlines() if line}
    assert lines["round.drafts"] == "A2 A3 A4 A13 A17 in 2 of 2 rounds"
    assert lines["round.targets"] == "A2 A4 A5 no: nothing to look at"
    assert said.out.count("not of the format: round.own") == 20
    assert said.out.endswith("and 10 more that are not of the format\n")
    assert "\x1b" not in said.out
    assert specstep("audit", "--coverage", "--json", path).json["unknown"]["round.own\x1b7"] == 2


def test_a_trace_of_this_engine_has_nothing_unknown_and_nothing_missing(tmp_path: Path) -> None:
    made = specstep("audit", "--coverage", "--json", recorded(tmp_path / "run.msgpack")).json
    assert made["unknown"] == {}
    assert [each["key"] for each in made["coverage"] if not each["recorded"]] in ([], ["header.device.provider"])


def test_a_torn_trace_is_counted_up_to_there(tmp_path: Path) -> None:
    path = recorded(tmp_path / "run.msgpack")
    path.write_bytes(path.read_bytes()[:2000])
    assert specstep("audit", "--coverage", path).code == 3
