"""Runs with and without a fault, on the toys: they need no weights."""

import functools

import msgspec

from engine.faults.fault import Fault
from engine.faults.running import begin_faulty
from engine.live import Stepper, begin
from engine.opening import TOY, TOY_HYBRID, Models, open_models
from engine.records import AnyRecord, Round
from engine.request import LiveRequest

TAKES = "scripted:takes=" + "-".join("314024133042114403241304214")


def on_toy(request: LiveRequest) -> LiveRequest:
    """The same run on a toy, whose drafter stands in for a trained one."""
    if request.model in (TOY, TOY_HYBRID):
        return request
    drafter = request.drafter if request.drafter == "lookup" else TAKES
    return msgspec.structs.replace(request, model=TOY, drafter=drafter)


def right(request: LiveRequest) -> Stepper:
    """The run without a fault."""
    return begin(empty(request.model), request)


def faulty(fault: Fault, request: LiveRequest) -> Stepper:
    """The run with one."""
    return begin_faulty(fault, empty(request.model), request)


def empty(model: str) -> Models:
    """Models that are opened once, and empty; a run that uses them still is over."""
    models = opened(model)
    models.base.rollback(0)
    return models


@functools.cache
def opened(model: str) -> Models:
    """Models by their name."""
    return open_models(model)


def records_of(run: Stepper) -> list[AnyRecord]:
    """The records of a run that is made to its end, as a trace has them."""
    rounds = []
    while (round_ := run.step()) is not None:
        rounds.append(round_)
    return [run.header, run.prefill, *rounds, *run.events, run.end()]


def rounds_of(records: list[AnyRecord]) -> list[Round]:
    """Only the rounds."""
    return [record for record in records if isinstance(record, Round)]


def text_of(records: list[AnyRecord]) -> list[int]:
    """The emitted tokens."""
    return [token for round_ in rounds_of(records) for token in round_.emitted or ()]
