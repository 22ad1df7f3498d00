"""Drafters whose embedding and whose choice stand outside their graphs."""

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from engine.base.base import Floats
from engine.drafters.dflash import DFlash2Drafter, DFlashDrafter
from engine.drafters.drafter import Draft, Drafter, Pick
from engine.drafters.hooks import Hooks
from engine.drafters.mtp import MtpDrafter
from engine.errors import EngineFault, ModelError, Refused
from engine.loop import Run, prefill, rounds, run
from engine.models.bundle_writer import Networks
from engine.models.bundled import Bundle, load_base, load_drafter
from engine.options import Options
from engine.records import DrafterInfo
from engine.sampling import Greedy
from engine.session import Session
from tests.models.tiny import BLOCK, CONTEXT, SIZES, VOCAB, assert_close, networks, prompt, write

KINDS: dict[str, Callable[..., Drafter]] = {"mtp": MtpDrafter, "dflash": DFlashDrafter}
greedy = Greedy().propose
each_kind = pytest.mark.parametrize("kind", KINDS)


@pytest.fixture(scope="module")
def nets() -> Networks:
    return networks(seed=3)


@pytest.fixture(scope="module")
def bundle(nets: Networks, tmp_path_factory: pytest.TempPathFactory) -> Bundle:
    return write(tmp_path_factory.mktemp("tiny"), nets)


@pytest.fixture(scope="module")
def hooks(nets: Networks) -> Hooks:
    """What the graphs do inside."""
    table = nets.base["embed_tokens.weight"]
    return Hooks(
        embed=lambda tokens: np.asarray(table[list(tokens)]),
        choose=lambda hidden, _, pick: pick(np.asarray(table @ hidden)),
    )


def opened(folder: Path, kind: str) -> Path:
    """The drafter's graph without its embedding and its head: embeddings go in, hidden states come out."""
    model = onnx.load(str(folder / f"{kind}.onnx"), load_external_data=False)
    graph = model.graph
    made = {output: node for node in graph.node for output in node.output}
    gather = next(node for node in graph.node if node.op_type == "Gather" and node.input[1] == "input_ids")
    head = made["logits"]
    while head.op_type == "Identity":
        head = made[head.input[0]]
    assert head.op_type == "MatMul"
    graph.node.remove(gather)
    rows = BLOCK - 1 if kind == "dflash" else 1
    for node in graph.node:
        node.input[:] = ["inputs_embeds" if name == gather.output[0] else name for name in node.input]
    inputs = [value for value in graph.input if value.name != "input_ids"]
    width = 1 if kind == "dflash" else "n"
    inputs.append(helper.make_tensor_value_info("inputs_embeds", TensorProto.FLOAT, [1, width, SIZES.hidden_size]))
    outputs = [value for value in graph.output if value.name not in ("logits", "hidden_out")]
    if kind == "dflash":
        graph.node.append(helper.make_node("Identity", [head.input[0]], ["hidden_out"]))
    outputs.append(helper.make_tensor_value_info("hidden_out", TensorProto.FLOAT, [1, rows, SIZES.hidden_size]))
    del graph.input[:], graph.output[:]
    graph.input.extend(inputs)
    graph.output.extend(outputs)
    path = folder / f"{kind}_opened.onnx"
    path.write_bytes(model.SerializeToString())
    return path


def hooked(bundle: Bundle, kind: str, hooks: Hooks) -> Drafter:
    return KINDS[kind](Session(opened(bundle.folder, kind)), DrafterInfo(kind=kind, name="hooked"), CONTEXT, hooks)


def next_draft(drafter: Drafter, bundle: Bundle, limit: int = BLOCK - 1) -> Draft:
    """What it drafts after some text, of which part is committed later."""
    base = load_base(bundle)
    for part in (prompt(9)[:6], prompt(9)[6:]):
        drafter.commit(part, base.verify(part))
    return drafter.draft(77, limit, greedy, 0.0)


@each_kind
def test_with_the_same_embedding_and_head_outside_the_draft_is_the_same(
    bundle: Bundle, hooks: Hooks, kind: str
) -> None:
    outside = next_draft(hooked(bundle, kind, hooks), bundle)
    inside = next_draft(load_drafter(bundle, kind), bundle)
    assert outside.tokens == inside.tokens
    assert inside.logits is not None
    assert_close(outside.logits, inside.logits)


@each_kind
def test_a_choice_sees_the_row_s_own_state_and_the_token_before(bundle: Bundle, hooks: Hooks, kind: str) -> None:
    seen: list[tuple[Floats, int]] = []

    def after(hidden: Floats, before: int, pick: Callable[[Floats], Pick]) -> Pick:
        seen.append((hidden, before))
        return Pick((before + 1) % VOCAB, 0.5, 0.5)

    draft = next_draft(hooked(bundle, kind, Hooks(hooks.embed, after)), bundle, 4)

    assert draft.tokens == (78, 79, 80, 81)
    assert [before for _, before in seen] == [77, 78, 79, 80]
    assert len({hidden.tobytes() for hidden, _ in seen}) == 4
    assert (draft.logits, draft.q, draft.p) == (None, None, (0.5,) * 4)


@each_kind
def test_a_choice_under_tau_ends_the_draft(bundle: Bundle, hooks: Hooks, kind: str) -> None:
    def less_and_less(hidden: Floats, before: int, pick: Callable[[Floats], Pick]) -> Pick:
        return Pick(before + 1, 0.5, 0.5 if before < 79 else 0.1)

    drafter = hooked(bundle, kind, Hooks(hooks.embed, less_and_less))
    drafter.commit(prompt(4), load_base(bundle).verify(prompt(4)))
    assert drafter.draft(77, 5, greedy, 0.3).tokens == (78, 79, 80)


@pytest.mark.parametrize("sampler", ["greedy", "gumbel"])
@each_kind
def test_the_text_is_that_of_plain_decode(bundle: Bundle, hooks: Hooks, kind: str, sampler: str) -> None:
    options = Options(max_tokens=25, k=3, sampler=sampler, temperature=0.0 if sampler == "greedy" else 0.7)
    plain = run(load_base(bundle), None, prompt(6), options)
    base, drafter = load_base(bundle), hooked(bundle, kind, hooks)
    run_ = Run(base, drafter, 6, prefill(base, prompt(6)), options, candidates=2)
    made = list(rounds(run_))
    assert tuple(run_.emitted) == plain.tokens
    assert all(len(round_.draft_top or ()) == len(round_.drafts or ()) for round_ in made)


@each_kind
def test_a_graph_that_holds_the_embedding_takes_no_hook_for_it(bundle: Bundle, hooks: Hooks, kind: str) -> None:
    session = Session(bundle.folder / f"{kind}.onnx")
    with pytest.raises(ModelError, match="the graph has no inputs_embeds"):
        KINDS[kind](session, DrafterInfo(kind=kind, name="x"), CONTEXT, hooks)


@each_kind
def test_a_graph_without_an_embedding_needs_the_hook(bundle: Bundle, kind: str) -> None:
    session = Session(opened(bundle.folder, kind))
    with pytest.raises(ModelError, match=r"the graph has no (input_ids|logits)"):
        KINDS[kind](session, DrafterInfo(kind=kind, name="x"), CONTEXT)


@each_kind
def test_embeddings_of_another_width_are_a_fault(bundle: Bundle, hooks: Hooks, kind: str) -> None:
    def narrow(tokens: Sequence[int]) -> Floats:
        return np.zeros((len(tokens), 3), np.float32)

    drafter = hooked(bundle, kind, Hooks(narrow, hooks.choose))
    with pytest.raises(EngineFault, match=r"the embed hook gave shape \(\d, 3\), the drafter takes \(\d, 32\)"):
        next_draft(drafter, bundle)


@each_kind
def test_a_choice_outside_the_vocabulary_ends_the_run(bundle: Bundle, hooks: Hooks, kind: str) -> None:
    drafter = hooked(bundle, kind, Hooks(hooks.embed, lambda *_: Pick(VOCAB, 0.5, 0.5)))
    base = load_base(bundle)
    run_ = Run(base, drafter, 6, prefill(base, prompt(6)), Options(max_tokens=9, k=1))
    assert run_.step() is None
    assert f"the drafter proposed token {VOCAB}" in run_.events[-1].message


def test_dflash_2_has_its_choice_in_the_graph(bundle: Bundle, hooks: Hooks) -> None:
    session = Session(bundle.folder / "dflash2.onnx")
    with pytest.raises(Refused, match="takes no choose hook"):
        DFlash2Drafter(session, DrafterInfo(kind="dflash2", name="x"), CONTEXT, Hooks(choose=hooks.choose))
