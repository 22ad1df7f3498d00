"""Do the bundle's weights give the same greedy tokens in transformers' ``Qwen3ForCausalLM``?

The int8 weights are put back to float32 as the graph does it and loaded into ``Qwen3ForCausalLM``; every prompt is
continued greedily by both. Needs transformers, which nothing else here does.
"""

import argparse
import json
from pathlib import Path

import numpy as np
import torch
from transformers import Qwen3Config, Qwen3ForCausalLM

from engine.loop import prefill, run_from
from engine.models import bundled
from engine.models.recipe.export import weights
from engine.models.recipe.qwen3 import Shape
from engine.models.weights import quantize_rows
from engine.options import Options

PROMPTS = Path(bundled.__file__).parent / "prompts.json"


def transformers_model(path: Path) -> Qwen3ForCausalLM:
    """The base of ``path`` with its matrices rounded to int8 and back."""
    shape = Shape()
    config = Qwen3Config(
        vocab_size=shape.vocab_size,
        hidden_size=shape.hidden_size,
        intermediate_size=shape.intermediate_size,
        num_hidden_layers=shape.num_hidden_layers,
        num_attention_heads=shape.num_attention_heads,
        num_key_value_heads=shape.num_key_value_heads,
        head_dim=shape.head_dim,
        rms_norm_eps=shape.rms_norm_eps,
        rope_theta=shape.rope_theta,
        tie_word_embeddings=True,
        attention_bias=False,
        eos_token_id=0,
        bos_token_id=0,
        pad_token_id=0,
    )
    model = Qwen3ForCausalLM(config).eval()
    state = {}
    for name, array in weights(path).items():
        if array.ndim == 2:
            rows, scales = quantize_rows(array)
            state[f"model.{name}"] = torch.from_numpy(rows * scales)
        else:
            state[f"model.{name}"] = torch.from_numpy(array)
    missing, unexpected = model.load_state_dict(state, strict=False)
    assert not unexpected, unexpected
    assert set(missing) <= {"lm_head.weight"}, missing
    return model


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--base", type=Path, required=True, help="base.pt")
    parser.add_argument("--tokens", type=int, default=96)
    args = parser.parse_args()
    theirs = transformers_model(args.base)
    bundle = bundled.open_bundle()
    base, tokenizer = bundled.load_base(bundle), bundle.tokenizer()
    same = total = 0
    worst = 0.0
    for domain, prompts in json.loads(PROMPTS.read_text(encoding="utf-8")).items():
        for entry in prompts:
            ids = [0, *tokenizer.encode(entry["text"])]
            base.rollback(0)
            logits = prefill(base, ids)
            with torch.no_grad():
                expected = theirs(torch.tensor([ids])).logits[0, -1].numpy()
                text = theirs.generate(
                    torch.tensor([ids]), max_new_tokens=args.tokens, do_sample=False, attention_mask=None
                )[0, len(ids) :].tolist()
            worst = max(worst, float(np.abs(expected - logits).max()))
            options = Options(max_tokens=args.tokens, stop_tokens=(0,))
            ours = list(run_from(base, None, len(ids), logits, options).tokens)
            total += 1
            same += ours == text
            if ours != text:
                at = next(i for i, (a, b) in enumerate(zip(ours, text, strict=False)) if a != b)
                print(f"{domain} {entry['source']}: differs at token {at}")
    print(f"{same} of {total} texts equal, largest logit difference after a prompt {worst:.2e}")


if __name__ == "__main__":
    main()
