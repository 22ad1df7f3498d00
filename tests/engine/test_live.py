"""A live run hands out the records of a trace, truthfully."""

import datetime
from pathlib import Path

import msgspec
import pytest

from engine.base.base import Rows
from engine.base.toy import ToyBase, linear_choice
from engine.errors import ModelError, Refused
from engine.live import LiveRun, open_live
from engine.opening import open_models
from engine.options import Options
from engine.records import Round
from engine.request import LiveRequest
from engine.version import VERSION
from tests.engine.toys import PROMPT, DyingBase, Wanderer, plain_decode, tied_logits

VOCAB = 9
LOGITS_OF = tied_logits(VOCAB, 4)


class Ticking:
    """A clock on which every look at it takes a millisecond."""

    def __init__(self) -> None:
        self._now = 0.0

    def __call__(self) -> float:
        self._now += 0.001
        return self._now


def live_run(**changes: object) -> LiveRun:
    options = msgspec.structs.replace(Options(max_tokens=20, k=4), **changes)
    return LiveRun(
        ToyBase(VOCAB, LOGITS_OF),
        Wanderer(LOGITS_OF, VOCAB, 0.8, 1),
        PROMPT,
        options,
        piece=lambda token: bytes([65 + token]),
        device=lambda: {"provider": "python"},
    )


def finished(live: LiveRun) -> list[Round]:
    made = []
    while (round_ := live.step()) is not None:
        made.append(round_)
    return made


def test_its_header_says_what_runs_by_which_options_and_when() -> None:
    header = live_run(k=2, stop_tokens=(7,)).header
    assert (header.format, header.version, header.writer) == ("specstep", 1, {"name": "specstep", "version": VERSION})
    assert datetime.datetime.fromisoformat(header.created).tzinfo is not None
    assert header.device == {"provider": "python"}
    assert (header.base.name, header.base.vocab_size) == ("toy", VOCAB)
    assert header.drafter is not None
    assert header.drafter.name == "wanderer"
    assert Options.from_map(header.options) == Options(max_tokens=20, k=2, stop_tokens=(7,))
    assert header.prompt == PROMPT


def test_a_run_without_a_drafter_has_none_in_its_header_and_decodes_plainly() -> None:
    live = LiveRun(ToyBase(VOCAB, LOGITS_OF), None, PROMPT, Options(max_tokens=5))
    assert live.header.drafter is None
    assert {round_.reason for round_ in finished(live)} == {"no-drafter"}


def test_its_prefill_has_the_first_choice_and_its_gap() -> None:
    prefill = live_run().prefill
    row = LOGITS_OF(PROMPT)
    best = sorted(row, reverse=True)
    assert (prefill.positions, prefill.batched, prefill.next) == (3, True, int(row.argmax()))
    assert prefill.gap == best[0] - best[1]


def test_it_measures_plain_steps_after_the_prefill_and_takes_them_back() -> None:
    base = ToyBase(VOCAB, LOGITS_OF)
    live = LiveRun(base, None, PROMPT, Options(max_tokens=5), clock=Ticking())
    assert live.prefill.plain_ms == pytest.approx(1.0)
    assert live.prefill.ms == pytest.approx(1.0)
    assert list(base.tokens) == list(PROMPT)


def test_where_there_is_no_room_to_measure_the_cost_is_unknown() -> None:
    base = ToyBase(VOCAB, LOGITS_OF, context_length=8)
    live = LiveRun(base, None, PROMPT, Options(max_tokens=4))
    assert live.prefill.plain_ms is None
    assert len(finished(live)) == 4
    assert live.end().plain_ms is None


def test_the_cost_at_the_end_is_that_of_the_runs_own_plain_rounds_if_it_has_five() -> None:
    live = LiveRun(ToyBase(VOCAB, LOGITS_OF), None, PROMPT, Options(max_tokens=5), clock=Ticking())
    made = finished(live)
    steps = sorted((round_.ms or {})["step"] for round_ in made)
    assert live.end().plain_ms == steps[2]


def test_its_rounds_emit_plain_decode_and_its_end_adds_them_up() -> None:
    live = live_run()
    made = finished(live)
    text = [token for round_ in made for token in round_.emitted or ()]
    end = live.end()
    assert text == plain_decode(LOGITS_OF, PROMPT, 20)
    assert (end.reason, end.rounds, end.emitted, end.fell_back_at) == ("max_tokens", len(made), 20, None)
    assert (end.stats["emitted"], end.stats["reason"]) == (20, "max_tokens")
    assert live.done


def test_the_end_of_a_run_that_is_not_over_says_aborted() -> None:
    live = live_run()
    live.step()
    assert (live.end().reason, live.end().rounds) == ("aborted", 1)


def test_the_end_counts_recorded_rounds_until_the_fallback() -> None:
    live = live_run(fallback_below=4.5, fallback_window=2)
    finished(live)
    assert live.end().fell_back_at == 2
    assert [event.code for event in live.events] == ["fell-back"]


def test_a_base_that_dies_ends_the_run_with_a_fault_and_the_rounds_before_it() -> None:
    live = LiveRun(DyingBase(VOCAB, LOGITS_OF, 2), None, PROMPT, Options(max_tokens=9), plain_samples=0)
    assert len(finished(live)) == 2
    assert (live.end().reason, live.end().emitted) == ("fault", 2)
    assert live.events[-1].level == "fault"


def test_a_rewound_run_goes_on_and_counts_as_if_it_had_come_straight() -> None:
    live = live_run()
    made = finished(live)
    live.rewind(made[:2])
    again = finished(live)
    assert [r.emitted for r in made[:2] + again] == [r.emitted for r in made]
    assert (live.end().rounds, live.end().stats["emitted"]) == (len(made), 20)
    assert live.header.run["forked_at"] == 2


def test_a_fork_has_its_own_options_in_the_header() -> None:
    live = live_run()
    made = finished(live)
    live.rewind(made[:2], Options(max_tokens=15, k=1))
    finished(live)
    assert (live.header.options["k"], live.end().emitted) == (1, 15)


def test_candidates_are_recorded_best_first_where_asked_for() -> None:
    live = LiveRun(ToyBase(VOCAB, LOGITS_OF), None, PROMPT, Options(max_tokens=3), candidates=4)
    assert live.prefill.top is not None
    rows = [live.prefill.top, *(row for round_ in finished(live) for row in round_.top or ())]
    assert len(rows) == 4
    history = [*PROMPT]
    for row in rows:
        logits = LOGITS_OF(history)
        assert row == tuple((i, logits[i]) for i in sorted(range(VOCAB), key=lambda i: (-logits[i], i))[:4])
        history.append(row[0][0])


def test_a_bar_of_the_break_even_is_measured_and_leaves_the_run_untouched() -> None:
    base = ToyBase(VOCAB, LOGITS_OF)
    drafter = Wanderer(LOGITS_OF, VOCAB, 1.0, 1)
    live = LiveRun(base, drafter, PROMPT, Options(max_tokens=6, k=4, stop_tokens=(1,)), auto_bar=True, clock=Ticking())
    bar = live.header.options["fallback_below"]
    # On this clock a drafted round has four phases of a millisecond, and a plain step is one.
    assert bar == pytest.approx(4.0)
    assert "break-even" in live.header.run["bar"]
    assert list(base.tokens) == list(PROMPT)
    assert live.end().emitted == 0


def test_a_break_even_that_cannot_be_measured_is_refused() -> None:
    with pytest.raises(Refused, match="give the bar as a number"):
        LiveRun(ToyBase(VOCAB, LOGITS_OF), None, PROMPT, Options(max_tokens=60), auto_bar=True)


def test_a_run_that_cannot_work_is_refused_before_the_prefill() -> None:
    class Untouchable(ToyBase):
        def prefill(self, tokens: object) -> Rows:
            pytest.fail("nothing may run")

    with pytest.raises(Refused):
        LiveRun(Untouchable(VOCAB, LOGITS_OF), Wanderer(LOGITS_OF, 5, 1.0, 0), PROMPT, Options())


def test_a_request_opens_models_by_name_and_adds_their_stop_tokens() -> None:
    request = LiveRequest(
        prompt="ab",
        model="toy",
        drafter="scripted:takes=2-0",
        options=Options(max_tokens=8, stop_tokens=(200,)),
        stop=("z", "7"),
    )
    live = open_live(request)
    assert live.header.prompt == (97, 98)
    assert live.header.options["stop_tokens"] == [7, 122, 200]
    assert live.piece(97) == b"a"
    made = finished(live)
    assert [round_.take for round_ in made if round_.drafted == 3][:2] == [2, 0]
    text = [token for round_ in made for token in round_.emitted or ()]
    assert text == plain_decode(linear_choice(256), [97, 98], 8)


@pytest.mark.parametrize(
    ("drafter", "error", "says"),
    [
        ("eagle", ModelError, "no drafter 'eagle', it has scripted, lookup, synthetic, draft-model and none"),
        (":n=3", Refused, "give a name"),
        ("lookup:n", Refused, "'n' is not key=value"),
        ("lookup:n=three", Refused, "n is 'three', not a whole number"),
        ("lookup:n=0", Refused, "1 <= shortest <= longest"),
        ("lookup:match=best", Refused, "match is 'best'"),
        ("lookup:size=3", Refused, "no argument 'size': it takes n, min, match, adapt"),
        ("lookup:adapt=no", Refused, "adapt is 'no', expected off or a number"),
        ("lookup:adapt=2", Refused, "adapt is 2: use off, or a probability"),
        ("lookup:adapt=nan", Refused, "adapt is nan: use off, or a probability"),
        ("none:n=3", Refused, "no argument 'n': it takes none"),
        ("scripted:takes=a-b", Refused, "takes is 'a-b'"),
        ("synthetic:rates=a-b", Refused, "rates is 'a-b', expected numbers"),
        ("synthetic:rates=2", Refused, "the acceptance rate of draft 1 is 2"),
        ("synthetic:seed=x", Refused, "seed is 'x', not a whole number"),
        ("draft-model", Refused, "name its model, as in draft-model:FOLDER"),
        ("draft-model:no/such,place=1", ModelError, "no/such,place=1: no such folder"),
    ],
)
def test_a_drafter_that_is_named_wrongly_is_refused(drafter: str, error: type[Exception], says: str) -> None:
    with pytest.raises(error, match=says):
        open_models("toy").drafter(drafter, [1, 2, 3])


@pytest.mark.parametrize(
    ("spec", "name"),
    [
        ("lookup", "lookup-1-8-latest-adapt-0.1"),
        ("lookup:n=4,min=2,match=earliest,adapt=0.3", "lookup-2-4-earliest-adapt-0.3"),
        ("lookup:n=4,adapt=off", "lookup-2-4-latest"),
    ],
)
def test_a_lookup_takes_its_arguments_by_name(spec: str, name: str) -> None:
    drafter = open_models("toy").drafter(spec)
    assert drafter is not None
    assert drafter.info.name == name


@pytest.mark.parametrize("stop", ["two", "256", ""])
def test_a_stop_that_is_not_one_token_is_refused(stop: str) -> None:
    with pytest.raises(Refused, match="not one token"):
        open_models("toy").stop_token(stop)


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="no such folder"):
        open_models(str(tmp_path / "nowhere"))
    with pytest.raises(ModelError, match=r"there is no graph \(\*\.onnx\)"):
        open_models(str(tmp_path))
