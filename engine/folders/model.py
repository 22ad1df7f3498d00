"""A model of a folder: its graph as a base, its tokenizer, its chat template, and an account of what it can do."""

import dataclasses
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec

from engine.base.onnx import OnnxBase
from engine.base.state import TYPES
from engine.chat import ChatTemplate, template_of
from engine.compiled import Widths, of_graph
from engine.errors import ModelError, Refused
from engine.folders.config import TOKENIZER_CONFIG, adds_bos, special_tokens
from engine.folders.first_try import best_passes
from engine.folders.graph import check_shapes, vocabulary_of, wiring_of
from engine.folders.layout import ModelFolder, model_folder
from engine.records import BaseInfo, Event
from engine.session import Session
from engine.stages import stage
from engine.tokenizer import Tokenizer

OpenSession = Callable[..., Session]
"""Makes the session of a graph, as ``Session`` does."""
QUANTISED = frozenset(
    {"MatMulNBits", "MatMulInteger", "MatMulIntegerToFloat", "DynamicQuantizeMatMul", "QLinearMatMul", "QGemm"}
)
"""Operators that may quantise the rows of a pass, together or by another kernel where there is one row."""
FEW = 0.5
"""A tokenizer that knows less than this share of the model's tokens is not the model's."""


class Abilities(msgspec.Struct, frozen=True):
    """What a graph was found to be able to do.

    ``truncate`` says how its state is cut back, ``hidden`` and ``taps`` how wide the rows are that drafters read,
    ``cache`` how keys and values are kept.
    """

    verify: str
    truncate: str
    hidden: int | None
    taps: int | None
    cache: str


@dataclasses.dataclass(frozen=True)
class LoadedGraph:
    """A base, empty, and what it can do; ``producer`` is what exported it, ``quantised`` its products of integers."""

    base: OnnxBase
    abilities: Abilities
    producer: str
    quantised: tuple[str, ...] = ()


@dataclasses.dataclass(frozen=True)
class FolderModel:
    """What is known of a model before its graph is loaded."""

    where: ModelFolder
    tokenizer: Tokenizer
    template: ChatTemplate | None
    stop_tokens: tuple[int, ...]
    begins_with: tuple[int, ...]
    notes: tuple[str, ...]

    def encode(self, text: str) -> list[int]:
        """A text's token ids with what the model wants around a prompt."""
        ids = self.tokenizer.encode(text, framed=True)
        return ids if tuple(ids[: len(self.begins_with)]) == self.begins_with else [*self.begins_with, *ids]

    def chat(self, prompt: str, system: str | None = None) -> list[int]:
        """The token ids of a conversation that the model is to answer.

        Raises:
            Refused: the model has no chat template, or it will not have this.
        """
        if self.template is None:
            raise Refused(
                f"{self.where.name} has no chat template: give the prompt without --chat, in the model's form"
            )
        return self.tokenizer.encode(self.template.render(prompt, system))

    def load(
        self,
        *,
        session: OpenSession = Session,
        threads: int = 1,
        plain_width: int = 1,
        widths: Sequence[int] = (),
    ) -> LoadedGraph:
        """Load the graph, find out what it can do. ``widths`` are the rows that a pass may have, if not any.

        Raises:
            ModelError: it cannot be loaded, or cannot be a base, with the reason.
            Refused: the graph has another width than these.
        """
        facts = self.where.facts
        opened = session(self.where.graph, threads=threads)
        wiring = wiring_of(opened, facts)
        check_shapes(opened, wiring)
        fitting = of_graph(widths, opened.fixed(wiring.ids, 1), opened.name)
        if fitting.widest == 1:
            raise ModelError(
                f"{opened.name}: its passes have one row, and a round verifies k + 1 of them in one pass: export the "
                "model with dynamic shapes, or with a wider pass"
            )
        vocabulary = vocabulary_of(opened, wiring, facts)
        self._check_tokenizer(vocabulary)
        features = {ours: opened.size(name) for ours, name in wiring.features.items()}
        stage(f"trying {opened.name} with two tokens")
        passes, cache = best_passes(opened, wiring, {"logits": vocabulary, **features}, fitting)
        hybrid = getattr(passes, "kind", "attention") == "hybrid"
        info = BaseInfo(
            name=self.where.name,
            vocab_size=vocabulary,
            layers=facts.layers,
            state="hybrid" if hybrid else "attention",
            dtype=TYPES[opened.outputs[wiring.logits].type].__name__,
        )
        abilities = Abilities(
            verify=_passes_of(fitting),
            truncate="at any position; what cannot be cut is put back and run again" if hybrid else "at any position",
            hidden=features.get("hidden"),
            taps=features.get("taps"),
            cache=cache,
        )
        base = OnnxBase(opened, info, facts.context_length, plain_width, passes, features, fitting)
        quantised = tuple(sorted(QUANTISED & (opened.operators() or frozenset())))
        return LoadedGraph(base, abilities, opened.producer, quantised)

    def events(self) -> tuple[Event, ...]:
        """What is to be said of the folder."""
        return tuple(Event(code="model", message=note) for note in self.notes)

    def account(self, loaded: LoadedGraph) -> dict[str, Any]:
        """The model for a trace's header: no path, but the name of its file."""
        where = self.where
        facts: dict[str, Any] = {
            "layout": where.layout,
            "kind": where.facts.kind,
            "file": where.graph.relative_to(where.folder).as_posix(),
            "bytes": where.bytes,
            "exported_by": loaded.producer,
            "quantised": list(loaded.quantised),
            "context": where.facts.context_length,
            "stops": self._stops(),
            "chat": self.template is not None,
            "can": msgspec.to_builtins(loaded.abilities),
        }
        return {key: value for key, value in facts.items() if value not in (None, "", [])}

    def _stops(self) -> str:
        if not self.stop_tokens:
            return "none known: a run goes on to its last token"
        told = (f"{self.tokenizer.piece(token).decode(errors='replace')} ({token})" for token in self.stop_tokens)
        return ", ".join(told) + f", from {self.where.facts.stops_from or TOKENIZER_CONFIG}"

    def _check_tokenizer(self, vocabulary: int) -> None:
        known = self.tokenizer.highest + 1
        if known > vocabulary or known < FEW * vocabulary:
            raise ModelError(
                f"{self.where.tokenizer}: its tokens go up to {known - 1}, the model has {vocabulary}: they "
                "are not of the same model"
            )


def _passes_of(widths: Widths) -> str:
    if not widths.sizes:
        return "any number of rows in one pass"
    return f"in passes of {' or '.join(map(str, widths.sizes))} rows, padded"


def open_folder(path: Path) -> FolderModel:
    """Read what a folder, or the folder around a graph, says of its model.

    Raises:
        ModelError: it has no known layout, or a file of it is missing or damaged.
    """
    where = model_folder(path)
    stage(f"reading the tokenizer of {where.name}")
    tokenizer = Tokenizer(where.tokenizer)
    folder = where.tokenizer.parent
    tokens = special_tokens(folder)
    template = template_of(folder, tokens)
    stops, notes = where.facts.stop_tokens, list(where.facts.notes)
    if where.others:
        notes.insert(0, f"{where.graph.relative_to(where.folder)} was taken; there is also {', '.join(where.others)}")
    told = tokens.get("eos_token", "")
    told_id = tokenizer.id_of(told) if told else None
    if told_id is not None and stops and told_id not in stops:
        notes.append(
            f"{TOKENIZER_CONFIG} ends a text at {told} ({told_id}), {where.facts.stops_from} at "
            f"token {', '.join(map(str, stops))}: the latter is taken"
        )
    elif told_id is not None and not stops:
        stops = (told_id,)
    bos = tokenizer.id_of(tokens["bos_token"]) if "bos_token" in tokens else where.facts.bos
    begins_with = (bos,) if adds_bos(folder) and bos is not None else ()
    return FolderModel(where, tokenizer, template, stops, begins_with, tuple(notes))
