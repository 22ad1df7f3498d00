"""Drafts of an exported MTP head against transformers' own layer, over the whole text in every round.

    python -m benchmarks.mtp_reference make HF_FOLDER [--layers linear,linear,linear,full]
    python -m onnxruntime_genai.models.builder -i HF_FOLDER -o FOLDER -p fp32 -e cpu --extra_options exclude_vision=true
    python -m benchmarks.mtp_reference check HF_FOLDER FOLDER

``make`` writes a tiny Qwen3.5 model with an MTP head, of random weights. It needs torch and transformers 5.
"""

import argparse
import copy
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from engine.loop import Run, prefill, rounds
from engine.opening import open_models
from engine.options import Options

VOCAB, HIDDEN = 512, 64
WEIGHTS = "mtp.safetensors"
NORMS = ("pre_fc_norm_embedding", "pre_fc_norm_hidden", "norm")
Drafts = Callable[[Sequence[int], int, int], tuple[int, ...]]
"""From a text, its ``t1`` and a number of drafts to those."""


def make(folder: Path, layers: Sequence[str]) -> None:
    """A model as transformers saves it, with the weights of a head beside it."""
    import torch  # noqa: PLC0415 (it, and what follows, only for this)
    from safetensors.torch import save_file  # noqa: PLC0415
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers  # noqa: PLC0415
    from transformers import PreTrainedTokenizerFast  # noqa: PLC0415
    from transformers.models.qwen3_5 import (  # noqa: PLC0415
        Qwen3_5Config,
        Qwen3_5ForConditionalGeneration,
        Qwen3_5TextConfig,
    )
    from transformers.models.qwen3_5.modeling_qwen3_5 import Qwen3_5DecoderLayer  # noqa: PLC0415

    torch.manual_seed(3)
    rope = {"rope_type": "default", "rope_theta": 10000.0, "partial_rotary_factor": 0.25}
    text: dict[str, Any] = {
        "vocab_size": VOCAB, "hidden_size": HIDDEN, "intermediate_size": 128, "num_hidden_layers": len(layers),
        "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 32, "linear_num_key_heads": 2,
        "linear_num_value_heads": 4, "linear_key_head_dim": 16, "linear_value_head_dim": 16,
        "max_position_embeddings": 1024, "layer_types": [f"{layer}_attention" for layer in layers],
        "rope_parameters": {**rope, "mrope_section": [2, 1, 1], "mrope_interleaved": True},
        "mtp_num_hidden_layers": 1, "bos_token_id": 1, "eos_token_id": 2, "pad_token_id": 0,
    }  # fmt: skip
    vision = {"depth": 1, "hidden_size": 32, "intermediate_size": 64, "num_heads": 2, "out_hidden_size": HIDDEN}
    model = Qwen3_5ForConditionalGeneration(Qwen3_5Config(text_config=text, vision_config=vision))
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if weight.dim() > 1:
                weight.mul_(8 if "embed" in name or "lm_head" in name else 4)
    model.save_pretrained(folder)
    one = {**text, "layer_types": ["full_attention"], "num_hidden_layers": 1}
    layer = Qwen3_5DecoderLayer(Qwen3_5TextConfig(**one), layer_idx=0).state_dict()
    weights = {f"mtp.layers.0.{name}": torch.randn_like(value) * 0.1 for name, value in layer.items()}
    mixed = torch.cat([torch.randn(HIDDEN, HIDDEN) * 0.02, 2 * torch.eye(HIDDEN)], dim=1)
    weights |= {"mtp.fc.weight": mixed} | {f"mtp.{name}.weight": torch.zeros(HIDDEN) for name in NORMS}
    save_file(weights, folder / WEIGHTS)
    (folder / "generation_config.json").write_text(json.dumps({"bos_token_id": 1, "eos_token_id": 2}), encoding="utf-8")
    names = ["<pad>", "<s>", "</s>", *sorted(pre_tokenizers.ByteLevel.alphabet())]
    tokenizer = Tokenizer(models.BPE({name: i for i, name in enumerate(names)}, []))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    saved = PreTrainedTokenizerFast(tokenizer_object=tokenizer, bos_token="<s>", eos_token="</s>", pad_token="<pad>")
    saved.save_pretrained(folder)


def reference(folder: Path) -> Drafts:
    """What transformers' modules draft, in float32: the head's layer over all pairs of a text, then its own."""
    import torch  # noqa: PLC0415
    from safetensors.torch import load_file  # noqa: PLC0415
    from transformers.models.qwen3_5 import Qwen3_5ForConditionalGeneration  # noqa: PLC0415
    from transformers.models.qwen3_5 import modeling_qwen3_5 as parts  # noqa: PLC0415

    model = Qwen3_5ForConditionalGeneration.from_pretrained(folder, dtype=torch.float32).eval()
    base, weights = model.model.language_model, load_file(folder / WEIGHTS)
    config = copy.deepcopy(model.config.text_config)
    config.layer_types, config.num_hidden_layers, config._attn_implementation = ["full_attention"], 1, "eager"
    layer = parts.Qwen3_5DecoderLayer(config, 0).eval()
    prefix = "mtp.layers.0."
    layer.load_state_dict({name.removeprefix(prefix): w for name, w in weights.items() if name.startswith(prefix)})
    norms = {name: parts.Qwen3_5RMSNorm(config.hidden_size, eps=config.rms_norm_eps) for name in NORMS}
    for name, norm in norms.items():
        norm.weight.data = weights[f"mtp.{name}.weight"]
    turns = parts.Qwen3_5TextRotaryEmbedding(config)

    @torch.no_grad()
    def drafts(text: Sequence[int], t1: int, count: int) -> tuple[int, ...]:
        hidden = base(input_ids=torch.tensor([text])).last_hidden_state[0]
        tokens, made = [*text[1:], t1], []
        for _ in range(count):
            embedded = norms["pre_fc_norm_embedding"](base.embed_tokens(torch.tensor([tokens])))
            pairs = torch.cat([embedded, norms["pre_fc_norm_hidden"](hidden[None])], -1) @ weights["mtp.fc.weight"].T
            n = len(tokens)
            places = torch.arange(n)[None, None].expand(3, 1, n)
            mask = torch.full((n, n), -1e30).triu(1)[None, None]
            out = layer(pairs, position_embeddings=turns(pairs, places), attention_mask=mask)
            own = norms["norm"](out[0] if isinstance(out, tuple) else out)[0, -1:]
            made.append(int(model.lm_head(own)[0].argmax()))
            tokens.append(made[-1])
            hidden = torch.cat([hidden, own])
        return tuple(made)

    return drafts


def check(hf: Path, folder: Path, prompts: int) -> None:
    """Print how many rounds were looked at, and which of them drafted otherwise."""
    wanted, models = reference(hf), open_models(str(folder))
    drafter = models.drafter("mtp")
    assert drafter is not None
    looked, kept, other = 0, 0, []
    for seed in range(prompts):
        rng = np.random.default_rng(seed)
        text = rng.integers(3, VOCAB // 2, int(rng.integers(2, 60))).tolist()
        models.base.rollback(0)
        drafter.rollback(0)
        options = Options(k=4, max_tokens=24)
        run = Run(models.base, drafter, len(text), prefill(models.base, text), options)
        for round_ in rounds(run):
            if round_.drafts and round_.t1 is not None:
                looked, kept = looked + 1, kept + round_.take
                if wanted(text, round_.t1, len(round_.drafts)) != round_.drafts:
                    other.append((seed, round_.index))
            text += round_.emitted or ()
    print(f"{looked} rounds, {kept} drafts kept; drafted otherwise in {len(other)}: {other}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    making = commands.add_parser("make")
    making.add_argument("hf", type=Path)
    making.add_argument("--layers", default="linear,linear,linear,full")
    checking = commands.add_parser("check")
    checking.add_argument("hf", type=Path)
    checking.add_argument("folder", type=Path)
    checking.add_argument("--prompts", type=int, default=12)
    args = parser.parse_args()
    if args.command == "make":
        make(args.hf, args.layers.split(","))
    else:
        check(args.hf, args.folder, args.prompts)


if __name__ == "__main__":
    main()
