"""onnxruntime's execution providers: plugin libraries, the devices there are, and how a session is offered one."""

import importlib
import re
from pathlib import Path
from typing import Any, NamedTuple

import onnxruntime as ort
from onnxruntime.capi import onnxruntime_pybind11_state as native

from engine.errors import ModelError
from engine.provider import CPU, Provider, short_name

_ERROR_NAMES = (
    "Fail",
    "InvalidArgument",
    "NoSuchFile",
    "NoModel",
    "EngineError",
    "RuntimeException",
    "InvalidProtobuf",
    "ModelLoaded",
    "NotImplemented",
    "InvalidGraph",
    "EPFail",
    "NotFound",
    "ModelRequiresCompilation",
)
ORT_ERRORS: tuple[type[Exception], ...] = (
    *(getattr(native, name) for name in _ERROR_NAMES if hasattr(native, name)),
    RuntimeError,
)
"""Every type that this build of onnxruntime raises: they share no base of their own, and some are Python's."""

PASS_ERRORS = ORT_ERRORS
"""What a pass raises."""

_PLACE = re.compile(r"/\S+\.(?:cc|cpp|h):\d+ [^()]*\([^()]*\)(?: const)? ")
"""Where in onnxruntime's own source something was said."""
_REGISTERED: set[Path] = set()
"""onnxruntime keeps a library for the whole process, and so do we."""


class Device(NamedTuple):
    """A device that a provider offers: ``kind`` is "cpu", "gpu" or "npu", ``version`` the provider's own."""

    provider: str
    kind: str
    vendor: str
    name: str
    version: str


class Offer(NamedTuple):
    """What a session is made with: the classic list of providers, or none where a plugin's device was added to its
    options; and that device. ``name`` is the provider's own."""

    name: str
    providers: list[tuple[str, dict[str, str]]] | None
    device: Device | None


def devices() -> list[Device]:
    """Every device of every provider that is built in or registered."""
    return [_described(each) for each in _ep_devices()]


def register(library: str) -> None:
    """Make a plugin's providers known; ``library`` is a path, or the name of an installed package that knows it.

    Raises:
        ModelError: there is no such library, or it holds no provider for this onnxruntime.
    """
    path = _library(library)
    if path in _REGISTERED:
        return
    if not hasattr(ort, "register_execution_provider_library"):
        raise ModelError(f"onnxruntime {ort.__version__} loads no plugin providers: install a newer one")
    try:
        ort.register_execution_provider_library(path.stem, str(path))
    except ORT_ERRORS as error:
        raise ModelError(f"{path}: onnxruntime cannot load it as a provider: {first_line(error)}") from error
    _REGISTERED.add(path)


def offer(provider: Provider, options: Any) -> Offer:
    """Offer a provider to the session that is made with ``options`` (an ``onnxruntime.SessionOptions``).

    Raises:
        ModelError: it is not there, or has no such device.
    """
    if provider.library is not None:
        register(provider.library)
    offering = [each for each in _ep_devices() if short_name(each.ep_name) == short_name(provider.name)]
    if provider.is_cpu:
        if provider.device not in (None, "cpu"):
            raise ModelError(f"{CPU} has no device {provider.device!r}: it runs on the CPU")
        return Offer(CPU, [(CPU, provider.options)], None)
    if offering:
        chosen = _chosen(provider, offering)
        try:
            options.add_provider_for_devices([chosen], provider.options)
        except ORT_ERRORS as error:
            raise ModelError(f"{chosen.ep_name} does not take its options: {first_line(error)}") from error
        return Offer(chosen.ep_name, None, _described(chosen))
    for name in ort.get_available_providers():
        if short_name(name) == short_name(provider.name):
            if provider.device is not None:
                raise ModelError(f"{name} offers no devices to choose from: choose by an option of its own")
            fallback = [(CPU, dict[str, str]())] if provider.fallback else []
            return Offer(name, [(name, provider.options), *fallback], None)
    there = ", ".join(dict.fromkeys([*ort.get_available_providers(), *(each.provider for each in devices())]))
    why = "a plugin's library is named with --provider-library"
    if provider.library is not None:
        why = f"{provider.library} was loaded, and offers no device by that name on this machine"
    raise ModelError(f"provider {provider.name}: not in this onnxruntime {ort.__version__}, which has {there}; {why}")


def first_line(error: Exception) -> str:
    """What onnxruntime says, without its own list of places."""
    said = _PLACE.sub("", str(error)).strip()
    return said.splitlines()[0] if said else type(error).__name__


def _ep_devices() -> list[Any]:
    return list(ort.get_ep_devices()) if hasattr(ort, "get_ep_devices") else []


def _described(device: Any) -> Device:
    facts = dict(device.ep_metadata)
    return Device(
        provider=device.ep_name,
        kind=device.device.type.name.lower(),
        vendor=device.device.vendor,
        name=facts.get("FULL_DEVICE_NAME") or dict(device.device.metadata).get("Description", ""),
        version=facts.get("version", ""),
    )


def _chosen(provider: Provider, offering: list[Any]) -> Any:
    wanted = provider.device
    if wanted is None:
        return offering[0]
    if wanted.isdecimal() and int(wanted) < len(offering):
        return offering[int(wanted)]
    for each in offering:
        if each.device.type.name.lower() == wanted.lower():
            return each
    there = ", ".join(f"{i} ({_described(each).kind})" for i, each in enumerate(offering))
    raise ModelError(f"{offering[0].ep_name} has no device {wanted!r} here, it has {there}")


def _library(library: str) -> Path:
    path = Path(library).expanduser()
    if path.is_file():
        return path.resolve()
    if library.isidentifier():
        try:
            return Path(importlib.import_module(library).get_library_path()).resolve()
        except (ImportError, AttributeError, OSError) as error:
            raise ModelError(
                f"provider library {library}: neither a file nor an installed package with a plugin provider: {error}"
            ) from error
    raise ModelError(f"provider library {library}: no such file")
