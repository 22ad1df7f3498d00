"""Records a speculative loop as a specstep trace. Copy this file into your engine: it needs only ``msgpack``.

FORMAT.md says what the records mean and which other keys there are, README.md how to go about it.
"""

import os
from collections.abc import Mapping, Sequence
from typing import Any

import msgpack


class Probe:
    """Call ``begin``, ``prefill``, ``round`` after each round, and ``end``. Every record is one write.

    ``more`` are further keys, or other values for those that are worked out here. Scalars and arrays of numpy and torch
    may stand anywhere.
    """

    def __init__(self, path: str) -> None:
        self._fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | getattr(os, "O_BINARY", 0), 0o600)
        self._rounds = self._pos = self._emitted = 0

    def begin(
        self, prompt: Sequence[int], base: dict[str, Any], drafter: dict[str, Any] | None, **options: Any
    ) -> None:
        """``drafter`` is ``None`` for plain decoding. ``device``, ``run`` and ``writer`` are keys of the header."""
        head: dict[str, Any] = {"format": "specstep", "version": 1, "minor": 0, "detail": "full"}
        head |= {key: options.pop(key) for key in ("device", "run", "writer", "created") if key in options}
        self._put("header", head | {"base": base, "drafter": drafter, "options": options, "prompt": prompt})

    def pieces(self, pieces: Mapping[int, bytes]) -> None:
        """The bytes of tokens, before the first record with these tokens; each once."""
        self._put("tokens", {"pieces": {int(token): piece for token, piece in pieces.items()}})

    def prefill(self, positions: int, first: int, **more: Any) -> None:
        self._pos = positions
        self._put("prefill", {"positions": positions, "next": first} | more)

    def round(self, form: str, t1: int, drafts: Sequence[int], targets: Sequence[int], take: int, **more: Any) -> None:
        """No ``targets``: the base was not asked, as after the last token of an engine that stops there."""
        emitted = more.get("emitted", [t1, *drafts[:take]])
        row: dict[str, Any] = {"index": self._rounds, "form": form, "pos": self._pos, "t1": t1, "drafts": drafts}
        row |= {"take": take, "emitted": emitted}
        self._rounds += 1
        self._pos += len(emitted)
        self._emitted += len(emitted)
        if len(targets):
            row |= {"targets": targets, "consumed": self._pos}
        if 0 <= take < len(targets):
            row["next"] = targets[take]
        self._put("round", row | more)

    def event(self, code: str, message: str, level: str = "info") -> None:
        index = self._rounds - 1 if self._rounds else None
        self._put("event", {"round": index, "level": level, "code": code, "message": message})

    def end(self, reason: str, **more: Any) -> None:
        """``more`` may be ``fell_back_at`` and ``plain_ms``, the cost of a plain step."""
        self._put("end", {"reason": reason, "rounds": self._rounds, "emitted": self._emitted} | more)
        os.close(self._fd)

    def _put(self, type_: str, fields: dict[str, Any]) -> None:
        record = msgpack.packb({"type": type_} | fields, default=lambda value: value.tolist())
        while record:
            record = record[os.write(self._fd, record) :]
