"""The greedy text of transformers after ten chat prompts, to hold a graph of the same weights against.

    python benchmarks/reference_texts.py HF_FOLDER -o texts.json

It needs torch and transformers, and nothing of specstep. ``benchmarks/folder_models.py`` reads what it writes.
"""

import argparse
import json
from pathlib import Path

PROMPTS = (
    "What is the capital of France?",
    "Explain in two sentences why the sky is blue.",
    "Write a short story about a lighthouse keeper who finds a letter.",
    "List five uses of a paper clip, one a line.",
    "Translate to French: The cat sleeps on the warm stone wall.",
    "What is 17 times 24? Show how you get there.",
    "Rename the variable x to total in this code and print the whole code again:\n"
    "def add(values):\n    x = 0\n    for value in values:\n        x = x + value\n    return x\n",
    "Summarise: A speculative decoder drafts several tokens with a cheap model, and checks all of them in one pass of "
    "the expensive one. What the expensive model agrees with is kept.",
    "Who wrote Romeo and Juliet, and when?",
    "Write a Python function that counts the words of a text.",
)


def main() -> None:
    """Write prompts, their token ids, and the tokens that follow, with the gap of the two best at each."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model", type=Path, help="a folder of transformers, weights and tokenizer")
    parser.add_argument("-o", "--output", type=Path, required=True)
    parser.add_argument("--max-tokens", type=int, default=64)
    parser.add_argument("--threads", type=int, default=1)
    arguments = parser.parse_args()

    import torch  # noqa: PLC0415 (slow, and not for --help)
    from transformers import AutoModelForCausalLM, AutoTokenizer  # noqa: PLC0415

    torch.set_num_threads(arguments.threads)
    tokenizer = AutoTokenizer.from_pretrained(arguments.model)
    model = AutoModelForCausalLM.from_pretrained(arguments.model, dtype=torch.float32).eval()
    made = []
    for prompt in PROMPTS:
        ids = tokenizer.apply_chat_template([{"role": "user", "content": prompt}], add_generation_prompt=True)
        ids = list(ids["input_ids"] if hasattr(ids, "keys") else ids)
        with torch.no_grad():
            out = model.generate(
                torch.tensor([ids]),
                attention_mask=torch.ones(1, len(ids), dtype=torch.long),
                max_new_tokens=arguments.max_tokens,
                do_sample=False,
                output_scores=True,
                return_dict_in_generate=True,
            )
        best = [score[0].topk(2).values for score in out.scores]
        tokens = out.sequences[0, len(ids) :].tolist()
        made.append({"prompt": prompt, "ids": ids, "tokens": tokens, "gaps": [float(a - b) for a, b in best]})
        print(f"{len(tokens):3} tokens  {tokenizer.decode(tokens)[:70]!r}", flush=True)
    arguments.output.write_text(json.dumps(made), encoding="utf-8")


if __name__ == "__main__":
    main()
