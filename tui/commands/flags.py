"""The flags that every command of the screen takes."""

from typing import Annotated

import typer

from tui.settings import THEMES

Ascii = Annotated[
    bool | None, typer.Option("--ascii/--unicode", help="Draw with ASCII only, or not.", show_default=False)
]
Mouse = Annotated[
    bool | None,
    typer.Option("--mouse/--no-mouse", help="Take the mouse, or leave it to the terminal.", show_default=False),
]
Theme = Annotated[str | None, typer.Option("--theme", help=f"One of {', '.join(THEMES)}.", show_default=False)]
