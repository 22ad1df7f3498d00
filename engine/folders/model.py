"""A model of a folder: its graph as a base, its tokenizer, its chat template, and an account of what it can do."""

import dataclasses
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import msgspec

from engine.base.onnx import OnnxBase
from engine.base.state import TYPES
from engine.chat import ChatTemplate, template_of
from engine.compiled import Widths, of_graph
from engine.errors import ModelError, Refused
from engine.folders.config import TOKENIZER_CONFIG, Facts, adds_bos, special_tokens
from engine.folders.first_try import QUANTISED, best_passes
from engine.folders.graph import check_shapes, vocabulary_of, wiring_of
from engine.folders.layout import ModelFolder, model_folder
from engine.folders.settled import settle
from engine.records import BaseInfo, Event
from engine.session import Session
from engine.stages import stage
from engine.tokenizer import Tokenizer
from engine.unloadable import reason, within

OpenSession = Callable[..., Session]
"""Makes the session of a graph, as ``Session`` does."""
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
    stops_from: str
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
            Refused: the graph has another width than these, or they are not for it.
        """
        try:
            opened = session(self.where.graph, threads=threads)
            settle(opened)
            exported_by = opened.producer
        except UnicodeDecodeError as error:
            raise ModelError(
                f"{self.where.graph}: a name in it is no text, so that it is damaged: fetch it again"
            ) from error
        facts = self.where.facts
        wiring = wiring_of(opened, facts)
        check_shapes(opened, wiring)
        fitting = of_graph(widths, opened.fixed(wiring.ids, 1), opened.name)
        _check_widths(opened.name, fitting, widths, facts.context_length)
        vocabulary = vocabulary_of(opened, wiring, facts)
        self._check_tokenizer(vocabulary)
        features = {ours: opened.size(name) for ours, name in wiring.features.items()}
        stage(f"trying {opened.name} with two tokens")
        passes, cache = best_passes(opened, wiring, {"logits": vocabulary, **features}, fitting, facts.window)
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
        return LoadedGraph(base, abilities, exported_by, quantised)

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
        return ", ".join(told) + f", from {self.stops_from}"

    def _check_tokenizer(self, vocabulary: int) -> None:
        known = self.tokenizer.highest + 1
        if self.tokenizer.beyond(vocabulary) or known < FEW * vocabulary:
            raise ModelError(
                f"{self.where.tokenizer}: its tokens go up to {known - 1}, the model has {vocabulary}: they "
                "are not of the same model"
            )


def _check_widths(name: str, fitting: Widths, wanted: Sequence[int], context_length: int | None) -> None:
    """Refuse passes that no round fits, or that do not fit the context."""
    if fitting.widest == 1:
        if wanted:
            raise Refused(f"{name}: a round verifies k + 1 rows in one pass, and --widths has no wider pass than 1")
        raise ModelError(
            f"{name}: its passes have one row, and a round verifies k + 1 of them in one pass: export the model with "
            "dynamic shapes, or with a wider pass"
        )
    if fitting.sizes and context_length is not None and fitting.narrowest > context_length:
        raise Refused(f"{name}: no pass of {fitting.narrowest} rows fits the context of {context_length} positions")


def _passes_of(widths: Widths) -> str:
    if not widths.sizes:
        return "any number of rows in one pass"
    return f"in passes of {' or '.join(map(str, widths.sizes))} rows, padded"


def open_folder(path: Path) -> FolderModel:
    """Read what a folder, or the folder around a graph, says of its model.

    Raises:
        ModelError: it has no known layout, or a file of it is missing or damaged.
    """
    try:
        return _read(path)
    except OSError as error:
        raise ModelError(f"{error.filename or path}: it cannot be read: {reason(error)}") from error


def _read(path: Path) -> FolderModel:
    where = model_folder(path)
    stage(f"reading the tokenizer of {where.name}")
    tokenizer = Tokenizer(where.tokenizer)
    folder, facts = where.tokenizer.parent, where.facts
    tokens = special_tokens(folder)
    notes = list(facts.notes)
    if where.others:
        notes.insert(0, f"{where.graph.relative_to(where.folder)} was taken; there is also {', '.join(where.others)}")
    lacking = 0 if facts.vocab_size is None else tokenizer.highest + 1 - facts.vocab_size
    if lacking > 0:
        notes.append(f"the model lacks the last {lacking} of its tokenizer's special tokens: no prompt can have them")
    try:
        template = template_of(folder, tokens)
    except ModelError as error:
        template = None
        notes.append(f"there is no chat: {within(folder, error)}")
    stops, stops_from, said = _stops(facts, tokenizer, tokens.get("eos_token", ""))
    bos = tokenizer.id_of(tokens["bos_token"]) if "bos_token" in tokens else facts.bos
    begins_with = (bos,) if adds_bos(folder) and bos is not None and bos <= tokenizer.highest else ()
    return FolderModel(where, tokenizer, template, stops, stops_from, begins_with, (*notes, *said))


def _stops(facts: Facts, tokenizer: Tokenizer, told: str) -> tuple[tuple[int, ...], str, list[str]]:
    """The ends of a text, the file that they are from, and where files disagree. ``told``: the tokenizer's own end."""
    notes = []
    stops = tuple(token for token in facts.stop_tokens if token <= tokenizer.highest)
    if stops != facts.stop_tokens:
        lost = _listed(token for token in facts.stop_tokens if token not in stops)
        notes.append(f"{facts.stops_from} ends a text at token {lost}, which the tokenizer does not have")
    told_id = tokenizer.id_of(told) if told else None
    if stops:
        if told_id is not None and told_id not in stops:
            notes.append(
                f"{TOKENIZER_CONFIG} ends a text at {told} ({told_id}), {facts.stops_from} at token {_listed(stops)}: "
                "the latter is taken"
            )
        return stops, facts.stops_from, notes
    return () if told_id is None else (told_id,), TOKENIZER_CONFIG, notes


def _listed(tokens: Iterable[int]) -> str:
    return ", ".join(map(str, tokens))
