"""Starts the run that a request describes, with a fault in it; its header says so."""

import msgspec

from engine.errors import Refused
from engine.faults.fault import Fault
from engine.live import Stepper, begin
from engine.opening import Models, open_models
from engine.request import LiveRequest


def open_faulty(fault: Fault, request: LiveRequest) -> Stepper:
    """Load the models that a request names and consume its prompt.

    Raises:
        ModelError: a model cannot be loaded.
        Refused: the request cannot make a run, or not one with this fault.
    """
    models = open_models(request.model, plain_width=request.options.plain_width, threads=request.threads)
    return begin_faulty(fault, models, request)


def begin_faulty(fault: Fault, models: Models, request: LiveRequest) -> Stepper:
    """Consume the prompt of a request with models that are open, and empty.

    Raises:
        ModelError: the drafter cannot be opened.
        Refused: the request cannot make a run, or not one with this fault.
    """
    sampler = request.options.sampler
    if sampler not in fault.samplers:
        raise Refused(f"fault {fault.name} needs the sampler {' or '.join(fault.samplers)}, not {sampler}")
    told = {**request.run, "fault": fault.name, "injected": fault.sentence}
    request = msgspec.structs.replace(request, run=told)
    return fault.tell(begin(fault.models(models), fault.request(request), fault.decides), request)
