"""What was set otherwise in two runs: models, places, options, prompts."""

from typing import Any, NamedTuple

from engine.records import Header

_DRAWING = ("temperature", "top_k", "top_p", "seed")


class Setting(NamedTuple):
    """One thing that differs."""

    name: str
    left: Any
    right: Any


def settings(left: Header, right: Header) -> list[Setting]:
    """All that differs between two headers, but for the prompt; what only one of them says is not a difference."""
    pairs = [
        ("base", left.base.name, right.base.name),
        ("base sha256", left.base.sha256, right.base.sha256),
        ("vocabulary", left.base.vocab_size or None, right.base.vocab_size or None),
        ("dtype", left.base.dtype, right.base.dtype),
        ("drafter", _drafter(left), _drafter(right)),
        ("taps", _taps(left), _taps(right)),
        ("provider", left.device.get("provider"), right.device.get("provider")),
        ("device", left.device.get("name"), right.device.get("name")),
        *((name, left.options.get(name), right.options.get(name)) for name in sorted({*left.options, *right.options})),
    ]
    return [Setting(name, a, b) for name, a, b in pairs if a is not None and b is not None and a != b]


def text_settings(left: Header, right: Header) -> list[str]:
    """The differences that make another text, in words; none for runs that have to write the same."""
    found = []
    if other_prompts(left, right):
        found.append("the prompts differ")
    if left.base.vocab_size and right.base.vocab_size and left.base.vocab_size != right.base.vocab_size:
        sizes = f"{left.base.vocab_size} and {right.base.vocab_size} tokens"
        found.append(f"the vocabularies differ ({sizes}): the same id may be another token")
    samplers = [header.options.get("sampler", "greedy") for header in (left, right)]
    if samplers[0] != samplers[1]:
        found.append(f"the samplers differ ({samplers[0]}, {samplers[1]})")
    elif samplers[0] != "greedy":
        other = [name for name in _DRAWING if left.options.get(name) != right.options.get(name)]
        if other:
            found.append(f"tokens are drawn by another {' and '.join(other)}")
        elif samplers[0] == "rejection" and _drafting(left) != _drafting(right):
            found.append("tokens are drawn by rejection, and so depend on what was drafted, which was set otherwise")
    return found


def other_prompts(left: Header, right: Header) -> bool:
    """Whether both say their prompts, and they differ."""
    return None not in (left.prompt, right.prompt) and left.prompt != right.prompt


def doubts(left: Header, right: Header) -> list[str]:
    """What was not recorded, or is named otherwise, so that other text may be right, in words."""
    found = []
    silent = [name for name, header in (("A", left), ("B", right)) if header.prompt is None]
    if silent:
        found.append(f"no prompt is recorded in {' and '.join(silent)}: it is taken to be the same")
    files = {left.base.sha256, right.base.sha256} - {None}
    if left.base.name != right.base.name or len(files) > 1:
        found.append("the base has another name or file: if it is another model, another text is to be expected")
    return found


def _drafting(header: Header) -> tuple[Any, ...]:
    return (_drafter(header), *(header.options.get(name) for name in ("k", "form", "tau")))


def _drafter(header: Header) -> str:
    return "none" if header.drafter is None else f"{header.drafter.kind} {header.drafter.name}"


def _taps(header: Header) -> list[int] | None:
    return None if header.drafter is None or header.drafter.taps is None else list(header.drafter.taps)
