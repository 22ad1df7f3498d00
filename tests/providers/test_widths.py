"""Passes of the widths that a device was compiled for: padded, cut in parts, recorded, and exact."""

from pathlib import Path

import numpy as np
import onnx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.base.arrays import ArrayPasses
from engine.base.onnx import OnnxBase
from engine.base.toy import ToyBase
from engine.compiled import Widths, of_graph, parse
from engine.drafters.lookup import LookupDrafter
from engine.errors import EngineFault, Refused
from engine.folders.model import open_folder
from engine.loop import run
from engine.models.bundled import Bundle, load_base, load_drafter
from engine.opening import open_models
from engine.options import Options
from engine.records import BaseInfo
from engine.request import Setup
from engine.session import Session
from engine.start import check_pair
from engine.trace.reader import open_trace
from tests.cli.commands import specstep
from tests.folders.tiny_folder import Make, genai, optimum
from tests.hybrid.tiny_hybrid import Plan
from tests.hybrid.tiny_hybrid import write as write_hybrid
from tests.models.tiny import CONTEXT, networks, prompt, write

SIZES = st.lists(st.integers(1, 40), min_size=1, max_size=4, unique=True).map(
    lambda sizes: Widths(tuple(sorted(sizes)))
)


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Bundle:
    return write(tmp_path_factory.mktemp("tiny"), networks(seed=3))


@given(SIZES, st.integers(1, 200), st.integers(0, 60))
def test_parts_run_every_row_once_in_passes_of_known_widths(widths: Widths, count: int, spare: int) -> None:
    room = count + widths.narrowest - 1 + spare
    parts = list(widths.parts(count, room))
    assert sum(part.wanted for part in parts) == count
    assert all(part.width in widths.sizes and 1 <= part.wanted <= part.width for part in parts)
    at = 0
    for part in parts:
        assert at + part.width <= room
        at += part.wanted


@given(SIZES, st.integers(0, 200), st.integers(1, 60))
def test_spans_end_at_the_last_row_and_leave_none_out(widths: Widths, first: int, missing: int) -> None:
    spans = widths.ending_at(first, first + missing)
    if spans is None:
        assert widths.narrowest > missing
        assert widths.narrowest > first + missing or all(
            not missing <= size <= first + missing for size in widths.sizes
        )
        return
    assert spans[-1][1] == first + missing
    assert all(start >= 0 and stop - start in widths.sizes for start, stop in spans)
    covered = first
    for start, stop in spans:
        assert start <= covered < stop
        covered = stop


def test_without_widths_a_pass_has_as_many_rows_as_it_needs() -> None:
    assert [*Widths().parts(7, 100)] == [(7, 7)]
    assert [*Widths().parts(1, 100, least=2)] == [(1, 2)]


def test_a_pass_that_fits_nowhere_is_a_fault() -> None:
    with pytest.raises(EngineFault, match="no pass of a width from 1 up fits 3 positions"):
        list(Widths((4, 8)).parts(2, 3))


@pytest.mark.parametrize("text", ["", "8,1", "0,1", "1,1", "-1", "1,x", "1.5"])
def test_anything_but_ascending_numbers_is_refused(text: str) -> None:
    with pytest.raises(Refused, match="widths"):
        parse(text)


@pytest.mark.parametrize("sizes", [(1, 8, 32), (4, 16), (6,), (2, 5)], ids=str)
@pytest.mark.parametrize("drafter", ["mtp", "dflash", "dflash2", None])
def test_the_text_is_plain_decodes_at_any_widths(bundle: Bundle, sizes: tuple[int, ...], drafter: str | None) -> None:
    text = prompt(37)
    wanted = run(load_base(bundle, plain_width=2), None, text, Options(max_tokens=24, plain_width=2)).tokens
    base = load_base(bundle, widths=sizes)
    drafts = None if drafter is None else load_drafter(bundle, drafter, widths=sizes)

    made = run(base, drafts, text, Options(max_tokens=24, k=min(3, sizes[-1] - 1)))

    assert made.tokens == wanted
    assert {round_.width for round_ in made.rounds} <= set(sizes)
    for round_ in made.rounds:
        assert round_.state is not None
        assert round_.state["kv_len"] == round_.consumed
    if drafter is not None:
        assert any(round_.drafts for round_ in made.rounds)


@pytest.mark.parametrize("drafter", ["mtp", "dflash"])
def test_a_drafter_drafts_the_same_at_any_widths(bundle: Bundle, drafter: str) -> None:
    text, options = prompt(21), Options(max_tokens=20, k=4)
    free = run(load_base(bundle), load_drafter(bundle, drafter), text, options)
    for sizes in ((1, 8), (5, 16)):
        made = run(load_base(bundle, widths=sizes), load_drafter(bundle, drafter, widths=sizes), text, options)
        assert [round_.drafts for round_ in made.rounds] == [round_.drafts for round_ in free.rounds]


@pytest.mark.parametrize("drafter", ["mtp", "dflash"])
def test_where_a_text_is_too_short_for_a_drafters_pass_nothing_is_drafted(bundle: Bundle, drafter: str) -> None:
    made = run(
        load_base(bundle, widths=(8,)),
        load_drafter(bundle, drafter, widths=(8,)),
        prompt(3),
        Options(max_tokens=16, k=2),
    )
    reasons = [round_.reason for round_ in made.rounds]
    assert reasons[0] == "zero-draft"
    assert None in reasons


@pytest.mark.parametrize("sizes", [(1, 8), (8,), (5, 16)], ids=str)
def test_a_context_is_used_up_to_where_no_pass_fits(bundle: Bundle, sizes: tuple[int, ...]) -> None:
    base = load_base(bundle, widths=sizes)
    assert base.context_length == CONTEXT - sizes[0] + 1
    made = run(base, None, prompt(80), Options(max_tokens=base.context_length - 80))
    assert base.consumed == base.context_length
    free = run(load_base(bundle), None, prompt(80), Options(max_tokens=base.context_length - 80))
    assert made.tokens == free.tokens
    with pytest.raises(EngineFault, match="its context is full"):
        base.step(1)


def test_a_round_that_no_pass_can_verify_is_refused(bundle: Bundle) -> None:
    base = load_base(bundle, widths=(1, 4))
    drafter = load_drafter(bundle, "mtp", widths=(1, 4))
    check_pair(base, drafter, 5, Options(k=3, max_tokens=9))
    check_pair(base, drafter, 5, Options(k=4, max_tokens=9, form="two-pass"))
    with pytest.raises(Refused, match=r"k is 4, so that a round verifies 5 rows .* use k 3 or less"):
        check_pair(base, drafter, 5, Options(k=4, max_tokens=9))
    made = specstep("record", "--model", bundle.folder, "--widths", "1,4", "--k", "6", "--prompt", "x")
    assert (made.code, len(made.err.splitlines())) == (2, 1)
    with pytest.raises(Refused, match="a wider pass is needed"):
        check_pair(load_base(bundle, widths=(1,)), drafter, 5, Options(k=1, max_tokens=9))


def test_a_padded_plain_step_takes_the_next_width_up(bundle: Bundle) -> None:
    base = load_base(bundle, widths=(1, 8), plain_width=2)
    base.prefill(prompt(5))
    assert base.step(1).width == 8
    with pytest.raises(Refused, match="no pass is wider than 1"):
        load_base(bundle, widths=(1,), plain_width=2)


def test_widths_are_recorded_with_the_run(bundle: Bundle, tmp_path: Path) -> None:
    path = tmp_path / "run.msgpack"
    made = specstep(
        "record", "--model", bundle.folder, "--widths", "1,8", "--prompt", "def mean(", "--max-tokens", "20", "-o", path
    )
    assert (made.code, made.err) == (0, "")
    with open_trace(path) as trace:
        assert trace.header.device["compiled_widths"] == [1, 8]
        drafted = [round_ for round_ in map(trace.round, range(len(trace))) if round_.drafts]
        assert drafted
        assert {round_.width for round_ in drafted} == {8}
    assert specstep("audit", path).code == 0


def test_a_draft_model_runs_in_the_same_widths(bundle: Bundle, tmp_path: Path) -> None:
    path = tmp_path / "run.msgpack"
    words = ("--model", bundle.folder, "--drafter", f"draft-model:{bundle.folder}", "--prompt", "def mean(", "-o", path)
    assert specstep("record", *words, "--max-tokens", "20", "--widths", "4,8").code == 0
    with open_trace(path) as trace:
        assert {round_.width for round_ in map(trace.round, range(len(trace)))} == {4}
        assert sum(round_.take for round_ in map(trace.round, range(len(trace)))) > 8


def test_a_graph_of_fixed_shapes_gives_its_own_width(bundle: Bundle, tmp_path: Path) -> None:
    fixed = _with_fixed_width(bundle, tmp_path, 6)
    free = run(load_base(bundle), None, prompt(9), Options(max_tokens=12))
    base = load_base(fixed)
    assert base.device()["compiled_widths"] == [6]
    made = run(base, None, prompt(9), Options(max_tokens=12))
    assert made.tokens == free.tokens
    assert {round_.width for round_ in made.rounds} == {6}
    with pytest.raises(Refused, match="fixed at a width of 6, so that widths 1,8 cannot run"):
        load_base(fixed, widths=(1, 8))


def test_a_toy_has_no_widths() -> None:
    assert ToyBase(4, lambda _: np.zeros(4, np.float32)).widest is None
    with pytest.raises(Refused, match="no widths"):
        open_models("toy", Setup(widths=(1, 8)))
    assert of_graph((), None, "x") == Widths()


def _with_fixed_width(bundle: Bundle, folder: Path, width: int) -> Bundle:
    """The same bundle with a base whose passes have ``width`` rows."""
    for path in bundle.folder.iterdir():
        (folder / path.name).write_bytes(path.read_bytes())
    model = onnx.load(str(folder / "base.onnx"), load_external_data=False)
    (ids,) = (each for each in model.graph.input if each.name == "input_ids")
    ids.type.tensor_type.shape.dim[1].dim_value = width
    onnx.save(model, str(folder / "base.onnx"))
    return Bundle(folder, bundle.manifest)


def test_state_that_padding_would_stay_in_is_refused(tmp_path: Path) -> None:
    session = Session(write_hybrid(tmp_path, Plan()))
    with pytest.raises(Refused, match="would stay in its recurrent state"):
        OnnxBase(session, BaseInfo(name="tiny", vocab_size=257), 100, 1, ArrayPasses(session), widths=Widths((1, 8)))


@pytest.mark.parametrize("layout", ["genai", "optimum"])
def test_a_folders_graph_of_a_fixed_width_runs_in_that_width(tmp_path: Path, layout: str) -> None:
    texts = []
    for width in (None, 8):
        make = Make(genai=layout == "genai", width=width)
        folder = genai(tmp_path / str(width), make) if make.genai else optimum(tmp_path / str(width), make)
        base = open_folder(folder).load().base
        made = run(base, LookupDrafter(), prompt(19), Options(max_tokens=24, k=4))
        texts.append(made.tokens)
        assert {round_.width for round_ in made.rounds} == {8} or width is None
    assert texts[0] == texts[1]


@pytest.mark.parametrize("layout", ["genai", "optimum"])
def test_a_folders_graph_runs_in_the_widths_that_are_asked_for(tmp_path: Path, layout: str) -> None:
    folder = genai(tmp_path) if layout == "genai" else optimum(tmp_path)
    free = run(open_folder(folder).load().base, None, prompt(19), Options(max_tokens=24))
    base = open_folder(folder).load(widths=(4, 16)).base
    made = run(base, LookupDrafter(), prompt(19), Options(max_tokens=24, k=4))
    assert made.tokens == free.tokens
    assert {round_.width for round_ in made.rounds} <= {4, 16}
