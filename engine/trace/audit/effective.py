"""A16: what ran is what was asked for."""

from collections.abc import Mapping

from engine.records import Header, Round
from engine.trace.audit.finding import Findings, Rules

_ANYTHING = {"", "auto", "any", "default", "best"}
_FAMILIES = {"npu", "gpu", "accelerator"}
_SAME = {"directml": "dml"}


class Effective(Rules):
    """Provider, form and drafter of the header against what the rounds (and the header itself) say really ran."""

    def __init__(self, header: Header) -> None:
        self._header = header
        form = header.options.get("form")
        requested = header.run.get("requested_form") or header.device.get("requested_form") or form
        self._form = requested if isinstance(requested, str) else None
        self._said_form = self._said_plain = False

    def begin(self, found: Findings) -> None:
        """What the header alone shows."""
        self._provider(found)
        self._drafter(found)

    def round(self, round_: Round, found: Findings) -> None:
        form = round_.form
        if form == "plain":
            if round_.reason == "no-drafter" and not self._said_plain:
                self._is_plain(round_, found)
        elif form != self._form and self._form is not None and not self._said_form:
            self._said_form = True
            found.add(
                "A16",
                round_.index,
                "form",
                form,
                self._form,
                f"round {round_.index} runs {form} where {self._form} was asked for: the engine changed the form "
                "without saying so, and its timings are those of another run",
            )

    def kept(self, round_: Round, found: Findings) -> None:
        pass

    def _is_plain(self, round_: Round, found: Findings) -> None:
        self._said_plain = True
        drafter = self._header.drafter
        if drafter is not None:
            found.add(
                "A16",
                round_.index,
                "reason",
                "no-drafter",
                drafter.kind,
                f"the header names drafter {drafter.kind}, but round {round_.index} is plain for want of one: "
                "it failed to load and nobody said so",
            )

    def _drafter(self, found: Findings) -> None:
        header = self._header
        requested = header.run.get("requested_drafter") or header.device.get("requested_drafter")
        if isinstance(requested, Mapping):
            requested = requested.get("kind")
        if not isinstance(requested, str) or requested.lower() in {*_ANYTHING, "none"}:
            return
        if header.drafter is None:
            found.add(
                "A16",
                None,
                "drafter",
                None,
                requested,
                f"drafter {requested} was asked for, but the run has none: it failed to load, and the run is plain",
            )
        elif requested.lower() not in (header.drafter.kind.lower(), header.drafter.name.lower()):
            found.add(
                "A16",
                None,
                "drafter",
                header.drafter.kind,
                requested,
                f"drafter {requested} was asked for, but {header.drafter.kind} ({header.drafter.name}) ran",
            )

    def _provider(self, found: Findings) -> None:
        device = self._header.device
        requested = device.get("requested")
        if isinstance(requested, list | tuple):
            requested = requested[0] if requested else None
        effective = device.get("provider")
        if not isinstance(requested, str):
            return
        if isinstance(effective, str) and effective and not _serves(effective.split(","), requested):
            found.add(
                "A16",
                None,
                "device.provider",
                effective,
                requested,
                f"{requested} was asked for, but {effective} ran: the provider did not take the graph; look at the "
                "session's log and at the operators it does not support",
            )
            return
        placement = device.get("placement")
        if not isinstance(placement, Mapping):
            return
        used = [str(name) for name, nodes in placement.items() if isinstance(nodes, int) and nodes > 0]
        if used and all(_plain_name(name) == "cpu" for name in used) and not _serves(used, requested):
            found.add(
                "A16",
                None,
                "device.placement",
                dict(placement),
                requested,
                f"{requested} was asked for, but every node of the graph was placed on the CPU: the provider loaded "
                "and took nothing",
            )


def _serves(effective: list[str], requested: str) -> bool:
    wanted = _plain_name(requested)
    ran = {_plain_name(name) for name in effective}
    if wanted in _ANYTHING:
        return True
    if wanted in _FAMILIES:
        return ran != {"cpu"}
    return any(wanted in name or name in wanted for name in ran if name)


def _plain_name(provider: str) -> str:
    name = provider.strip().lower().removesuffix("executionprovider").split(":")[0]
    name = "".join(letter for letter in name if letter.isalnum())
    return _SAME.get(name, name)
