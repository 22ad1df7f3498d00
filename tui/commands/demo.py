"""``specstep demo``: a guided tour over recordings of the bundled models."""

from typing import TYPE_CHECKING, Annotated

import typer

from tui.commands.flags import Ascii, Mouse, Theme
from tui.commands.showing import settings, show

if TYPE_CHECKING:
    from engine.records import RoundSource

STORIES = ("fallback", "faults")
About = Annotated[str, typer.Argument(metavar="[fallback|faults]", help="What to show.", show_default=False)]


def demo(about: About = STORIES[0], ascii_only: Ascii = None, mouse: Mouse = None, theme: Theme = None) -> None:
    """A tour in a few stops: how the fallback gives drafting up, or what three faults look like and what finds them."""
    if about not in STORIES:
        raise typer.BadParameter(f"{about!r} is no tour: use {' or '.join(STORIES)}")
    look = settings(ascii_only, mouse, theme)

    def opener() -> "RoundSource":
        from engine.trace.reader import open_trace  # noqa: PLC0415 (numpy: after the first paint)
        from tui.tours import Story, first_trace  # noqa: PLC0415

        return open_trace(first_trace(Story(about)))

    show(opener, "opening a recording", look, first=f"do('touring.start', '{about}')")
