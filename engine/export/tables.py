"""A trace as JSON (every record) and as CSV (a row a round)."""

import csv
import io
import json
import re
from collections.abc import Iterator
from typing import Any

from engine.as_json import as_json
from engine.export.series import Rolling
from engine.export.visible import Joiner, one_line
from engine.ngrams import Text
from engine.records import Record, Round
from engine.stats import PHASES, Stats
from engine.trace.reader import Trace

_COLUMNS = ("index", "form", "reason", "pos", "limit", "drafted", "verified", "take", "emitted", "cut", "consumed")
_ROWS = 512
_FORMULA = re.compile(r"[=+\-@\t\r]")


def json_chunks(trace: Trace) -> Iterator[str]:
    """One object: ``header``, ``prefill``, ``rounds``, ``events``, ``end``, ``stats`` and ``torn``; ASCII only."""
    stats, rows, said = Stats(), Texts(trace), Text()
    yield f'{{"header": {_json(trace.header)},\n"prefill": {_json(trace.prefill)},\n"rounds": ['
    for index in range(len(trace)):
        round_ = trace.round(index)
        stats.add(round_)
        said.add(round_.emitted)
        text = json.dumps(rows.of(round_))
        yield f'{"," if index else ""}\n{_json(round_)[:-1]}, "text": {text}}}'
    events = ",\n".join(_json(event) for event in trace.events())
    yield f'\n],\n"events": [{events}],\n"end": {_json(trace.end)},\n'
    figures = stats.as_map(trace.prefill, trace.end, trace.header.detail, said.tokens)
    yield f'"stats": {_ascii(figures)},\n"torn": {json.dumps(str(trace.torn) if trace.torn else None)}}}\n'


def csv_chunks(trace: Trace) -> Iterator[str]:
    """A row a round; an empty cell is unknown. Text that a spreadsheet would take for a formula begins with ``'``."""
    rolling, texts, sheet = Rolling(trace.header.options), Texts(trace), io.StringIO()
    rows = csv.writer(sheet, lineterminator="\n")
    rows.writerow((*_COLUMNS, "mean", "off", *(f"ms_{phase}" for phase in PHASES), "text"))
    for index in range(len(trace)):
        round_ = trace.round(index)
        mean, ms = rolling.after(round_), round_.ms or {}
        known = None if round_.drafts is None and round_.n_drafts is None else round_.drafted
        verified = None if known is None else round_.in_batch
        counts = (round_.pos, round_.limit, known, verified, round_.take, round_.count)
        text = one_line(texts.of(round_))
        rows.writerow(
            (
                *(round_.index, _cell(round_.form), _cell(round_.reason)),
                *counts,
                *(_cell(round_.cut), round_.consumed),
                *("" if mean is None else f"{mean:.6g}", int(rolling.off)),
                *(f"{ms[phase]:.6g}" if phase in ms else "" for phase in PHASES),
                _cell(text),
            )
        )
        if index % _ROWS == _ROWS - 1:
            yield _drained(sheet)
    yield _drained(sheet)


class Texts:
    """The text that each round emits, read in order."""

    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        self._joiner = Joiner()

    def of(self, round_: Round) -> str:
        """What ``round_`` adds to the text; empty where only counts are known."""
        return "".join(self._joiner.feed(token, self._trace.piece(token)) for token in round_.emitted or ())


def _json(record: Record | None) -> str:
    """The record with every known key."""
    return "null" if record is None else _ascii(record)


def _ascii(value: Any) -> str:
    """Not a number is null; characters outside ASCII are escaped, so that no terminal obeys them."""
    text = as_json(value)
    return text if text.isascii() else json.dumps(json.loads(text))


def _cell(text: str | None) -> str:
    text = one_line(text or "")
    return f"'{text}" if _FORMULA.match(text) else text


def _drained(sheet: io.StringIO) -> str:
    text = sheet.getvalue()
    sheet.seek(0)
    sheet.truncate()
    return text
