"""``python -m engine``: the commands that need no screen.

The engine that a screen on this machine starts has no options, and is started without Typer.
"""

import os
import sys

from engine.commands.run_values import VARIABLES

PLAIN = ["engine", "--wait"]


def main() -> None:
    """The command that the words name."""
    from engine.commands.ending import ending  # noqa: PLC0415

    if sys.argv[1:] == PLAIN and not VARIABLES & os.environ.keys():
        from engine.commands.requests import request_of  # noqa: PLC0415
        from engine.commands.serving import serve_here  # noqa: PLC0415

        with ending():
            # The status of a command line that cannot be obeyed: no run was asked for.
            sys.exit(0 if serve_here(request_of, wait=True) else 2)
    from engine.cli import app  # noqa: PLC0415

    with ending():
        app()


if __name__ == "__main__":
    main()
