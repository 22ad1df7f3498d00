"""Graphs of both layouts as bases: whatever their inputs are called and however they keep state, the rows are right."""

import json
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx import TensorProto

from engine.base.base import Floats
from engine.base.onnx import OnnxBase
from engine.drafters.draft_model import DraftModelDrafter
from engine.drafters.lookup import LookupDrafter
from engine.errors import EngineFault
from engine.folders.model import LoadedGraph, open_folder
from engine.loop import run
from engine.options import Options
from tests.folders.tiny_folder import CONTEXT, HIDDEN, LAYERS, VOCAB, Make, genai, optimum, write_tokenizer
from tests.hybrid.tiny_hybrid import CONTEXT as HYBRID_CONTEXT
from tests.hybrid.tiny_hybrid import Plan
from tests.hybrid.tiny_hybrid import write as write_hybrid

ONE_BUFFER, TWO_BUFFERS = "one buffer, written in place", "two buffers that take turns"
MAKES = {
    "genai": (Make(genai=True), ONE_BUFFER),
    "genai with hidden states": (Make(genai=True, hidden=True, taps=True), ONE_BUFFER),
    "genai in half precision": (Make(genai=True, dtype=TensorProto.FLOAT16), ONE_BUFFER),
    "genai with names of its own": (Make(genai=True, names="past_{}_%d_in"), ONE_BUFFER),
    "optimum": (Make(), TWO_BUFFERS),
    "optimum without positions": (Make(positions=False), TWO_BUFFERS),
    "optimum with hidden states": (Make(hidden=True, taps=True), TWO_BUFFERS),
    "optimum in half precision": (Make(dtype=TensorProto.FLOAT16), TWO_BUFFERS),
    "heads behind positions": (Make(heads_last=True), TWO_BUFFERS),
    "names that go on as they began": (Make(names="past_key_values_%d_{}"), TWO_BUFFERS),
    "names of what goes in and out": (Make(names="past_{}_%d_in"), TWO_BUFFERS),
    "inputs that are always the same": (Make(settled=True), TWO_BUFFERS),
    "genai with inputs that are always the same": (Make(genai=True, settled=True), ONE_BUFFER),
}
each_make = pytest.mark.parametrize("kind", MAKES)
PROMPT = [5, 80, 31, 5, 80, 200, 7]


class Loaded:
    """Loads each graph once; a base is given out empty."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._known: dict[tuple[Make, int], LoadedGraph] = {}

    def __call__(self, make: Make, plain_width: int = 1) -> LoadedGraph:
        key = make, plain_width
        if key not in self._known:
            folder = self._folder / str(len(self._known))
            path = genai(folder, make) if make.genai else optimum(folder, make)
            self._known[key] = open_folder(path).load(plain_width=plain_width)
        self._known[key].base.rollback(0)
        return self._known[key]


@pytest.fixture(scope="module")
def loaded(tmp_path_factory: pytest.TempPathFactory) -> Loaded:
    return Loaded(tmp_path_factory.mktemp("folders"))


def random_tokens(count: int, seed: int = 0) -> list[int]:
    return [int(token) for token in np.random.default_rng(seed).integers(0, VOCAB, count)]


def rows_of(base: OnnxBase, tokens: list[int]) -> Floats:
    return base.verify(tokens).logits.copy()


@each_make
def test_the_way_that_fits_the_graph_is_found_by_a_first_try(loaded: Loaded, kind: str) -> None:
    make, cache = MAKES[kind]
    graph = loaded(make)
    assert graph.abilities.cache == cache
    assert graph.abilities.truncate == "at any position"
    assert graph.abilities.hidden == (HIDDEN if make.hidden else None)
    assert graph.abilities.taps == (LAYERS * HIDDEN if make.taps else None)
    assert (graph.base.vocab_size, graph.base.info.layers) == (VOCAB, LAYERS)
    assert graph.base.info.dtype == ("float16" if make.dtype == TensorProto.FLOAT16 else "float32")


@each_make
def test_the_rows_are_those_of_the_same_weights_in_the_other_layout(loaded: Loaded, kind: str) -> None:
    make, _ = MAKES[kind]
    tokens = random_tokens(40)
    half = make.dtype == TensorProto.FLOAT16
    np.testing.assert_allclose(
        rows_of(loaded(make).base, tokens), rows_of(loaded(Make()).base, tokens), atol=0.1 if half else 1e-4
    )


@pytest.mark.parametrize("widths", [[1] * 24, [3, 8, 1, 12], [1, 23]], ids=str)
@each_make
def test_rows_are_the_same_at_every_width(loaded: Loaded, kind: str, widths: list[int]) -> None:
    base, tokens = loaded(MAKES[kind][0]).base, random_tokens(24)
    wanted = rows_of(base, tokens)
    kept = {name: rows.copy() for name, rows in _features(base).items()}
    base.rollback(0)
    at = 0
    for width in widths:
        np.testing.assert_allclose(rows_of(base, tokens[at : at + width]), wanted[at : at + width], atol=5e-2)
        at += width
    for name, rows in _features(base).items():
        np.testing.assert_allclose(rows, kept[name], atol=5e-2)


def _features(base: OnnxBase) -> dict[str, Floats]:
    rows = base.features(0, base.consumed)
    found = {"hidden": rows.hidden, "taps": rows.taps}
    return {name: each for name, each in found.items() if each is not None}


@settings(max_examples=20, deadline=None)
@given(moves=st.lists(st.one_of(st.integers(1, 6), st.floats(0, 1)), max_size=12), seed=st.integers(0, 99))
@pytest.mark.parametrize("kind", ["genai", "optimum", "heads behind positions"])
def test_after_any_passes_and_rollbacks_the_next_rows_are_those_of_a_fresh_base(
    loaded: Loaded, kind: str, moves: list[int | float], seed: int
) -> None:
    base = loaded(MAKES[kind][0]).base
    for i, move in enumerate(moves):
        if isinstance(move, int):
            base.verify(random_tokens(move, seed + i))
        else:
            base.rollback(int(move * base.consumed))
    text = list(base.tokens)
    assert base.lengths() == {"kv_len": len(text)}
    given_rows = rows_of(base, [3, 4])
    base.rollback(0)
    np.testing.assert_allclose(given_rows, rows_of(base, [*text, 3, 4])[-2:], atol=1e-4)


@each_make
def test_a_padded_plain_step_is_the_twin_of_a_verify_row(loaded: Loaded, kind: str) -> None:
    base, tokens = loaded(MAKES[kind][0], 2).base, random_tokens(12)
    wanted = rows_of(base, tokens)
    base.rollback(0)
    base.prefill(tokens[:4])
    for i in range(4, 12):
        row = base.step(tokens[i])
        assert row.width == 2
        np.testing.assert_array_equal(row.logits[0], wanted[i])


@pytest.mark.parametrize("form", ["one-pass", "two-pass"])
@pytest.mark.parametrize("drafter", ["lookup", "another model"])
@each_make
def test_speculative_text_is_plain_text(loaded: Loaded, kind: str, drafter: str, form: str) -> None:
    make, _ = MAKES[kind]
    options = Options(max_tokens=60, k=4, form=form)
    plain = run(loaded(make, 2).base, None, PROMPT, options).tokens
    chosen = LookupDrafter(shortest=1) if drafter == "lookup" else DraftModelDrafter(loaded(Make(seed=1)).base)
    base = loaded(make, 2).base
    result = run(base, chosen, PROMPT, options)
    assert result.tokens == plain
    assert any(round_.take < len(round_.drafts or ()) for round_ in result.rounds)


@pytest.mark.parametrize("layout", ["genai", "optimum"])
def test_passes_of_a_fixed_length_are_padded_to_it(loaded: Loaded, tmp_path: Path, layout: str) -> None:
    make = Make(genai=layout == "genai", width=8)
    graph = open_folder(genai(tmp_path, make) if make.genai else optimum(tmp_path, make)).load()
    assert graph.abilities.verify == "in passes of 8 rows, padded"
    tokens = random_tokens(29)
    wanted = rows_of(loaded(Make(genai=make.genai)).base, tokens)
    at = 0
    for width in (8, 1, 3, 17):
        rows = rows_of(graph.base, tokens[at : at + width])
        np.testing.assert_allclose(rows, wanted[at : at + width], atol=1e-4)
        at += width


def test_a_model_whose_state_cannot_all_be_cut_is_one_too(tmp_path: Path) -> None:
    write_hybrid(tmp_path, Plan()).rename(tmp_path / "model.onnx")
    (tmp_path / "config.json").write_text(json.dumps({"max_position_embeddings": HYBRID_CONTEXT}), encoding="utf-8")
    write_tokenizer(tmp_path)
    graph = open_folder(tmp_path).load()
    assert graph.abilities.cache == "arrays, with states that are put back and not cut"
    assert graph.abilities.truncate == "at any position; what cannot be cut is put back and run again"
    assert graph.base.info.state == "hybrid"
    options = Options(max_tokens=40, k=3)
    plain = run(graph.base, None, PROMPT, options).tokens
    graph.base.rollback(0)
    assert run(graph.base, LookupDrafter(shortest=1), PROMPT, options).tokens == plain


@pytest.mark.parametrize("kind", ["genai", "optimum"])
def test_a_long_prompt_runs_in_parts_and_its_last_row_is_the_same(
    loaded: Loaded, kind: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("engine.base.bound.PREFILL_LOGITS", 10 * VOCAB)
    make, _ = MAKES[kind]
    with_hidden = Make(genai=make.genai, hidden=True)
    base = open_folder(genai(tmp_path, with_hidden) if make.genai else optimum(tmp_path, with_hidden)).load().base
    for length in (10, 11, 31, 40):
        tokens = random_tokens(length)
        base.rollback(0)
        wanted = rows_of(base, tokens)[-1]
        hidden = base.features(0, length).hidden
        assert hidden is not None
        kept = hidden.copy()
        base.rollback(0)
        given_rows = base.prefill(tokens)
        assert given_rows.logits.shape == (1, VOCAB)
        np.testing.assert_allclose(given_rows.logits[0], wanted, atol=1e-4)
        assert given_rows.hidden is not None
        np.testing.assert_allclose(given_rows.hidden, kept, atol=1e-4)


@pytest.mark.parametrize("kind", ["genai", "optimum"])
def test_buffers_grow_with_the_text(loaded: Loaded, kind: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("engine.base.kv.FIRST_CAPACITY", 4)
    make, _ = MAKES[kind]
    small = open_folder(genai(tmp_path, make) if make.genai else optimum(tmp_path, make)).load().base
    tokens = random_tokens(60)
    wanted = rows_of(loaded(make).base, tokens)
    at = 0
    for width in (2, 3, 9, 2, 30, 14):
        np.testing.assert_allclose(rows_of(small, tokens[at : at + width]), wanted[at : at + width], atol=1e-4)
        at += width


def test_a_bound_pass_that_fails_is_a_fault_and_what_was_held_is_held_still(tmp_path: Path) -> None:
    # The graph's rotary tables end long before what its configuration says.
    base = open_folder(optimum(tmp_path, max_position_embeddings=10 * CONTEXT)).load().base
    tokens = random_tokens(2 * CONTEXT)
    held = rows_of(base, tokens[:20])
    with pytest.raises(EngineFault, match="the pass failed in onnxruntime"):
        base.verify(tokens)
    assert base.consumed == 20
    base.rollback(16)
    np.testing.assert_allclose(rows_of(base, tokens[16:20]), held[16:20], atol=1e-4)


SLIDES = pytest.mark.skipif(
    tuple(map(int, onnxruntime.__version__.split(".")[:2])) < (1, 32),
    reason="this onnxruntime has no caches that slide",
)


@SLIDES
@pytest.mark.parametrize("capacity", [1, 512], ids=["that grows", "that is there"])
def test_caches_that_slide_are_given_room_and_cut_as_others_are(
    loaded: Loaded, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capacity: int
) -> None:
    monkeypatch.setattr("engine.base.kv.FIRST_CAPACITY", capacity)
    graph = open_folder(genai(tmp_path, Make(genai=True, window=8))).load()
    assert (graph.abilities.cache, graph.abilities.truncate) == (ONE_BUFFER, "at any position")
    base, tokens = graph.base, random_tokens(70)
    wanted = rows_of(base, tokens)
    assert np.abs(wanted[:8] - rows_of(loaded(Make(genai=True)).base, tokens[:8])).max() < 1e-4
    assert np.abs(wanted[40:] - rows_of(loaded(Make(genai=True)).base, tokens)[40:]).max() > 0.1
    base.rollback(30)
    for at in range(30, 70, 4):
        base.verify(random_tokens(3, at))
        base.rollback(at)
        np.testing.assert_allclose(rows_of(base, tokens[at : at + 4]), wanted[at : at + 4], atol=1e-4)


def test_heads_that_are_open_before_a_pass_and_fixed_behind_it_do_not_grow(tmp_path: Path) -> None:
    folder = optimum(tmp_path)
    path = folder / "model.onnx"
    model = onnx.load(path)
    for value in model.graph.input:
        if value.name.startswith("past"):
            value.type.tensor_type.shape.dim[1].dim_param = "heads"
    onnx.save(model, path)

    wanted = open_folder(optimum(tmp_path / "usual")).load().base.prefill([3, 1, 4]).logits.copy()
    np.testing.assert_allclose(open_folder(folder).load().base.prefill([3, 1, 4]).logits, wanted, rtol=1e-5, atol=1e-5)
