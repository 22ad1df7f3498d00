"""What the JSON files beside a model's graph say of it."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from engine.errors import ModelError
from engine.unloadable import text_of

GENAI, CONFIG, GENERATION = "genai_config.json", "config.json", "generation_config.json"
TOKENIZER_CONFIG, SPECIAL_TOKENS = "tokenizer_config.json", "special_tokens_map.json"
DRAFTERS = ("mtp", "dflash2", "dspark")
"""Sections of ``genai_config.json`` for drafters that stand beside the decoder."""


class Names(NamedTuple):
    """What ``genai_config.json`` calls inputs and outputs; past and present with ``%d`` for the layer."""

    inputs: Mapping[str, str] = {}
    outputs: Mapping[str, str] = {}


class DrafterFacts(NamedTuple):
    """What ``genai_config.json`` says of a drafter beside the decoder; ``file`` is its graph's, inside the folder."""

    file: str
    kv_heads: int | None = None
    head_dim: int | None = None
    names: Names = Names()


class Facts(NamedTuple):
    """What is said of a model; ``None`` and empty where nothing is.

    ``stop_tokens`` are ids, ``stops_from`` names the file that they are from. ``notes`` are where files disagree.
    ``drafters`` are by the names of their sections, as in ``mtp``. ``window`` is how many positions the caches of
    layers that slide are to have room for, 0 where none slides.
    """

    kind: str = ""
    vocab_size: int | None = None
    context_length: int | None = None
    layers: int | None = None
    kv_heads: int | None = None
    head_dim: int | None = None
    bos: int | None = None
    stop_tokens: tuple[int, ...] = ()
    stops_from: str = ""
    names: Names = Names()
    notes: tuple[str, ...] = ()
    drafters: Mapping[str, DrafterFacts] = {}
    window: int = 0


def genai_facts(folder: Path) -> Facts:
    """Of an onnxruntime-genai folder, whose own file has the first word."""
    path = folder / GENAI
    model = _map(read(path), "model", path)
    decoder = _map(model, "decoder", path)
    if decoder.get("pipeline"):
        raise ModelError(f"{path}: the model is a pipeline of several graphs, which this version cannot run")
    stops = [(GENAI, _ids(model.get("eos_token_id"))), *_stops(folder, (GENERATION,))]
    return Facts(
        kind=str(model.get("type", "")),
        vocab_size=_integer(model, "vocab_size"),
        context_length=_integer(model, "context_length"),
        layers=_integer(decoder, "num_hidden_layers"),
        kv_heads=_integer(decoder, "num_key_value_heads", "num_attention_heads"),
        head_dim=_integer(decoder, "head_size") or _of_one_head(decoder, "hidden_size", "num_attention_heads"),
        bos=next(iter(_ids(model.get("bos_token_id"))), None),
        stop_tokens=_first(stops)[1],
        stops_from=_first(stops)[0],
        names=Names(_texts(decoder.get("inputs")), _texts(decoder.get("outputs"))),
        notes=tuple(_disagreements(stops)),
        drafters=_drafters(model, path),
        window=_window(decoder),
    )


def optimum_facts(folder: Path) -> Facts:
    """Of an Optimum folder, which keeps the files of transformers."""
    path = folder / CONFIG
    whole = read(path)
    text = whole.get("text_config")
    config = {**whole, **text} if isinstance(text, dict) else whole
    stops = list(_stops(folder, (GENERATION, CONFIG)))
    return Facts(
        kind=str(config.get("model_type", "")),
        vocab_size=_integer(config, "vocab_size"),
        context_length=_integer(config, "max_position_embeddings", "n_positions", "n_ctx", "seq_length"),
        layers=_integer(config, "num_hidden_layers", "n_layer"),
        kv_heads=_integer(config, "num_key_value_heads", "num_attention_heads", "n_head"),
        head_dim=_integer(config, "head_dim")
        or _of_one_head(config, "hidden_size", "num_attention_heads")
        or _of_one_head(config, "n_embd", "n_head"),
        bos=next(iter(_ids(config.get("bos_token_id"))), None),
        stop_tokens=_first(stops)[1],
        stops_from=_first(stops)[0],
        notes=tuple(_disagreements(stops)),
    )


def genai_graph(folder: Path) -> str:
    """The graph that ``genai_config.json`` names."""
    path = folder / GENAI
    decoder = _map(_map(read(path), "model", path), "decoder", path)
    return _filename(decoder, "decoder", "model.onnx", path)


def special_tokens(folder: Path) -> dict[str, str]:
    """The special tokens by name (``bos_token`` and so on), as text, from the tokenizer's own files."""
    found: dict[str, str] = {}
    for name in (SPECIAL_TOKENS, TOKENIZER_CONFIG):
        for key, value in (read(folder / name) if (folder / name).is_file() else {}).items():
            text = value.get("content") if isinstance(value, dict) else value
            if key.endswith("_token") and isinstance(text, str):
                found[key] = text
    return found


def adds_bos(folder: Path) -> bool:
    """Whether ``tokenizer_config.json`` says that a prompt begins with the token for its beginning."""
    path = folder / TOKENIZER_CONFIG
    return path.is_file() and read(path).get("add_bos_token") is True


def read(path: Path) -> dict[str, Any]:
    """A JSON file whose top is a map.

    Raises:
        ModelError: it is not that.
    """
    try:
        value = json.loads(text_of(path))
    except (ValueError, RecursionError) as error:
        raise ModelError(f"{path}: not JSON, or cut short ({error}): fetch it again") from error
    if not isinstance(value, dict):
        raise ModelError(f"{path}: it holds no settings by name: fetch it again")
    return value


def _drafters(model: Mapping[str, Any], path: Path) -> dict[str, DrafterFacts]:
    """Of the sections of drafters that are there and not switched off."""
    sections = {kind: model[kind] for kind in DRAFTERS if isinstance(model.get(kind), dict)}
    return {
        kind: DrafterFacts(
            file=_filename(section, kind, f"{kind}.onnx", path),
            kv_heads=_integer(section, "num_key_value_heads"),
            head_dim=_integer(section, "head_size"),
            names=Names(_texts(section.get("inputs")), _texts(section.get("outputs"))),
        )
        for kind, section in sections.items()
        if section.get("enabled") is not False
    }


def _window(decoder: Mapping[str, Any]) -> int:
    sliding = decoder.get("sliding_window")
    return (_integer(sliding, "window_size") or 0) if isinstance(sliding, dict) and sliding.get("layers") else 0


def _filename(section: Mapping[str, Any], of: str, usual: str, path: Path) -> str:
    name = section.get("filename", usual)
    if not isinstance(name, str) or not name or Path(name).is_absolute() or ".." in Path(name).parts:
        raise ModelError(f"{path}: the filename of its {of} is {name!r}: it has to be a file inside the folder")
    return name


def _stops(folder: Path, names: tuple[str, ...]) -> Iterator[tuple[str, tuple[int, ...]]]:
    for name in names:
        if (folder / name).is_file():
            yield name, _ids(read(folder / name).get("eos_token_id"))


def _first(stops: list[tuple[str, tuple[int, ...]]]) -> tuple[str, tuple[int, ...]]:
    return next((each for each in stops if each[1]), ("", ()))


def _disagreements(stops: list[tuple[str, tuple[int, ...]]]) -> Iterator[str]:
    taken = _first(stops)
    for name, ids in stops:
        if ids and set(ids) != set(taken[1]):
            yield f"{name} ends a text at {_told(ids)}, {taken[0]} at {_told(taken[1])}: the latter is taken"


def _told(ids: tuple[int, ...]) -> str:
    return "token " + ", ".join(map(str, ids))


def _ids(value: Any) -> tuple[int, ...]:
    values = value if isinstance(value, list) else [value]
    ids = (each for each in values if isinstance(each, int) and not isinstance(each, bool) and each >= 0)
    return tuple(dict.fromkeys(ids))


def _integer(config: Mapping[str, Any], *keys: str) -> int | None:
    values = (config.get(key) for key in keys)
    return next((value for value in values if isinstance(value, int) and value > 0 and value is not True), None)


def _of_one_head(config: Mapping[str, Any], width: str, heads: str) -> int | None:
    """The size of a head where nothing says it: so it is with most models."""
    whole, count = _integer(config, width), _integer(config, heads)
    return whole // count if whole and count else None


def _map(config: Mapping[str, Any], key: str, path: Path) -> dict[str, Any]:
    value = config.get(key)
    if not isinstance(value, dict):
        raise ModelError(f"{path}: it has no map {key!r}, so it describes no model of onnxruntime-genai")
    return value


def _texts(value: Any) -> dict[str, str]:
    entries = value.items() if isinstance(value, dict) else ()
    return {key: each for key, each in entries if isinstance(each, str)}
