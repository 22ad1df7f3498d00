"""The inputs and outputs of a folder's graph by name, checked for what a base needs of them."""

import re
from collections.abc import Iterable, Mapping
from typing import Any

from engine.base.state import TYPES, KeyValueSizes, state_pairs, state_tensors
from engine.base.wiring import Wiring
from engine.errors import ModelError
from engine.folders.config import Facts, Names
from engine.session import Session

_HIDDEN = ("hidden_states", "hidden", "last_hidden_state")
_TAPS = ("aux_hidden_states", "taps")
_KEYS = re.compile(r"key|value")


def wiring_of(session: Session, facts: Facts) -> Wiring:
    """What the graph calls things: as its configuration says, else by their usual names.

    Raises:
        ModelError: it lacks what a base needs, with what that means.
    """
    inputs, outputs = facts.names
    ids, mask, positions = (
        _known(session.inputs, inputs.get(usual, ""), usual)
        for usual in ("input_ids", "attention_mask", "position_ids")
    )
    logits = _known(session.outputs, outputs.get("logits", ""), "logits")
    if ids not in session.inputs and any("embeds" in name for name in session.inputs):
        raise ModelError(f"{session.name}: it takes embeddings in place of token ids: export it with its embedding")
    if logits not in session.outputs and "hidden_states" in session.outputs:
        raise ModelError(f"{session.name}: it gives hidden states and no logits: export it with its head")
    for name, kind, there in ((ids, "input", session.inputs), (logits, "output", session.outputs)):
        if name not in there:
            raise ModelError(
                f"{session.name}: it has no {kind} {name}, and nothing says which it is of {_some(there) or 'none'}: "
                "export it by onnxruntime-genai or Optimum, or name it in genai_config.json"
            )
    pairs = pairs_of(session, facts.names)
    if not pairs:
        raise ModelError(
            f"{session.name}: it takes no past keys and values, so that each pass would have to read the whole text "
            "again: export it with a cache, as with `--task text-generation-with-past`"
        )
    hidden = (outputs.get("hidden_states", ""), *_HIDDEN)
    found = {
        ours: next(name for name in names if name in session.outputs)
        for ours, names in (("hidden", hidden), ("taps", _TAPS))
        if any(name in session.outputs for name in names)
    }
    return Wiring(
        ids=ids,
        mask=mask,
        positions=positions,
        logits=logits,
        features=found,
        pairs=pairs,
        sizes=KeyValueSizes(facts.kv_heads, facts.head_dim),
    )


def check_shapes(session: Session, wiring: Wiring) -> None:
    """Refuse shapes that passes of one text, a few rows each, do not fit, and types that are not read here.

    Raises:
        ModelError: with the input, its shape, and what to do.
    """
    ids = session.inputs[wiring.ids].shape
    if len(ids) != 2:
        raise ModelError(f"{session.name}: {wiring.ids} has shape {_told(ids)}, expected one of batch and length")
    if isinstance(ids[0], int) and ids[0] != 1:
        raise ModelError(
            f"{session.name}: {wiring.ids} has a fixed batch of {ids[0]}, a text is a batch of 1: export the model "
            "with a batch of 1 or of any size"
        )
    mask = session.inputs.get(wiring.mask)
    if mask is not None and (len(mask.shape) != 2 or isinstance(mask.shape[1], int)):
        raise ModelError(
            f"{session.name}: {wiring.mask} has the fixed shape {_told(mask.shape)}, and a text grows: export the "
            "model with dynamic shapes"
        )
    shape = session.outputs[wiring.logits].shape
    if shape and len(shape) != 3:
        raise ModelError(
            f"{session.name}: {wiring.logits} has shape {_told(shape)}, expected one of batch, length and vocabulary, "
            "which has a row for each draft: export it with logits of every row"
        )
    for name in (wiring.logits, *wiring.features.values()):
        if session.outputs[name].type not in TYPES:
            raise ModelError(
                f"{session.name}: {name} is {session.outputs[name].type}: export the model with outputs of float or "
                "float16"
            )
    for tensor in state_tensors(session, wiring.pairs, wiring.sizes):
        if tensor.axis is None and _KEYS.search(tensor.past):
            shape = session.inputs[tensor.past].shape
            raise ModelError(
                f"{session.name}: {tensor.past} has the fixed shape {_told(shape)}, in which a text cannot grow: "
                "export the model with dynamic shapes"
            )


def vocabulary_of(session: Session, wiring: Wiring, facts: Facts) -> int:
    """How many tokens the logits are of.

    Raises:
        ModelError: nothing says it, or the graph and its configuration say different things.
    """
    size = next(iter(session.outputs[wiring.logits].shape[-1:]), None)
    if not isinstance(size, int):
        if facts.vocab_size is None:
            raise ModelError(
                f"{session.name}: neither the graph nor its configuration says how large its vocabulary is"
            )
        return facts.vocab_size
    if facts.vocab_size not in (None, size):
        raise ModelError(
            f"{session.name}: it gives logits of {size} tokens, its configuration says {facts.vocab_size}: the two are "
            "not of the same model"
        )
    return size


def pairs_of(session: Session, names: Names) -> dict[str, str]:
    """The present of each past: as the configuration says, by the usual names, or by others that exports have."""
    if found := _configured_pairs(session, names):
        return found
    usual = state_pairs(session)
    if usual and session.outputs.keys() >= set(usual.values()):
        return usual
    presents = {
        name: next((each for each in _presents(name) if each in session.outputs), "") for name in session.inputs
    }
    others = {name: present for name, present in presents.items() if present}
    return others if others.keys() >= usual.keys() else usual


def _presents(past: str) -> list[str]:
    """What exports call the output that follows an input."""
    out = re.sub(r"(?<=[._])in\b", "out", past)
    names = (past.replace("past_key_values", "present", 1), past.replace("past", "present", 1))
    return [*names, out, out.replace("past", "present", 1)]


def _configured_pairs(session: Session, names: Names) -> dict[str, str]:
    """Pairs by the patterns of the configuration, as in ``past_key_names`` and ``present_key_names``."""
    pairs = {}
    for key, past in names.inputs.items():
        present = names.outputs.get(key.replace("past", "present", 1))
        if not key.startswith("past_") or "%d" not in past or present is None:
            continue
        pattern = re.compile(r"(\d+)".join(map(re.escape, past.split("%d"))))
        for name in session.inputs:
            if found := pattern.fullmatch(name):
                pairs[name] = present.replace("%d", found[1])
    return pairs


def _known(there: Mapping[str, Any], configured: str, usual: str) -> str:
    """What the configuration calls it, where the graph has that or nothing better."""
    return configured if configured and (configured in there or usual not in there) else usual


def _some(names: Iterable[str], most: int = 4) -> str:
    first = list(names)
    more = f" and {len(first) - most} more" if len(first) > most else ""
    return ", ".join(first[:most]) + more


def _told(shape: tuple[int | str | None, ...]) -> str:
    return "[" + ", ".join("?" if size is None else str(size) for size in shape) + "]"
