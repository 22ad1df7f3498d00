"""What ends a command that Typer does not run: an error of ours, an interrupt. No Typer before it is needed.

And what ends one that it does: an output that takes no more, a path that the system does not take.
"""

import errno
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from engine.errors import SpecstepError

_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)


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
    except OSError as error:
        if error.filename is None and error.errno not in _FULL:
            raise
        from engine.commands.exits import Exit, complain  # noqa: PLC0415

        why = (error.strerror or str(error)).lower()
        if error.filename is not None:
            complain(f"{os.fsdecode(error.filename)}: {why}")
            sys.exit(Exit.USAGE)
        complain(f"stdout: {why}; what was to be shown there is not whole")
        _let_go_of_stdout()
        sys.exit(Exit.INCOMPLETE)


def _let_go_of_stdout() -> None:
    """What is still held for it would be tried again, and fail again, at the end of the process."""
    with suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)
