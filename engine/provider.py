"""Which execution provider is to run the models, as a value that can be sent to another process."""

import msgspec

from engine.errors import Refused

CPU = "CPUExecutionProvider"
DEVICE = "device"
"""The one key of ``--provider`` that is ours and not the provider's."""
_SUFFIX = "executionprovider"


class Provider(msgspec.Struct, frozen=True, kw_only=True):
    """What was asked for: a provider and what it is told.

    ``device`` is "cpu", "gpu", "npu", or a number in the list of devices that the provider offers; ``None`` for its
    first. ``library`` is that of a plugin provider: a path, or the name of an installed package that knows it.
    Without ``fallback`` a graph that the provider does not take whole is refused.
    """

    name: str = CPU
    options: dict[str, str] = {}
    device: str | None = None
    library: str | None = None
    fallback: bool = True

    @property
    def is_cpu(self) -> bool:
        """Whether it is onnxruntime's own CPU provider, which every other one falls back to."""
        return short_name(self.name) == short_name(CPU)


def parse(text: str, *, library: str | None = None, fallback: bool = True) -> Provider:
    """``NAME[:key=value,...]`` as a value; of the keys, ``device`` chooses one of the provider's devices.

    Raises:
        Refused: it is not of that form.
    """
    name, _, rest = text.partition(":")
    options: dict[str, str] = {}
    for part in filter(None, rest.split(",")):
        key, equals, value = part.partition("=")
        if not equals or not key.strip():
            raise Refused(f"--provider is {text!r}: behind the name it takes key=value,..., and {part!r} is none")
        options[key.strip()] = value.strip()
    if not name.strip():
        raise Refused(f"--provider is {text!r}: give a provider's name, as in openvino or openvino:device=npu")
    device = options.pop(DEVICE, None)
    return Provider(name=name.strip(), options=options, device=device, library=library, fallback=fallback)


def short_name(provider: str) -> str:
    """A provider's name without what all of them end in, in lower case: "openvino", "cpu"."""
    return provider.lower().replace(_SUFFIX, "")
