"""A published DFlash or DFlash 2 drafter beside a GGUF base: its graph computes what its folder holds."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from engine.base.onnx import OnnxBase
from engine.drafters.drafter import Drafter, first_best
from engine.errors import ModelError
from engine.loop import Run, prefill, rounds
from engine.models.bundled import Bundle, load_base, load_drafter, open_bundle
from engine.models.graph_dflash import Sight
from engine.models.own.build import Choices, Plan
from engine.models.weights import Storage
from engine.options import Options
from engine.paths import models_dir
from tests.cli.commands import specstep
from tests.models.reference import Reference
from tests.models.tiny import assert_close
from tests.own.tiny_block import HALF, HIDDEN, MASK, ROWS, TAPS, TOP, Published, publish, sizes
from tests.own.tiny_gguf import CONTEXT, LAYERS, WORDS, Arrays, Tiny, write

TOKENS = [int(token) for token in np.random.default_rng(1).integers(0, len(WORDS), 40)]
T1 = 20
USUAL = Tiny()


def built(path: Path, what: Published, tiny: Tiny = USUAL, **choices: Any) -> tuple[Bundle, Arrays, Arrays]:
    """The bundle of a base and its drafter; the weights of both."""
    base, own = write(path / "model.gguf", tiny), publish(path / "drafter", what)
    Plan(path / "model.gguf", Choices("tiny", drafter=path / "drafter", **choices)).write(path / "model")
    return open_bundle(path / "model"), base, own


def opened(bundle: Bundle, kind: str, count: int) -> tuple[OnnxBase, Drafter]:
    """Base and drafter behind the first tokens."""
    base, drafter = load_base(bundle), load_drafter(bundle, kind)
    base.prefill(TOKENS[:count])
    drafter.commit(TOKENS[:count], base.features(0, count))
    return base, drafter


def wanted(
    base: Arrays, own: Arrays, count: int, sights: tuple[Sight, ...] = (), theta: float = 500.0, scale: float = 1.0
) -> tuple[Reference, np.ndarray]:
    """The network of the drafter in numpy, and the states of its rows."""
    _, _, taps = Reference(Tiny().sizes, base).states(TOKENS[:count], TAPS)
    reference = Reference(sizes(theta), base)
    weights = {**own, "mask": scale * base["embed_tokens.weight"][MASK]}
    return reference, reference.dflash_rows(weights, T1, taps, ROWS, sights, scale)


@pytest.mark.parametrize("count", [1, 9, 40])
@pytest.mark.parametrize("what", [Published(), Published(dtype=HALF), Published(dtype=np.float16, biased=True)])
def test_a_dflash_drafter_computes_its_own_network(tmp_path: Path, what: Published, count: int) -> None:
    bundle, base, own = built(tmp_path, what)
    draft = opened(bundle, "dflash", count)[1].draft(T1, ROWS - 1, first_best, 0.0)
    reference, rows = wanted(base, own, count)
    if what.biased:
        rows = _with_output_bias(reference, base, own, count)
    assert_close(draft.logits, reference.head(rows))
    assert draft.tokens == tuple(reference.head(rows).argmax(-1))


class _Biased(Reference):
    """Its attention's last product has a bias too."""

    def _attend(self, weights: Any, prefix: str, *arguments: Any) -> Any:
        return super()._attend(weights, prefix, *arguments) + weights[f"{prefix}.self_attn.o_proj.bias"]


def _with_output_bias(reference: Reference, base: Arrays, own: Arrays, count: int) -> np.ndarray:
    _, _, taps = Reference(Tiny().sizes, base).states(TOKENS[:count], TAPS)
    weights = {**own, "mask": base["embed_tokens.weight"][MASK]}
    return _Biased(reference.sizes, base).dflash_rows(weights, T1, taps, ROWS)


@pytest.mark.parametrize("count", [1, 12])
def test_a_dflash_2_drafter_walks_its_own_candidates(tmp_path: Path, count: int) -> None:
    bundle, base, own = built(tmp_path, Published("dflash2", dtype=HALF))
    draft = opened(bundle, "dflash2", count)[1].draft(T1, ROWS - 1, first_best, 0.0)
    reference, rows = wanted(base, own, count)
    walk, scores = reference.selector_walk(own, T1, rows, TOP)
    assert draft.tokens == tuple(walk)
    assert_close(draft.logits, scores)


SLIDING = {"layer_types": ["sliding_attention"] * 2, "sliding_window": 6}
MIXED = {"layer_types": ["full_attention", "sliding_attention"], "sliding_window": 4}


@pytest.mark.parametrize(
    ("changes", "own", "sights"),
    [
        (SLIDING, {}, (Sight(True, 6),) * 2),
        ({**SLIDING, "is_causal": False}, {}, (Sight(False, 6),) * 2),
        (SLIDING, {"causal": False}, (Sight(False, 6),) * 2),
        (MIXED, {}, (Sight(), Sight(True, 4))),
        ({"is_causal": True}, {}, (Sight(True),) * 2),
        ({"layer_types": ["full_attention"] * 2, "sliding_window": None}, {}, ()),
    ],
)
@pytest.mark.parametrize("count", [3, 20])
def test_a_layer_sees_what_its_settings_say(
    tmp_path: Path, changes: dict[str, Any], own: dict[str, Any], sights: tuple[Sight, ...], count: int
) -> None:
    bundle, base, weights = built(tmp_path, Published(changes=changes, own=own))
    draft = opened(bundle, "dflash", count)[1].draft(T1, ROWS - 1, first_best, 0.0)
    reference, rows = wanted(base, weights, count, sights)
    assert_close(draft.logits, reference.head(rows))


def test_embeddings_and_logits_are_scaled_and_kept_within_a_cap(tmp_path: Path) -> None:
    scaled = {"input_embedding_scale": 3, "output_multiplier": 0.5, "final_logit_softcapping": 2.0}
    bundle, base, own = built(tmp_path, Published(own=scaled))
    draft = opened(bundle, "dflash", 9)[1].draft(T1, ROWS - 1, first_best, 0.0)
    reference, rows = wanted(base, own, 9, scale=3.0)
    assert_close(draft.logits, 2.0 * np.tanh(reference.head(rows) * 0.5 / 2.0))


def test_its_rotation_may_be_told_as_of_old_and_be_the_bases(tmp_path: Path) -> None:
    old = {"rope_parameters": None, "rope_theta": 10000.0, "rope_scaling": None}
    bundle, base, own = built(tmp_path, Published(changes=old))
    draft = opened(bundle, "dflash", 30)[1].draft(T1, ROWS - 1, first_best, 0.0)
    reference, rows = wanted(base, own, 30, theta=10000.0)
    assert_close(draft.logits, reference.head(rows))


@pytest.mark.parametrize("kind", ["dflash", "dflash2"])
@pytest.mark.parametrize("storage", list(Storage))
def test_the_text_is_plain_decodes_to_the_end_of_the_context(tmp_path: Path, kind: str, storage: Storage) -> None:
    bundle, _, _ = built(tmp_path, Published(kind), Tiny(tied=False), storage=storage)
    texts = []
    for drafter in (None, kind):
        base = load_base(bundle, plain_width=2)
        own = None if drafter is None else load_drafter(bundle, drafter)
        options = Options(k=ROWS - 1, max_tokens=CONTEXT - 11, plain_width=2)
        made = list(rounds(Run(base, own, 10, prefill(base, TOKENS[:10]), options)))
        texts.append([token for round_ in made for token in round_.emitted or ()])
    assert texts[0] == texts[1]
    assert len(texts[0]) == CONTEXT - 11


def test_layers_that_are_not_named_are_those_of_the_rule(tmp_path: Path) -> None:
    bundle, _, _ = built(tmp_path, Published(own={"target_layer_ids": [0]}, extra=_one_tap()))
    assert bundle.manifest.drafters["dflash"].taps == (0,)
    publish(tmp_path / "drafter", Published(own={"target_layer_ids": None}, extra=_one_tap(), changes=ONE_LAYER))
    plan = Plan(tmp_path / "model.gguf", Choices("tiny", drafter=tmp_path / "drafter"))
    assert plan.taps == (LAYERS // 2,)


def _one_tap() -> dict[str, np.ndarray]:
    return {"fc.weight": np.eye(HIDDEN, dtype=np.float32)}


ONE_LAYER = {"num_hidden_layers": 1}


@pytest.mark.parametrize(
    ("what", "says"),
    [
        (Published(changes={"architectures": ["LlamaForCausalLM"]}), "its architecture is LlamaForCausalLM; drafters"),
        (Published(changes={"architectures": None}), "its architecture is not told; drafters that can be built are"),
        (Published(changes={"num_target_layers": 36}), f"made for a base of 36 layers, this one has {LAYERS}"),
        (
            Published(changes={"hidden_size": 64}),
            f"its hidden_size is 64, the base's {HIDDEN}: it was made for another",
        ),
        (Published(changes={"vocab_size": 9}), "its vocab_size is 9, the base's"),
        (Published(changes={"hidden_act": "gelu"}), "made with 'gelu'"),
        (Published(changes={"rope_parameters": {"rope_type": "yarn", "rope_theta": 1e4}}), "its rotation is 'yarn'"),
        (Published(changes={"partial_rotary_factor": 0.25}), "its rotation is 'default' over 0.25 of a head"),
        (Published(changes={"num_key_value_heads": 3}), "2 layers of 2 heads over 3 cannot be"),
        (Published(changes={"head_dim": 7}), "heads of 7 cannot be rotated"),
        (Published(changes={"rms_norm_eps": None}), "it does not say 'rms_norm_eps', which has to be known"),
        (Published(changes={"block_size": None}), "it does not say 'block_size'"),
        (Published(changes={"block_size": 1}), f"a block of 1 rows with the mask token {MASK} cannot be"),
        (Published(changes={"block_size": "16"}), "its 'block_size' is '16', expected a whole number"),
        (Published(changes={"layer_types": ["full_attention"]}), "it names 1 types of layers for 2 layers"),
        (Published(changes={"layer_types": ["linear_attention"] * 2}), "layers of linear_attention are not supported"),
        (Published(changes={"layer_types": ["sliding_attention"] * 2}), "it does not say 'sliding_window'"),
        (Published(own={"mask_token_id": None}), "dflash_config: it does not say 'mask_token_id'"),
        (Published(own={"mask_token_id": 10**6}), "the mask token 1000000 cannot be"),
        (Published(own={"target_layer_ids": [0, LAYERS - 1]}), "it reads the layers .* from 0 to 1"),
        (Published(own={"target_layer_ids": [1, 0]}), "they have to be ascending"),
        (Published("dflash2", own={"conv_kernel_size": 3}), "convolutions over 3 rows in groups of 8"),
        (Published("dflash2", own={"selector_top_k": 0}), "a selector of rank 3 among 0 tokens"),
        (Published(without=("norm.weight", "fc.weight")), "it lacks fc.weight and 1 more, which a dflash drafter has"),
        (
            Published(extra={"d2t": np.zeros(4, np.float32)}),
            "tensor 'd2t' is in it, which is no part of a dflash drafter",
        ),
        (Published(extra={"norm.weight": np.ones(3, np.float32)}), r"norm.weight has the shape \(3,\), expected"),
        (
            Published(extra={"norm.weight": np.ones(HIDDEN, np.int8)}),
            "norm.weight is I8: take the checkpoint in bfloat",
        ),
    ],
)
def test_what_cannot_be_built_or_goes_with_another_base_is_named(tmp_path: Path, what: Published, says: str) -> None:
    with pytest.raises(ModelError, match=f"drafter.*{says}"):
        built(tmp_path, what)
    assert not (tmp_path / "model").exists()


def test_a_folder_that_is_not_there_or_damaged_is_named(tmp_path: Path) -> None:
    write(tmp_path / "model.gguf")
    folder = tmp_path / "drafter"
    choices = Choices("tiny", drafter=folder)
    with pytest.raises(ModelError, match="drafter: no such folder"):
        Plan(tmp_path / "model.gguf", choices)
    folder.mkdir()
    with pytest.raises(ModelError, match=r"drafter: no config\.json is in it"):
        Plan(tmp_path / "model.gguf", choices)
    (folder / "config.json").write_text("{}", encoding="utf-8")
    with pytest.raises(ModelError, match=r"drafter: no \*\.safetensors is in it"):
        Plan(tmp_path / "model.gguf", choices)
    publish(folder)
    for name, content in (("config.json", "[1]"), ("config.json", '{"a": '), ("config.json", "[" * 10**5)):
        before = (folder / name).read_text(encoding="utf-8")
        (folder / name).write_text(content, encoding="utf-8")
        with pytest.raises(ModelError, match=r"config\.json: .*: fetch it again"):
            Plan(tmp_path / "model.gguf", choices)
        (folder / name).write_text(before, encoding="utf-8")
    weights = next(folder.glob("*.safetensors"))
    weights.write_bytes(weights.read_bytes()[:-100])
    with pytest.raises(ModelError, match=r"safetensors: no safetensors file, or cut short"):
        Plan(tmp_path / "model.gguf", choices)


def test_other_taps_than_it_reads_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="it reads the layers 0, 1: leave --taps out"):
        built(tmp_path, Published(), taps=(0, 2))
    assert built(tmp_path, Published(), taps=TAPS)[0].manifest.drafters["dflash"].taps == TAPS


def test_weights_that_are_no_numbers_are_found_before_it_is_kept(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="gives numbers that are not finite"):
        built(tmp_path, Published(extra={"norm.weight": np.full(HIDDEN, np.nan, np.float32)}))


@pytest.mark.parametrize("kind", ["dflash", "dflash2"])
def test_the_command_adds_both_and_says_how_to_run_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    for name in ("XDG_DATA_HOME", "HOME"):
        monkeypatch.setenv(name, str(tmp_path / "data"))
    write(tmp_path / "Mine.gguf")
    publish(tmp_path / "Mine-DFlash-b5", Published(kind))
    added = specstep("models", "add", tmp_path / "Mine.gguf", "--drafter", tmp_path / "Mine-DFlash-b5")
    assert (added.code, added.out.splitlines()[0]) == (0, f"mine: {models_dir() / 'mine'}")
    assert f"run it with: specstep --model mine --drafter {kind}" in added.out
    assert f"taps 0, 1, float32 weights, drafted for by {kind}, 2 layers, blocks of {ROWS}" in added.err
    (facts,) = specstep("models", "list", "--json").json
    assert facts["drafters"] == [kind, "lookup"]
    assert facts["source"]["drafter"] == "Mine-DFlash-b5"
    manifest = json.loads((models_dir() / "mine" / "bundle.json").read_text(encoding="utf-8"))
    assert manifest["drafters"][kind]["block_size"] == ROWS
    probed = specstep("probe", "--model", "mine", "--prompt", "hello", "--max-tokens", "8", "--plain-width", "2")
    assert (probed.code, probed.err) == (0, "")
    assert kind in probed.out


def test_a_drafter_of_a_base_without_a_name_for_it_is_refused_by_the_command(tmp_path: Path) -> None:
    write(tmp_path / "model.gguf")
    publish(tmp_path / "drafter", Published(changes={"num_target_layers": 36}))
    refused = specstep(
        "models", "add", tmp_path / "model.gguf", "--drafter", tmp_path / "drafter", "--out", tmp_path / "m"
    )
    assert (refused.code, len(refused.err.splitlines())) == (2, 1)
    assert "it was made for a base of 36 layers" in refused.err
    assert not (tmp_path / "m").exists()
