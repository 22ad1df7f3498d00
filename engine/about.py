"""A model in words: what it is, what it can do, and what ran where, from what a trace's header says."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from engine.records import BaseInfo


class Fact(NamedTuple):
    """A line: what it is about, and what is so."""

    about: str
    says: str


def facts(base: BaseInfo, model: Mapping[str, Any], device: Mapping[str, Any]) -> list[Fact]:
    """Of a base, of ``run.model`` of the header (empty where a model is not one's own), and of its device."""
    can = _map(model.get("can"))
    found = [Fact("model", _joined(base.name, _counted(base.vocab_size, "tokens"), _counted(base.layers, "layers")))]
    if base.sha256:
        found.append(Fact("sha256", base.sha256))
    if model:
        found += [
            Fact("layout", _joined(model.get("layout"), model.get("kind"), base.dtype)),
            Fact("graph", _joined(model.get("file"), _size(model.get("bytes")), _made_by(model.get("exported_by")))),
            Fact("multiplies", _integers(model.get("quantised"))),
            Fact("context", f"{model['context']} positions" if model.get("context") else "no limit is known"),
            Fact("stops at", str(model.get("stops", ""))),
            Fact("chat", "it has a template (--chat)" if model.get("chat") else "it has no template"),
        ]
    elif base.dtype or base.state:
        found.append(Fact("kind", _joined(base.dtype, base.state)))
    if can:
        found += [
            Fact("verify", str(can.get("verify", ""))),
            Fact("truncate", str(can.get("truncate", ""))),
            Fact("cache", str(can.get("cache", ""))),
            Fact("hidden", _rows(can.get("hidden"), "an MTP head")),
            Fact("taps", _rows(can.get("taps"), "a block drafter")),
        ]
    return [fact for fact in found if fact.says] + _places(device)


def _places(device: Mapping[str, Any]) -> list[Fact]:
    found = [Fact("runs on", _nodes(device.get("placement")) or str(device.get("provider") or "not known"))]
    graphs = _map(device.get("graphs"))
    if len(graphs) > 1:
        found += [Fact("", f"{name}: {_nodes(nodes)}") for name, nodes in graphs.items()]
    requested = device.get("requested")
    found.append(Fact("asked for", _joined(*requested) if isinstance(requested, list | tuple) else ""))
    found.append(Fact("device", _joined(device.get("kind"), device.get("vendor"), device.get("name"))))
    widths = device.get("compiled_widths")
    found.append(Fact("widths", _joined(*widths) if isinstance(widths, list | tuple) else ""))
    found.append(Fact("threads", str(device.get("threads") or "")))
    huge = _size(device.get("huge_pages"))
    found.append(Fact("memory", f"{huge} on huge pages" if huge else ""))
    found.append(Fact("runtime", f"onnxruntime {device['onnxruntime']}" if device.get("onnxruntime") else ""))
    return [fact for fact in found if fact.says]


def _nodes(placement: Any) -> str:
    return ", ".join(f"{name} {nodes} nodes" for name, nodes in _map(placement).items())


def _integers(kinds: Any) -> str:
    return f"integers ({_joined(*kinds)})" if isinstance(kinds, list | tuple) and kinds else ""


def _rows(width: Any, reader: str) -> str:
    return f"{width} wide" if width else f"not given: nothing for {reader} to read"


def _size(count: Any) -> str:
    if not isinstance(count, int):
        return ""
    return f"{count / 1e6:.0f} MB" if count >= 1e6 else f"{count / 1e3:.0f} kB"


def _made_by(producer: Any) -> str:
    return f"exported by {producer}" if producer else ""


def _counted(count: int | None, of: str) -> str:
    return f"{count} {of}" if count else ""


def _joined(*parts: Any) -> str:
    return ", ".join(str(part) for part in parts if part)


def _map(value: Any) -> dict[Any, Any]:
    return value if isinstance(value, dict) else {}
