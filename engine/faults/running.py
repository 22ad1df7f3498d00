"""Starts the run that a request describes, with the fault that it names; the header says so."""

import msgspec

from engine.errors import Refused
from engine.faults.fault import Fault
from engine.faults.gallery import named
from engine.live import Stepper, begin, open_live
from engine.opening import Models, open_models
from engine.request import LiveRequest


def opened(request: LiveRequest) -> Stepper:
    """Load the models that a request names and consume its prompt, with the fault that it names, if any.

    Raises:
        ModelError: a model cannot be loaded.
        Refused: the request cannot make a run, or not one with this fault.
    """
    if request.fault is None:
        return open_live(request)
    fault = named(request.fault)
    models = open_models(request.model, request.setup)
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
