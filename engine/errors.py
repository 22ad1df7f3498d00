"""What can go wrong, as a few types with one base. A message says what is wrong, where, and what to do."""


class SpecstepError(Exception):
    """The base of every error that specstep raises on purpose.

    ``pointer`` shows the place in what was typed, as lines for a terminal; empty where there is none.
    """

    pointer = ""


class Refused(SpecstepError):
    """A run that was not started because what it was given cannot work. Nothing ran, nothing was recorded."""


class ModelError(SpecstepError):
    """A model, tokenizer or provider that cannot be loaded or cannot do what is asked of it."""


class EngineFault(SpecstepError):
    """A run that broke in the middle: a dead session, a non-finite row. The rounds before it stand."""


class TraceError(SpecstepError):
    """A trace that cannot be read (or written) any further; ``byte`` is the offset in the file, where known.

    ``file`` names the file where the message does not: it is for who reads several.
    """

    def __init__(self, message: str, byte: int | None = None) -> None:
        super().__init__(message)
        self.byte = byte
        self.file: str | None = None


class NotWritten(TraceError):
    """What was to be written is not whole where it was to go; ``byte`` is how far it got, where known."""
