"""Replaces a file by a new one that is whole, or leaves it as it was."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


def is_replaced(target: Path) -> bool:
    """Whether what is written to ``target`` is to replace it; a device or a pipe is written to."""
    return target.is_file() or not target.exists()


@contextmanager
def beside(target: Path) -> Iterator[Path]:
    """A new file (mode 0600) in the folder of ``target``, in whose place it is put at the end of a block that succeeds.

    What a link points at is replaced, not the link.

    Raises:
        OSError: there can be no file, or it cannot take that place.
    """
    target = target.resolve()
    fd, name = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
    os.close(fd)
    try:
        yield Path(name)
        os.replace(name, target)
    except BaseException:
        with suppress(OSError):
            os.unlink(name)
        raise
