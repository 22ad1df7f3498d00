"""Records a speculative loop as a specstep trace. Copy this file into your engine: it needs only ``msgpack``."""

import os
from collections.abc import Sequence
from typing import Any

import msgpack


class Probe:
    """Call ``begin``, ``prefill``, ``round`` for each round, and ``end``. Every record is one write."""

    def __init__(self, path: str) -> None:
        self._fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        self._rounds = self._pos = self._emitted = 0

    def _put(self, type_: str, **fields: Any) -> None:
        os.write(self._fd, msgpack.packb({"type": type_, **fields}))

    def begin(self, prompt: list[int], base: dict[str, Any], drafter: dict[str, Any] | None, **options: Any) -> None:
        head = {"format": "specstep", "version": 1, "minor": 0, "detail": "full"}
        self._put("header", **head, base=base, drafter=drafter, options=options, prompt=prompt)

    def prefill(self, positions: int, first: int, **more: Any) -> None:
        self._pos = positions
        self._put("prefill", positions=positions, next=first, **more)

    def round(self, form: str, t1: int, drafts: Sequence[int], targets: Sequence[int], take: int, **more: Any) -> None:
        row = {"index": self._rounds, "form": form, "pos": self._pos, "t1": t1, "drafts": drafts, "targets": targets}
        self._rounds, self._pos, self._emitted = self._rounds + 1, self._pos + take + 1, self._emitted + take + 1
        row |= {"take": take, "emitted": [t1, *drafts[:take]], "next": targets[take], "consumed": self._pos}
        self._put("round", **row, **more)

    def event(self, code: str, message: str, level: str = "info") -> None:
        self._put("event", round=self._rounds - 1 if self._rounds else None, level=level, code=code, message=message)

    def end(self, reason: str) -> None:
        self._put("end", reason=reason, rounds=self._rounds, emitted=self._emitted, fell_back_at=None)
        os.close(self._fd)
