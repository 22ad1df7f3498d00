"""From names to loaded models: the bundled ones, a folder of them, or the toy that needs none."""

import dataclasses
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from engine.base.base import Base
from engine.base.toy import ToyBase, linear_choice
from engine.drafters import named
from engine.drafters.drafter import Drafter
from engine.drafters.scripted import ScriptedDrafter
from engine.errors import ModelError, Refused

BUNDLED, TOY = "bundled", "toy"
TOY_VOCABULARY = 256


@dataclasses.dataclass(frozen=True)
class Models:
    """A base, what reads and writes its text, and the drafters that go with it.

    ``encode`` gives a prompt's token ids with whatever the base wants before them; ``device`` is what a trace's header
    says of the machine; ``drafter`` opens one by name (``None`` for "none") and raises ``ModelError`` or ``Refused``.
    """

    base: Base
    encode: Callable[[str], Sequence[int]]
    piece: Callable[[int], bytes | None]
    drafter: Callable[[str], Drafter | None]
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
        return list(self.encode(text)[len(self.encode("")) :])


def open_models(model: str = BUNDLED, *, plain_width: int = 1, threads: int = 1) -> Models:
    """Open the bundled models, the toy, or a folder.

    Raises:
        ModelError: something is missing, damaged, or not for this machine.
    """
    if model == TOY:
        return _toy()
    return _bundle(None if model == BUNDLED else Path(model), plain_width, threads)


def _bundle(folder: Path | None, plain_width: int, threads: int) -> Models:
    from engine.models import bundled  # noqa: PLC0415 (onnxruntime is slow to import, and the toy needs none)

    if folder is not None and not folder.is_dir():
        raise ModelError(f"{folder}: no such folder; give a folder of models, {BUNDLED!r} or {TOY!r}")
    bundle = bundled.open_bundle(folder)
    tokenizer = bundle.tokenizer()
    base = bundled.load_base(bundle, threads=threads, plain_width=plain_width)
    start = bundle.manifest.start_token

    def drafter(spec: str) -> Drafter | None:
        choice = named.parse(spec)
        match choice.name:
            case "none":
                choice.only()
                return None
            case "lookup":
                return named.lookup(choice)
            case kind:
                choice.only()
                return bundled.load_drafter(bundle, kind, threads=threads)

    return Models(
        base=base,
        encode=lambda text: [start, *tokenizer.encode(text)],
        piece=tokenizer.piece,
        drafter=drafter,
        device=base.device(),
        stop_tokens=bundle.manifest.stop_tokens,
    )


def _toy() -> Models:
    """A base over single bytes whose choice is a sum modulo 256: no text worth reading, but every rule at work."""
    logits_of = linear_choice(TOY_VOCABULARY)

    def drafter(spec: str) -> Drafter | None:
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
            case kind:
                raise ModelError(f"the toy base has no drafter {kind!r}, it has scripted, lookup and none")

    return Models(
        base=ToyBase(TOY_VOCABULARY, logits_of),
        encode=lambda text: list(text.encode()),
        piece=lambda token: bytes([token]),
        drafter=drafter,
        device={"provider": "python", "placement": {}, "requested": ["python"]},
    )


def _takes(text: str | None) -> list[int] | None:
    if text is None:
        return None
    try:
        return [int(part) for part in text.split("-")]
    except ValueError as error:
        raise Refused(f"drafter scripted: takes is {text!r}, expected numbers as in takes=3-1-0") from error
