"""Records every fault: a short trace of each, the run to compare it with where that shows it, and a page of them."""

from collections.abc import Iterator
from pathlib import Path

import msgspec

from engine.errors import Refused
from engine.faults.evidence import RIGHT_BESIDE, twin_path
from engine.faults.fault import Fault
from engine.faults.files import damaged
from engine.faults.gallery import FAULTS
from engine.faults.page import page
from engine.faults.running import begin_faulty
from engine.live import Stepper, begin
from engine.opening import BUNDLED, Models, open_models
from engine.recorder import Recorder
from engine.request import LiveRequest

PAGE = "README.md"


def record_all(folder: Path, model: str = BUNDLED) -> Iterator[Path]:
    """Make the traces and the page in ``folder``, which is made if it is not there; each file as it is done.

    ``model`` runs what is shown on the bundled models.

    Raises:
        ModelError: a model cannot be loaded.
        TraceError: a trace cannot be written.
        Refused: the folder cannot be made.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise Refused(f"{folder}: the folder cannot be made: {error.strerror}") from error
    opened: dict[str, Models] = {}

    def models(request: LiveRequest) -> Models:
        known = opened.get(request.model) or open_models(request.model, request.setup)
        opened[request.model] = known
        known.base.rollback(0)
        return known

    for fault in FAULTS:
        request = fault.shown
        if request.model == BUNDLED:
            request = msgspec.structs.replace(request, model=model)
        path = folder / f"{fault.name}.msgpack"
        record(begin_faulty(fault, models(request), request), path, fault)
        yield path
        if (twin := twin_path(fault, folder)) is not None:
            record(begin_twin(fault, models(request), request), twin)
            yield twin
    (folder / PAGE).write_text(page(folder), encoding="utf-8")
    yield folder / PAGE


def begin_twin(fault: Fault, models: Models, request: LiveRequest) -> Stepper:
    """The run that a faulty one is held against: plain decode by the same base, or the right run."""
    if fault.beside in RIGHT_BESIDE:
        return begin(models, request)
    return begin_faulty(fault, models, msgspec.structs.replace(request, drafter="none"))


def record(run: Stepper, path: Path, fault: Fault | None = None) -> None:
    """Write a run to its end; of a fault of files, what becomes of the bytes."""
    with damaged(None if fault is None else fault.name, path) as target:
        recorder = Recorder(run, target, on_failure=_refuse)
        while recorder.step() is not None:
            pass
        recorder.end()


def _refuse(message: str) -> None:
    raise Refused(message)
