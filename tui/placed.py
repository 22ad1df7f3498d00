"""Where a run's models really ran, in a few words: providers with their nodes, and what the CPU had to take over."""

from collections.abc import Mapping
from typing import Any, NamedTuple

_SUFFIX = "ExecutionProvider"
_CPU = "CPU"


class Placed(NamedTuple):
    """``ran`` is for the header; ``warning`` says that the CPU ran what another provider was asked for."""

    ran: str
    warning: str


def placed(device: Mapping[str, Any]) -> Placed:
    """From a header's ``device``, which anybody may have written."""
    nodes = _nodes(device.get("placement"))
    return Placed(" + ".join(_told(nodes)) or _short(device.get("provider")), _warning(device, nodes))


def _told(nodes: dict[str, int]) -> list[str]:
    names = [f"{name} {count}" for name, count in nodes.items()]
    return [*names[:-1], f"{names[-1]} {'node' if sum(nodes.values()) == 1 else 'nodes'}"] if names else []


def _warning(device: Mapping[str, Any], base: dict[str, int]) -> str:
    requested = device.get("requested")
    first = requested[0] if isinstance(requested, list | tuple) and requested else requested
    if not isinstance(first, str) or _short(first).upper() in (_CPU, "", "AUTO", "PYTHON"):
        return ""
    graphs = device.get("graphs")
    every = [_nodes(each) for each in graphs.values()] if isinstance(graphs, Mapping) else [base]
    left = sum(each.get(_CPU, 0) for each in every)
    # Short, so that it fits beside the model in 80 columns.
    return f"{left}/{sum(sum(each.values()) for each in every)} on the CPU" if left else ""


def _nodes(placement: object) -> dict[str, int]:
    if not isinstance(placement, Mapping):
        return {}
    return {_short(name): count for name, count in placement.items() if isinstance(count, int) and count > 0}


def _short(provider: object) -> str:
    if not isinstance(provider, str):
        return ""
    return ", ".join(part.strip().replace(_SUFFIX, "") for part in provider.split(","))
