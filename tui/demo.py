"""The run that ``specstep`` makes when it is told of no other: drafting pays on code, not on prose, and is given up."""

from collections.abc import Set
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from engine.request import LiveRequest

STORY = "the flood"
OPTIONS = {"k": 5, "max_tokens": 330, "fallback_below": 1.8, "fallback_window": 6}


def demo(request: "LiveRequest", given: Set[str]) -> "LiveRequest":
    """``request`` with the demo's prompt and options in place of what was not ``given`` (names of parameters).

    A request with a prompt or a model of its own stays as it is.
    """
    from engine.commands.prompts import held_out  # noqa: PLC0415 (reads a file)

    if given & {"prompt", "prompt_file", "model"}:
        return request
    prompt = next(each.text for each in held_out("story", 7) if each.name == STORY)
    options = msgspec.structs.replace(
        request.options, **{name: value for name, value in OPTIONS.items() if name not in given}
    )
    return msgspec.structs.replace(request, prompt=prompt, options=options, run={"demo": STORY, **request.run})
