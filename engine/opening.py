"""From names to loaded models: the bundled ones, a folder of them, or the toy that needs none."""

import dataclasses
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Protocol

import msgspec
import numpy as np

from engine.base.base import Base
from engine.base.toy import RecurrentToyBase, ToyBase, linear_choice
from engine.drafters import named
from engine.drafters.draft_model import DraftModelDrafter
from engine.drafters.drafter import Drafter
from engine.drafters.scripted import ScriptedDrafter
from engine.errors import ModelError, Refused
from engine.loop import run
from engine.options import Options
from engine.records import Event
from engine.request import Setup
from engine.unloadable import reason, within

BUNDLED, TOY, TOY_HYBRID = "bundled", "toy", "toy-hybrid"
TOY_VOCABULARY = 256
MANIFEST = "bundle.json"
DEFAULTS = Options()
USUAL = Setup()


class OpenDrafter(Protocol):
    """Opens a drafter, empty, by its name; ``None`` for "none"."""

    def __call__(self, spec: str, text: Sequence[int] = (), options: Options = DEFAULTS, /) -> Drafter | None:
        """``text`` and ``options`` are those of the run it is for, which only a synthetic drafter wants to know.

        Raises:
            ModelError: there is none of that name, or it cannot be loaded.
            Refused: its arguments make no sense.
        """


@dataclasses.dataclass(frozen=True)
class Models:
    """A base, what reads and writes its text, and the drafters that go with it.

    ``encode`` gives a prompt's token ids with whatever the base wants before them; ``device`` is what a trace's header
    says of the machine, drafters that were opened included; ``drafters`` are the names that ``drafter`` opens as they
    are, "none" apart, the best first; ``events`` are what was to be said of what was opened so far. ``about`` is what
    a header says of a model of one's own: its layout, its file, what it can do. ``chat`` makes of a prompt and a system
    prompt the token ids of a conversation, where the model has a template for that.
    """

    base: Base
    encode: Callable[[str], Sequence[int]]
    piece: Callable[[int], bytes | None]
    drafter: OpenDrafter
    drafters: tuple[str, ...]
    device: Callable[[], dict[str, Any]]
    stop_tokens: tuple[int, ...] = ()
    events: Callable[[], tuple[Event, ...]] = tuple
    about: dict[str, Any] = dataclasses.field(default_factory=dict)
    chat: Callable[[str, str | None], Sequence[int]] | None = None

    def tokens_of(self, prompt: str, *, chat: bool = False, system: str | None = None) -> Sequence[int]:
        """The token ids of a prompt, as it is or as the user's part of a conversation.

        Raises:
            Refused: the model has no chat template, or it will not have this.
        """
        if not chat:
            return self.encode(prompt)
        if self.chat is None:
            raise Refused(f"{self.base.info.name} has no chat template: give the prompt without --chat")
        return self.chat(prompt, system)

    def stop_token(self, text: str) -> int:
        """The one token that ``text`` is: an id in digits, or a text that the tokenizer gives one token for.

        Raises:
            Refused: it is more than one token, or no token of this vocabulary.
        """
        ids = [int(text)] if text.isdecimal() else self._bare(text)
        if len(ids) != 1 or ids[0] >= self.base.vocab_size:
            raise Refused(f"stop {text!r} is not one token of this vocabulary: give a token's text or its id")
        return ids[0]

    def _bare(self, text: str) -> list[int]:
        """Token ids of ``text`` without what the base wants before a prompt (which is not put there twice)."""
        ids, before = list(self.encode(text)), list(self.encode(""))
        return ids if text and ids == before else ids[len(before) :]


def open_models(model: str = BUNDLED, setup: Setup = USUAL) -> Models:
    """Open the bundled models, a toy, or a folder.

    Raises:
        ModelError: something is missing, damaged, or not for this machine.
        Refused: the setup is not for this model.
    """
    if model in (TOY, TOY_HYBRID):
        if setup.widths or not setup.provider.is_cpu:
            raise Refused(f"--model {model} is Python and no graph: it has no provider and no widths")
        return _toy(recurrent=model == TOY_HYBRID)
    if model == BUNDLED:
        return _bundle(None, setup)
    from engine.models.own.shelf import folder_of  # noqa: PLC0415 (onnxruntime, as in _bundle)

    try:
        path = folder_of(model) or Path(model)
        bundled = (path / MANIFEST).is_file()
    except OSError as error:
        raise ModelError(f"{model}: it cannot be read: {reason(error)}") from error
    return _bundle(path, setup) if bundled else _folder(path, setup)


def _folder(path: Path, setup: Setup) -> Models:
    """A model as onnxruntime-genai or Optimum lays it out."""
    from engine.folders.model import open_folder  # noqa: PLC0415 (onnxruntime, as in _bundle)
    from engine.folders.mtp import MTP, load_mtp  # noqa: PLC0415
    from engine.sessions import Sessions  # noqa: PLC0415

    model = open_folder(path)
    sessions = Sessions(setup.provider)
    load = partial(
        model.load, threads=setup.threads, plain_width=setup.plain_width, widths=setup.widths, session=sessions
    )
    loaded = load()
    base = loaded.base

    there = model.where.facts.drafters
    usable = tuple(name for name in (MTP,) if name in there)

    def own(choice: named.Named) -> Drafter:
        if choice.name in usable:
            choice.only()
            return load_mtp(model, loaded, threads=setup.threads, widths=setup.widths, session=sessions)
        if choice.name in there:
            raise ModelError(
                f"{model.where.name}: its drafter {choice.name} ({there[choice.name].file}) is made for paged "
                "attention, which onnxruntime has on CUDA alone: use lookup, draft-model:FOLDER or none"
            )
        use = ", ".join((*usable, "lookup", "draft-model:FOLDER"))
        raise ModelError(f"{model.where.name} has no drafter {choice.name!r} of its own: use {use} or none")

    return Models(
        base=base,
        encode=model.encode,
        piece=model.tokenizer.piece,
        drafter=_drafters(base, lambda: load().base, model.tokenizer.piece, setup, own),
        drafters=(*usable, "lookup"),
        device=lambda: {**base.device(), **sessions.account()},
        stop_tokens=model.stop_tokens,
        events=lambda: (*model.events(), *sessions.events),
        about=model.account(loaded),
        chat=None if model.template is None else model.chat,
    )


def _bundle(folder: Path | None, setup: Setup) -> Models:
    from engine.chat import template_of  # noqa: PLC0415 (jinja2)
    from engine.models import bundled  # noqa: PLC0415 (onnxruntime is slow to import, and the toy needs none)
    from engine.sessions import Sessions  # noqa: PLC0415

    if folder is not None and not folder.is_dir():
        raise ModelError(f"{folder}: no such folder; give a folder of models, {BUNDLED!r} or {TOY!r}")
    bundle = bundled.open_bundle(folder)
    tokenizer = bundle.tokenizer()
    sessions = Sessions(setup.provider)
    load_base = partial(
        bundled.load_base,
        bundle,
        threads=setup.threads,
        plain_width=setup.plain_width,
        widths=setup.widths,
        session=sessions,
    )
    base = load_base()
    start = [] if bundle.manifest.start_token is None else [bundle.manifest.start_token]

    def encode(text: str) -> list[int]:
        tokens = tokenizer.encode(text)  # a chat template may have begun with the start token already
        return tokens if tokens[:1] == start else [*start, *tokens]

    notes: tuple[Event, ...] = ()
    try:
        template = template_of(bundle.folder, bundle.manifest.source.get("special_tokens", {}))
    except ModelError as error:
        template, notes = None, (Event(code="model", message=f"there is no chat: {within(bundle.folder, error)}"),)

    def chat(prompt: str, system: str | None) -> list[int]:
        assert template is not None
        return tokenizer.encode(template.render(prompt, system))

    def own(choice: named.Named) -> Drafter:
        choice.only()
        return bundled.load_drafter(bundle, choice.name, threads=setup.threads, widths=setup.widths, session=sessions)

    return Models(
        base=base,
        encode=encode,
        piece=tokenizer.piece,
        drafter=_drafters(base, load_base, tokenizer.piece, setup, own),
        drafters=(*bundle.manifest.drafters, "lookup"),
        device=lambda: {**base.device(), **sessions.account()},
        stop_tokens=bundle.manifest.stop_tokens,
        events=lambda: (*notes, *sessions.events),
        about=bundle.account() | ({"chat": False} if notes else {}),
        chat=None if template is None else chat,
    )


def _toy(*, recurrent: bool) -> Models:
    """A base over single bytes whose choice is a sum modulo 256: no text worth reading, but every rule at work."""
    logits_of = linear_choice(TOY_VOCABULARY)

    offered = ("scripted", "lookup", "synthetic", "draft-model")

    def piece(token: int) -> bytes:
        return bytes([token])

    def made() -> ToyBase:
        return RecurrentToyBase(TOY_VOCABULARY) if recurrent else ToyBase(TOY_VOCABULARY, logits_of)

    base = made()

    def own(choice: named.Named) -> Drafter:
        if choice.name != "scripted":
            raise ModelError(f"the toy base has no drafter {choice.name!r}, it has {', '.join(offered)} and none")
        choice.only("takes")
        return ScriptedDrafter(
            lambda history: int(np.argmax(logits_of(history))), TOY_VOCABULARY, _takes(choice.arguments.get("takes"))
        )

    return Models(
        base=base,
        encode=lambda text: list(text.encode()),
        piece=piece,
        drafter=_drafters(base, made, piece, USUAL, own),
        drafters=offered[:2],
        device=lambda: {"provider": "python", "placement": {}, "requested": ["python"]},
    )


def _drafters(
    base: Base,
    again: Callable[[], Base],
    piece: Callable[[int], bytes],
    setup: Setup,
    own: Callable[[named.Named], Drafter],
) -> OpenDrafter:
    """Opens the drafters that every base can have; any other name is asked of ``own``. ``again``: another such base."""

    def drafter(spec: str, text: Sequence[int] = (), options: Options = DEFAULTS) -> Drafter | None:
        choice = named.parse(spec)
        match choice.name:
            case "none":
                choice.only()
                return None
            case "lookup":
                return named.lookup(choice)
            case "synthetic":
                return _synthetic(choice, again(), text, options)
            case "draft-model":
                return _draft_model(choice, base, piece, setup)
            case _:
                return own(choice)

    return drafter


def _synthetic(choice: named.Named, twin: Base, text: Sequence[int], options: Options) -> Drafter:
    """A drafter that knows plain decode's text after ``text``. ``twin``, an empty copy of the base, decodes it here."""
    left = options.max_tokens
    if twin.context_length is not None:
        left = min(left, max(1, twin.context_length - len(text)))
    plain = run(twin, None, text, msgspec.structs.replace(options, max_tokens=left))
    return named.synthetic(choice, (*text, *plain.tokens), twin.vocab_size)


def _draft_model(choice: named.Named, base: Base, piece: Callable[[int], bytes], setup: Setup) -> Drafter:
    """The base of another folder as a drafter. It has to read the same tokens."""
    choice.only("model")
    model = choice.arguments.get("model")
    if model is None:
        raise Refused("drafter draft-model: name its model, as in draft-model:FOLDER")
    other = open_models(model, setup._replace(plain_width=1))
    for token in range(min(base.vocab_size, other.base.vocab_size)):
        if other.piece(token) != piece(token):
            raise ModelError(
                f"drafter draft-model: {model} has another tokenizer than the base: token {token} is "
                f"{other.piece(token)!r} there and {piece(token)!r} here"
            )
    return DraftModelDrafter(other.base)


def _takes(text: str | None) -> list[int] | None:
    if text is None:
        return None
    try:
        return [int(part) for part in text.split("-")]
    except ValueError as error:
        raise Refused(f"drafter scripted: takes is {text!r}, expected numbers as in takes=3-1-0") from error
