"""What a debugger and an engine that is a process of its own say to each other, beside the records of a trace.

Described for others in ``recordings/PROTOCOL.md``: commands go to the engine's stdin, records come from its stdout.
"""

from typing import Any

import msgspec

from engine.errors import Refused
from engine.records import FORMAT, MINOR, VERSION, Round
from engine.trace.decoding import Unknown
from engine.version import VERSION as WRITER

PROTOCOL = 1


class Command(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="command"):
    """Base of all commands. ``id`` comes back in the ``Done`` that answers it."""

    id: int = 0


class Open(Command, frozen=True, kw_only=True, tag="open"):
    """Begin the run; ``run`` has keys of ``LiveRequest`` in place of those that the engine was started with."""

    run: dict[str, Any] = {}


class Step(Command, frozen=True, kw_only=True, tag="step"):
    """Make so many rounds."""

    rounds: int = 1


class RunUntil(Command, frozen=True, kw_only=True, tag="run"):
    """Make rounds until one meets the condition ``until``, ``rounds`` at most if given."""

    until: str = "end"
    rounds: int | None = None


class Pause(Command, frozen=True, kw_only=True, tag="pause"):
    """Make no other round than the one that is being made. It overtakes the commands before it."""


class Rewind(Command, frozen=True, kw_only=True, tag="rewind"):
    """Go back to where ``round`` is the next to be made, and go on from there by the same options."""

    round: int


class Fork(Command, frozen=True, kw_only=True, tag="fork"):
    """Go back to where ``round`` is the next to be made, take in ``rounds``, and go on by other options.

    ``options`` has only what changes, ``drafter`` names another one, ``run`` is added to the header's.
    """

    round: int
    rounds: tuple[Round, ...] = ()
    options: dict[str, Any] = {}
    drafter: str | None = None
    run: dict[str, Any] = {}


class Save(Command, frozen=True, kw_only=True, tag="save"):
    """Write the run so far to a trace on the engine's machine."""

    path: str


class Quit(Command, frozen=True, kw_only=True, tag="quit"):
    """End the run and the process. It overtakes the commands before it; the end of stdin says the same and does not."""


AnyCommand = Open | Step | RunUntil | Pause | Rewind | Fork | Save | Quit
COMMANDS = tuple(str(kind.__struct_config__.tag) for kind in (Open, Step, RunUntil, Pause, Rewind, Fork, Save, Quit))


class Hello(msgspec.Struct, frozen=True, kw_only=True, tag_field="type", tag="hello"):
    """The first record of an engine: what it speaks and what it can do. ``waiting``: it waits for ``open``."""

    protocol: int = PROTOCOL
    format: str = FORMAT
    version: int = VERSION
    minor: int = MINOR
    writer: dict[str, Any] = msgspec.field(default_factory=lambda: {"name": "specstep", "version": WRITER})
    commands: tuple[str, ...] = COMMANDS
    conditions: tuple[str, ...] = ()
    options: tuple[str, ...] = ()
    waiting: bool = False


class Done(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="type", tag="done"):
    """A command was carried out, or refused (``why`` "refused", and ``message``). ``rounds`` is how many there are now.

    ``why``: "opened", "stepped" (all rounds are made), "condition" (it is met), "paused", "ended" (the run is over),
    "forked", "saved", "quit", "refused".
    """

    id: int = msgspec.field(default_factory=int)
    why: str
    rounds: int = msgspec.field(default_factory=int)
    message: str = ""


class Progress(msgspec.Struct, frozen=True, kw_only=True, tag_field="type", tag="progress"):
    """While a run is opened: the last ``event`` "opening" is ``done`` of ``total`` bytes far."""

    done: int
    total: int


class _Claim(msgspec.Struct):
    command: Any = None
    id: Any = None


class BadCommand(Refused):
    """A command that cannot be read; ``id`` is the one that it claims."""

    def __init__(self, message: str, id_: int = 0) -> None:
        super().__init__(message)
        self.id = id_


_COMMAND = msgspec.msgpack.Decoder(AnyCommand)
_CLAIM = msgspec.msgpack.Decoder(_Claim)
_ENCODER = msgspec.msgpack.Encoder()


def encoded(message: Command | Hello | Done | Progress) -> bytes:
    """The bytes that stand for a command or an answer."""
    return _ENCODER.encode(message)


def read_command(data: bytes) -> AnyCommand:
    """The command that one whole MessagePack map stands for.

    Raises:
        BadCommand: it is none that is known here, or lacks something.
    """
    try:
        command: AnyCommand = _COMMAND.decode(data)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError) as error:
        claim = _claim(data)
        id_ = claim.id if isinstance(claim.id, int) else 0
        if claim.command not in COMMANDS:
            what = "a map without a command" if claim.command is None else f"unknown command {claim.command!r}"
            raise BadCommand(f"{what}: use one of {', '.join(COMMANDS)}", id_) from error
        raise BadCommand(f"command {claim.command}: {error}", id_) from error
    return command


def answer(record: Unknown) -> Hello | Done | Progress | None:
    """The answer that a record of an engine is, ``None`` for another record.

    Raises:
        Refused: it is a broken one.
    """
    kinds: dict[str, type[Hello] | type[Done] | type[Progress]] = {"hello": Hello, "done": Done, "progress": Progress}
    kind = kinds.get(record.type)
    if kind is None:
        return None
    try:
        return msgspec.convert(record.fields, kind)
    except msgspec.ValidationError as error:
        raise Refused(f"the {record.type} record cannot be read: {error}") from error


def _claim(data: bytes) -> _Claim:
    try:
        return _CLAIM.decode(data)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError):
        return _Claim()
