"""``specstep watch``: follow an engine that somebody else runs, a line a round."""

import time
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from engine.commands import run_options as flag
from engine.commands.exits import Exit, complain
from engine.commands.json_text import as_line
from engine.commands.saying import say
from engine.commands.show import headline
from engine.errors import Refused

if TYPE_CHECKING:
    from engine.process.watch import Watched

POLL = 0.05
"""Seconds between two looks."""

Target = Annotated[
    str,
    typer.Argument(metavar="FILE|-|unix:PATH", help="A trace that grows, stdin, or the socket of an engine's --share."),
]
Share = Annotated[
    Path | None,
    typer.Option("--share", help="With -: a Unix socket, made here, at which others can watch.", show_default=False),
]


def watch(target: Target, share: Share = None, as_json: flag.Json = False) -> None:
    """Follow an engine that writes the trace format, until it ends.

    A line for each round, or the round as JSON (JSON Lines). A file need not be there yet; a connection that breaks is
    made again. In a terminal the screen does the same.
    """
    from engine.process.feed import feed_of  # noqa: PLC0415 (msgspec: only to read a trace)
    from engine.process.share import Share  # noqa: PLC0415
    from engine.process.watch import Watched  # noqa: PLC0415

    if share is not None and target != "-":
        raise Refused("--share passes on what comes on stdin: give - to watch")
    with ExitStack() as stack:
        shared = None if share is None else stack.enter_context(Share(share))
        watched = Watched(feed_of(target)) if shared is None else Watched(feed_of(target), shared.append)
        stack.callback(watched.close)
        follow(watched, as_json=as_json)
    if not watched.begun or watched.end is None:
        complain(f"{target}: closed without an end: its writer died")
        raise typer.Exit(Exit.INCOMPLETE)


def follow(watched: "Watched", *, as_json: bool = False) -> None:
    """Print what comes until the run is over."""
    printed = said = 0
    branch = None
    while True:
        change = watched.refresh()
        if watched.begun:
            if branch is not watched.branches[-1]:
                branch, said = watched.branches[-1], 0
                printed = len(watched) - change.rounds
            for event in watched.events()[said:]:
                complain(event.message)
            said = len(watched.events())
            for index in range(printed, len(watched)):
                round_ = watched.round(index)
                say(as_line(round_) if as_json else headline(round_))
            printed = len(watched)
        if watched.over:
            return
        if not change.rounds:
            time.sleep(POLL)
