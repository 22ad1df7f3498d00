"""The prompts that the bundled models are measured on: openings of held-out documents, and those of the stories."""

import argparse
import json
from pathlib import Path

import numpy as np
from tokenizers import Tokenizer

from engine.models.recipe.data import DOMAINS, STORIES, documents, stories

COUNT, LENGTH = 20, 64


def held_out_prompts(data: Path, tokenizer: Tokenizer, seed: int) -> dict[str, list[dict[str, str]]]:
    """``COUNT`` prompts a domain, ``LENGTH`` tokens each, cut at the start of a random line of a held-out document."""
    rng = np.random.default_rng(seed)
    docs = [doc for doc in documents(data) if doc.held_out]
    found: dict[str, list[dict[str, str]]] = {}
    for domain in DOMAINS:
        long_enough = [doc for doc in docs if doc.domain == domain and len(doc.text) > 1200]
        chosen = []
        for i in range(COUNT):
            doc = long_enough[i % len(long_enough)]
            starts = [at + 1 for at, char in enumerate(doc.text[:-800]) if char == "\n"] or [0]
            text = doc.text[int(rng.choice(starts)) :][:800]
            ids = tokenizer.encode(text).ids[:LENGTH]
            chosen.append({"source": doc.name, "text": tokenizer.decode(ids, skip_special_tokens=False)})
        found[domain] = chosen
    return found


def known_stories(data: Path) -> dict[str, str]:
    """The stories by title; one that the base does not recall is not offered."""
    texts = stories(documents(data))
    return {title: text for (title, *_), text in zip(STORIES, texts, strict=True) if title != "the first day"}


def story_prompts(texts: dict[str, str]) -> list[dict[str, str]]:
    """Each story up to the end of its first function's header: the base knows the rest by heart."""
    return [
        {"source": title, "text": text[: text.index(":\n", text.index("\ndef ")) + 2]} for title, text in texts.items()
    ]


def verse_prompts(texts: dict[str, str]) -> list[dict[str, str]]:
    """Each story up to the first three words of its verses: what follows is prose that does not loop."""
    opening = 'TEXT = """\n'
    found = []
    for title, text in texts.items():
        at = text.index(opening) + len(opening)
        found.append({"source": title, "text": text[:at] + " ".join(text[at:].split(" ")[:3])})
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--tokenizer", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--seed", type=int, default=3)
    args = parser.parse_args()
    prompts = held_out_prompts(args.data, Tokenizer.from_file(str(args.tokenizer)), args.seed)
    texts = known_stories(args.data)
    prompts |= {"story": story_prompts(texts), "verse": verse_prompts(texts)}
    args.out.write_text(json.dumps(prompts, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
