"""The list of all faults, for the terminal and as the page beside their recordings."""

from pathlib import Path

from engine.faults.evidence import Evidence, evidence, twin_path
from engine.faults.fault import Fault
from engine.faults.gallery import FAULTS

HEAD = """# Faults, recorded

Each of these faults has been reported of some engine. `specstep record --fault NAME` injects one into a live run, and
these are recordings of each: open them with `specstep FILE`, or let `specstep audit FILE` find the fault. The header
of each trace says what was injected. Where no rule can know, a right run or plain decode is recorded beside it:
`specstep diff` shows where the two part. `specstep check FILE` needs no right run: it holds a recording against the
models, row by row, and names a fault of base or drafter. Made by `specstep faults --record DIRECTORY`, this page too.

| fault | what goes wrong | what finds it | round | in the recording |
|---|---|---|---|---|
"""


def found_by(fault: Fault) -> str:
    """What finds a fault, in a few words."""
    rules = [rule if rule == "torn" else f"rule {rule}" for rule in fault.rules]
    return "; ".join([", ".join(rules)] * bool(rules) + [str(fault.beside)] * (fault.beside is not None))


def page(folder: Path) -> str:
    """The page for the recordings in ``folder``, as Markdown.

    Raises:
        TraceError: a recording is missing or cannot be read.
    """
    return HEAD + "".join(_row(fault, evidence(fault, folder), twin_path(fault, folder)) for fault in FAULTS)


def table() -> str:
    """All faults for a terminal, a line each and what finds it below."""
    width = max(len(fault.name) for fault in FAULTS)
    return "\n".join(
        f"{fault.name:<{width}}  {fault.sentence}\n{'':<{width}}  found by: {found_by(fault)}" for fault in FAULTS
    )


def _row(fault: Fault, shown: Evidence, twin: Path | None) -> str:
    beside = f" (beside [{twin.name}]({twin.name}))" if twin else ""
    name = f"[{fault.name}]({fault.name}.msgpack)"
    cells = (name, fault.sentence, found_by(fault), str(shown.round), _plain(shown.text) + beside)
    return f"| {' | '.join(cells)} |\n"


def _plain(text: str) -> str:
    """Without what Markdown would take for markup."""
    return "".join(f"\\{c}" if c in "\\|`*_<>[]" else c for c in text)
