"""From names to loaded models: the bundled ones, a folder of them, or the toy that needs none."""

import dataclasses
from collections.abc import Callable, Sequence
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

BUNDLED, TOY, TOY_HYBRID = "bundled", "toy", "toy-hybrid"
TOY_VOCABULARY = 256
DEFAULTS = Options()


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
    says of the machine; ``drafters`` are the names that ``drafter`` opens as they are, "none" apart.
    """

    base: Base
    encode: Callable[[str], Sequence[int]]
    piece: Callable[[int], bytes | None]
    drafter: OpenDrafter
    drafters: tuple[str, ...]
    device: dict[str, Any]
    stop_tokens: tuple[int, ...] = ()

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


def open_models(model: str = BUNDLED, *, plain_width: int = 1, threads: int = 1) -> Models:
    """Open the bundled models, a toy, or a folder.

    Raises:
        ModelError: something is missing, damaged, or not for this machine.
    """
    if model in (TOY, TOY_HYBRID):
        return _toy(recurrent=model == TOY_HYBRID)
    return _bundle(None if model == BUNDLED else Path(model), plain_width, threads)


def _bundle(folder: Path | None, plain_width: int, threads: int) -> Models:
    from engine.models import bundled  # noqa: PLC0415 (onnxruntime is slow to import, and the toy needs none)

    if folder is not None and not folder.is_dir():
        raise ModelError(f"{folder}: no such folder; give a folder of models, {BUNDLED!r} or {TOY!r}")
    bundle = bundled.open_bundle(folder)
    tokenizer = bundle.tokenizer()
    base = bundled.load_base(bundle, threads=threads, plain_width=plain_width)
    start = [] if bundle.manifest.start_token is None else [bundle.manifest.start_token]

    def encode(text: str) -> list[int]:
        tokens = tokenizer.encode(text)  # a chat template may have begun with the start token already
        return tokens if tokens[:1] == start else [*start, *tokens]

    def drafter(spec: str, text: Sequence[int] = (), options: Options = DEFAULTS) -> Drafter | None:
        choice = named.parse(spec)
        match choice.name:
            case "none":
                choice.only()
                return None
            case "lookup":
                return named.lookup(choice)
            case "synthetic":
                twin = bundled.load_base(bundle, threads=threads, plain_width=plain_width)
                return _synthetic(choice, twin, text, options)
            case "draft-model":
                return _draft_model(choice, base, tokenizer.piece, threads)
            case kind:
                choice.only()
                return bundled.load_drafter(bundle, kind, threads=threads)

    return Models(
        base=base,
        encode=encode,
        piece=tokenizer.piece,
        drafter=drafter,
        drafters=(*bundle.manifest.drafters, "lookup"),
        device=base.device(),
        stop_tokens=bundle.manifest.stop_tokens,
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

    def drafter(spec: str, text: Sequence[int] = (), options: Options = DEFAULTS) -> Drafter | None:
        choice = named.parse(spec)
        match choice.name:
            case "none":
                choice.only()
                return None
            case "lookup":
                return named.lookup(choice)
            case "scripted":
                choice.only("takes")
                return ScriptedDrafter(
                    lambda history: int(np.argmax(logits_of(history))),
                    TOY_VOCABULARY,
                    _takes(choice.arguments.get("takes")),
                )
            case "synthetic":
                return _synthetic(choice, made(), text, options)
            case "draft-model":
                return _draft_model(choice, base, piece, 1)
            case kind:
                raise ModelError(f"the toy base has no drafter {kind!r}, it has {', '.join(offered)} and none")

    return Models(
        base=base,
        encode=lambda text: list(text.encode()),
        piece=piece,
        drafter=drafter,
        drafters=offered[:2],
        device={"provider": "python", "placement": {}, "requested": ["python"]},
    )


def _synthetic(choice: named.Named, twin: Base, text: Sequence[int], options: Options) -> Drafter:
    """A drafter that knows plain decode's text after ``text``. ``twin``, an empty copy of the base, decodes it here."""
    left = options.max_tokens
    if twin.context_length is not None:
        left = min(left, max(1, twin.context_length - len(text)))
    plain = run(twin, None, text, msgspec.structs.replace(options, max_tokens=left))
    return named.synthetic(choice, (*text, *plain.tokens), twin.vocab_size)


def _draft_model(choice: named.Named, base: Base, piece: Callable[[int], bytes], threads: int) -> Drafter:
    """The base of another folder as a drafter. It has to read the same tokens."""
    choice.only("model")
    model = choice.arguments.get("model")
    if model is None:
        raise Refused("drafter draft-model: name its model, as in draft-model:FOLDER")
    other = open_models(model, threads=threads)
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
