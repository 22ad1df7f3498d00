"""What ends a command that Typer does not run: an error of ours, an interrupt. No Typer before it is needed."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from engine.errors import SpecstepError


@contextmanager
def ending() -> Iterator[None]:
    """End the process with a line and a status where what is inside fails, or is interrupted."""
    try:
        yield
    except SpecstepError as error:
        from engine.commands.exits import complain_of, exit_of  # noqa: PLC0415 (Typer)

        complain_of(error)
        sys.exit(exit_of(error))
    except KeyboardInterrupt:
        from engine.commands.exits import Exit, complain  # noqa: PLC0415

        complain("interrupted")
        sys.exit(Exit.INTERRUPTED)
    except BrokenPipeError:
        # Whoever read what this wrote is gone, and needs no word about it.
        sys.exit(1)
