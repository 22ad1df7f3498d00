"""Rounds that a person has marked, by a name or without, and the file in which a trace's marks are kept."""

import hashlib
import json
import os
import tempfile
from contextlib import suppress
from pathlib import Path

from engine.errors import SpecstepError

_HEAD = 64 * 1024
"""Bytes of a trace that tell it, with its size, from others: its header has the prompt and the time."""
_LONGEST = 200
"""Characters of a name that are kept."""


class Bookmarks:
    """Names by round. A mark without a name has an empty one."""

    def __init__(self) -> None:
        self.names: dict[int, str] = {}

    def __len__(self) -> int:
        return len(self.names)

    @property
    def rounds(self) -> list[int]:
        """The rounds that are marked, first to last."""
        return sorted(self.names)

    def set(self, index: int, name: str) -> None:
        """Mark a round, or name it anew."""
        self.names[index] = name.strip()[:_LONGEST]

    def remove(self, index: int) -> None:
        """Take the mark off a round."""
        self.names.pop(index, None)


class Sidecar:
    """The marks of the trace at ``path``, in a file of their own in ``folder``. The trace may be moved and renamed.

    Raises:
        SpecstepError: the trace cannot be read.
    """

    def __init__(self, folder: Path, path: Path) -> None:
        try:
            with path.open("rb") as stream:
                head = stream.read(_HEAD)
            size = path.stat().st_size
        except OSError as error:
            raise SpecstepError(f"{path}: {_why(error)}") from error
        self.file = folder / f"{hashlib.sha256(head + str(size).encode()).hexdigest()[:32]}.json"
        self._trace = path.name

    def load(self) -> Bookmarks:
        """What is kept; nothing where there is no file.

        Raises:
            SpecstepError: there is one, but it holds no marks. It is set aside, so that it is not written over.
        """
        marks = Bookmarks()
        try:
            for index, name in json.loads(self.file.read_bytes())["marks"].items():
                if int(index) >= 0 and isinstance(name, str):
                    marks.set(int(index), name)
        except FileNotFoundError:
            pass
        except OSError as error:
            raise SpecstepError(f"{self.file}: {_why(error)}; the marks kept there are not shown") from error
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            aside = self.file.with_suffix(".damaged")
            with suppress(OSError):
                self.file.replace(aside)
            raise SpecstepError(f"the marks kept for this trace are damaged, and set aside: {aside}") from error
        return marks

    def save(self, marks: Bookmarks) -> None:
        """Keep the marks, for their owner's eyes only; without any, no file.

        Raises:
            SpecstepError: they cannot be written; what was kept before stays.
        """
        try:
            if not marks.names:
                self.file.unlink(missing_ok=True)
                return
            self.file.parent.mkdir(parents=True, exist_ok=True)
            self._write(json.dumps({"trace": self._trace, "marks": marks.names}, indent=1))
        except OSError as error:
            raise SpecstepError(f"{self.file}: {_why(error)}; the mark holds until you leave") from error

    def _write(self, text: str) -> None:
        fd, beside = tempfile.mkstemp(prefix=".marks.", dir=self.file.parent)
        try:
            with open(fd, "w", encoding="ascii") as stream:
                stream.write(text)
            os.replace(beside, self.file)
        except BaseException:
            with suppress(OSError):
                os.unlink(beside)
            raise


def _why(error: OSError) -> str:
    return (error.strerror or str(error)).lower()
