"""A trace held against models: a right run holds, a wrong one is found at its rows, and the fault is named."""

import dataclasses
import functools
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from engine.base.base import Base, Rows
from engine.check.held import LISTED, Difference, Report, Tally
from engine.check.report import check
from engine.check.suspects import GALLERY, SUSPECTS
from engine.errors import Refused
from engine.faults.fault import on_code
from engine.faults.gallery import named
from engine.faults.models import with_base
from engine.faults.over import OverBase
from engine.live import begin
from engine.opening import BUNDLED, TOY, Models, open_models
from engine.recorder import Recorder
from engine.records import AnyRecord, Header, Prefill, Round
from engine.request import LiveRequest
from engine.trace.reader import open_trace
from engine.trace.writer import TraceWriter
from tests.cli.commands import ROOT, recorded, specstep

RECORDINGS = ROOT / "recordings"
SUSPECT = {suspect.name: suspect for suspect in SUSPECTS}


@functools.cache
def opened(model: str) -> Models:
    return open_models(model)


def empty(model: str = BUNDLED) -> Models:
    models = opened(model)
    models.base.rollback(0)
    return models


def made(path: Path, request: LiveRequest, models: Models) -> Path:
    """A run that is recorded to its end."""
    recorder = Recorder(begin(models, request), path)
    while recorder.step() is not None:
        pass
    recorder.end()
    return path


def held(path: Path, model: str = BUNDLED, drafter: str = "auto", **options: float) -> Report:
    with open_trace(path) as source:
        return check(source, empty(model), drafter, **options)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["flip", "two-pass", "recovery", "never-accepted", "all-accepted"])
def test_a_right_recording_holds_to_the_last_token(name: str) -> None:
    found = held(RECORDINGS / f"{name}.msgpack")
    assert (found.holds, found.faults, found.doubts) == (True, (), ())
    assert found.held.rounds == found.rounds
    assert found.held.choices.equal == found.held.choices.compared > 0
    assert found.held.drafts.equal == found.held.drafts.compared > 0
    for apart in (found.held.choices.apart, found.held.drafts.apart, found.held.logits):
        assert apart is not None
        assert apart < 1e-3


@pytest.mark.parametrize(
    "drafter", ["dflash", "dflash2", "lookup", "lookup:n=3,min=1,match=earliest,adapt=off", "none"]
)
@pytest.mark.parametrize("sampling", [{}, {"temperature": 0.8, "sampler": "gumbel", "seed": 3}])
def test_every_drafter_and_gumbel_sampling_hold(tmp_path: Path, drafter: str, sampling: dict[str, Any]) -> None:
    path = made(tmp_path / "run.msgpack", on_code(drafter, max_tokens=40, **sampling), empty())
    found = held(path)
    assert found.holds, found.held.drafts.first[:1]
    assert found.held.judged
    assert (found.held.drafts.compared > 0) == (drafter != "none")
    assert found.held.choices.compared >= 40


def test_of_random_draws_the_probabilities_are_compared(tmp_path: Path) -> None:
    request = on_code(max_tokens=30, temperature=1.0, sampler="rejection", seed=5)
    found = held(made(tmp_path / "run.msgpack", request, empty()))
    assert found.holds
    assert not found.held.judged
    assert found.held.choices.compared == 0
    assert found.held.choices.apart is not None
    assert found.held.choices.apart < 1e-3
    assert any("drawn at random" in doubt for doubt in found.doubts)


@pytest.mark.parametrize("fault", [name for name in GALLERY if not name.startswith("recurrent")])
def test_the_fault_of_a_recording_is_named_and_explains_every_token(fault: str) -> None:
    found = held(RECORDINGS / "faults" / f"{fault}.msgpack")
    assert not found.holds
    (explained,) = found.faults
    assert (explained.name, explained.equal) == (fault, explained.compared)
    assert explained.without < explained.equal
    assert explained.sentence == named(fault).sentence


@pytest.mark.parametrize("fault", [name for name in GALLERY if name.startswith("recurrent")])
def test_the_fault_of_a_state_that_cannot_be_cut_is_named(fault: str) -> None:
    request = named(fault).shown
    found = held(RECORDINGS / "faults" / f"{fault}.msgpack", request.model, request.drafter)
    assert fault in [each.name for each in found.faults]
    assert all(each.equal == each.compared for each in found.faults)


@pytest.mark.parametrize(
    ("fault", "drafter"), [("rows-one-late", "mtp"), ("rows-one-late", "dflash"), ("anchor-one-late", "mtp")]
)
def test_a_drafter_that_is_one_off_is_named(tmp_path: Path, fault: str, drafter: str) -> None:
    models = SUSPECT[fault].models(empty())
    found = held(made(tmp_path / "run.msgpack", on_code(drafter, max_tokens=60), models))
    assert found.held.choices.equal == found.held.choices.compared
    assert found.held.drafts.differing > 0
    (explained,) = found.faults
    assert (explained.name, explained.equal) == (fault, explained.compared)


@pytest.mark.parametrize("fault", ["logits-one-late", "drafts-not-seen"])
def test_a_batch_whose_rows_are_wrong_is_named(tmp_path: Path, fault: str) -> None:
    models = SUSPECT[fault].models(empty())
    found = held(made(tmp_path / "run.msgpack", on_code(max_tokens=60), models))
    assert found.held.choices.differing > 0
    assert [each.name for each in found.faults] == [fault]
    assert found.faults[0].equal == found.faults[0].compared


class Leans(OverBase):
    """Adds a number to the logit of one token on every row."""

    def __init__(self, base: Base, token: int, by: float) -> None:
        super().__init__(base)
        self._token, self._by = token, by

    def prefill(self, tokens: Sequence[int]) -> Rows:
        return self._leant(super().prefill(tokens))

    def step(self, token: int) -> Rows:
        return self._leant(super().step(token))

    def verify(self, tokens: Sequence[int]) -> Rows:
        return self._leant(super().verify(tokens))

    def _leant(self, rows: Rows) -> Rows:
        logits = rows.logits.copy()
        logits[:, self._token] += self._by
        return rows._replace(logits=logits)


def test_a_row_that_is_wrong_by_itself_is_found_where_it_is_and_by_how_much(tmp_path: Path) -> None:
    models = with_base(lambda base: Leans(base, 278, 6.0))(empty())
    found = held(made(tmp_path / "run.msgpack", on_code(max_tokens=80), models), drafter="none")
    assert found.held.drafts.compared == 0
    assert found.held.differing
    for each in found.held.choices.first:
        assert each.traced == 278
        assert each.here != 278
        assert each.gap is not None
        assert 0 < each.gap <= 6.0 + 1e-3
    assert found.faults == ()
    with open_trace(tmp_path / "run.msgpack") as source:
        text = [
            *(source.header.prompt or ()),
            *(token for i in range(len(source)) for token in source.round(i).emitted or ()),
        ]
        first = found.held.choices.first[0]
        round_ = source.round(first.round or 0)
        assert round_.targets is not None
        assert round_.targets[first.row] == first.traced
        assert first.position == (round_.pos or 0) + 1 + first.row
        assert first.row > round_.take or text[first.position] == first.traced


def test_a_lead_within_the_tie_is_told_and_no_defect(tmp_path: Path) -> None:
    models = with_base(lambda base: Leans(base, 278, 6.0))(empty())
    path = made(tmp_path / "run.msgpack", on_code(max_tokens=80), models)
    wide = held(path, drafter="none", tie=6.1)
    assert wide.holds
    assert wide.held.choices.ties > 0
    assert wide.held.choices.equal + wide.held.choices.ties == wide.held.choices.compared
    assert not held(path, drafter="none").holds


def test_a_text_that_parted_is_followed_and_not_written_anew(tmp_path: Path) -> None:
    """One wrong choice is one difference: the rows behind it stand behind the traced token."""
    path = RECORDINGS / "faults" / "near-tie.msgpack"
    found = held(path)
    assert [each.what for each in found.held.choices.first] == ["choice"]
    assert found.held.drafts.equal == found.held.drafts.compared


def rewritten(source: Path, target: Path, change: Callable[[AnyRecord], AnyRecord]) -> Path:
    """The trace again, each record as ``change`` makes it."""
    with open_trace(source) as trace, target.open("wb") as file, TraceWriter(file) as writer:
        assert trace.prefill is not None
        assert trace.end is not None
        records: list[AnyRecord] = [
            trace.header,
            trace.prefill,
            *(trace.round(i) for i in range(len(trace))),
            trace.end,
        ]
        for record in records:
            writer.write(change(record))
    return target


def test_a_trace_without_targets_is_judged_by_what_it_emits(tmp_path: Path) -> None:
    def change(record: AnyRecord) -> AnyRecord:
        return msgspec.structs.replace(record, targets=None, target_p=None) if isinstance(record, Round) else record

    found = held(rewritten(RECORDINGS / "two-pass.msgpack", tmp_path / "bare.msgpack", change))
    assert found.holds
    emitted = found.held.choices.compared
    assert emitted < held(RECORDINGS / "two-pass.msgpack").held.choices.compared


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"prompt": None}, "the trace does not hold its prompt"),
        ({"prompt": ()}, "the trace does not hold its prompt"),
        ({"prompt": (1, 10**6)}, "the prompt of the trace has token 1000000, and this model has 2048"),
        ({"detail": "counts"}, "the trace holds counts and no tokens"),
    ],
)
def test_a_trace_that_cannot_be_run_is_refused(tmp_path: Path, changes: dict[str, object], says: str) -> None:
    def change(record: AnyRecord) -> AnyRecord:
        return msgspec.structs.replace(record, **changes) if isinstance(record, Header) else record

    path = rewritten(RECORDINGS / "two-pass.msgpack", tmp_path / "other.msgpack", change)
    with pytest.raises(Refused, match=says):
        held(path)


def test_a_row_of_nan_here_is_a_difference_and_no_noise(recwarn: pytest.WarningsRecorder) -> None:
    models = empty()
    broken = dataclasses.replace(models, base=Leans(models.base, 278, float("nan")))
    with open_trace(RECORDINGS / "two-pass.msgpack") as source:
        found = check(source, broken, "none", suspects=())
    assert found.held.choices.differing > 200
    assert not recwarn.list


def test_options_that_say_nothing_of_sampling_may_be_anything(tmp_path: Path) -> None:
    def change(record: AnyRecord) -> AnyRecord:
        return (
            msgspec.structs.replace(record, options={"k": 0, "form": "mine"}) if isinstance(record, Header) else record
        )

    assert held(rewritten(RECORDINGS / "two-pass.msgpack", tmp_path / "odd.msgpack", change)).holds


def test_a_round_of_strange_tokens_is_refused(tmp_path: Path) -> None:
    def change(record: AnyRecord) -> AnyRecord:
        strange = isinstance(record, Round) and record.index == 3
        return msgspec.structs.replace(record, drafts=(10**6,)) if strange else record

    with pytest.raises(Refused, match="round 3 of the trace has token 1000000"):
        held(rewritten(RECORDINGS / "two-pass.msgpack", tmp_path / "other.msgpack", change))


def test_another_model_is_doubted(tmp_path: Path) -> None:
    path = recorded(tmp_path / "toy.msgpack")
    found = held(path, TOY)
    assert found.holds
    assert found.drafter is None
    assert any("the model has no drafter scripted of its own" in doubt for doubt in found.doubts)
    other = held(path, BUNDLED, "none")
    assert not other.holds
    assert any("called" in doubt or "other bytes" in doubt for doubt in other.doubts)
    assert any("256 tokens, this model 2048" in doubt for doubt in other.doubts)


def test_a_trace_longer_than_the_model_is_held_as_far_as_it_goes(tmp_path: Path) -> None:
    prompt = tuple(int(token) for token in np.random.default_rng(0).integers(3, 2000, 505))

    def change(record: AnyRecord) -> AnyRecord:
        return msgspec.structs.replace(record, prompt=prompt) if isinstance(record, Header) else record

    found = held(rewritten(RECORDINGS / "two-pass.msgpack", tmp_path / "long.msgpack", change), drafter="none")
    assert found.held.stopped is not None
    assert "its context is full" in found.held.stopped
    assert found.held.rounds < found.rounds


def test_a_run_that_the_models_context_cuts_short_is_not_said_to_hold(tmp_path: Path) -> None:
    """All that was compared is the model's, but that was not all: status 3."""
    base = empty().base
    prompt = tuple(int(token) for token in np.random.default_rng(0).integers(3, 2000, 505))
    first = int(base.prefill(prompt).logits[-1].argmax())
    second = int(base.step(first).logits[-1].argmax())

    def change(record: AnyRecord) -> AnyRecord:
        if isinstance(record, Header):
            return msgspec.structs.replace(record, prompt=prompt)
        if isinstance(record, Prefill):
            return msgspec.structs.replace(record, next=first, top=None)
        if isinstance(record, Round):
            emitted = (first,) if record.index == 0 else (second,) * 20
            bare = {"drafts": emitted[1:], "targets": (), "target_p": None, "top": None, "draft_p": None}
            return msgspec.structs.replace(record, form="one-pass", t1=emitted[0], emitted=emitted, **bare)
        return record

    path = rewritten(RECORDINGS / "two-pass.msgpack", tmp_path / "long.msgpack", change)
    told = specstep("check", path, "--drafter", "none")
    assert told.code == 3
    assert "not all rounds were looked at: round 1: " in told.err
    assert "its context is full" in told.err


def test_ties_leave_room_for_what_differs() -> None:
    tally = Tally()
    for i in range(3 * LISTED):
        tally.put(Difference(what="choice", round=i, row=0, position=i, traced=1, here=2, gap=0.0, tie=i < 2 * LISTED))
    assert (tally.ties, tally.differing, tally.compared) == (2 * LISTED, LISTED, 3 * LISTED)
    assert [sum(each.tie is tie for each in tally.first) for tie in (True, False)] == [LISTED, LISTED]


def test_the_command_says_what_differs_and_why() -> None:
    right = specstep("check", RECORDINGS / "two-pass.msgpack")
    assert (right.code, right.err) == (0, "")
    assert "39 of 39 rounds held against specstep-6m with specstep-6m-mtp" in right.out
    assert "choices  230 of 230 are the model's" in right.out
    wrong = specstep("check", RECORDINGS / "faults" / "hidden-stale.msgpack")
    assert (wrong.code, wrong.err) == (1, "")
    assert "drafts   173 of 271 are the model's, 98 differ" in wrong.out
    assert "round 1     draft 2, position 24: 636 '(s' in the trace, 8 '(' here by 0.407" in wrong.out
    assert "... and 86 more" in wrong.out
    assert "a known fault explains all: with it 307 of 307 tokens of the first 34 rounds are the trace's" in wrong.out
    assert "  hidden-stale: The next draft goes on from the hidden row" in wrong.out


def test_the_command_gives_it_as_json() -> None:
    found = specstep("check", RECORDINGS / "faults" / "tap-off-by-one.msgpack", "--json")
    assert found.code == 1
    assert found.json["faults"][0]["name"] == "tap-off-by-one"
    assert found.json["held"]["drafts"]["differing"] == 84
    first = found.json["held"]["drafts"]["first"][0]
    assert (first["what"], first["round"], first["row"], first["position"]) == ("draft", 0, 0, 23)


def test_the_command_tells_bad_input_apart(tmp_path: Path) -> None:
    missing = specstep("check", tmp_path / "none.msgpack")
    assert (missing.code, len(missing.err.splitlines())) == (4, 1)
    model = specstep("check", RECORDINGS / "flip.msgpack", "--model", tmp_path)
    assert (model.code, len(model.err.splitlines())) == (2, 1)
    drafter = specstep("check", RECORDINGS / "flip.msgpack", "--drafter", "eagle")
    assert (drafter.code, len(drafter.err.splitlines())) == (2, 1)
    whole = (RECORDINGS / "two-pass.msgpack").read_bytes()
    (tmp_path / "torn.msgpack").write_bytes(whole[: len(whole) * 2 // 3])
    torn = specstep("check", tmp_path / "torn.msgpack")
    assert torn.code == 3
    assert "choices" in torn.out


def test_the_page_names_every_suspect_as_it_is() -> None:
    page = (RECORDINGS / "CHECK.md").read_text(encoding="utf-8")
    rows = [
        tuple(cell.strip() for cell in line.split("|")[1:-1]) for line in page.splitlines() if line.startswith("| `")
    ]
    assert rows == [(f"`{suspect.name}`", suspect.sentence) for suspect in SUSPECTS]
