"""The models that were added, a folder each, by name. Nothing half-made is ever seen there."""

import errno
import os
import re
import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import msgspec

from engine.errors import ModelError, Refused
from engine.models.bundled import MANIFEST, Manifest
from engine.paths import models_dir
from engine.unloadable import reason

TAKEN = ("bundled", "toy", "toy-hybrid")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{,99}")
_DAY = 24 * 60 * 60
_HALF_MADE, _REPLACED = ".adding-", ".replaced-"


class Added(NamedTuple):
    """A model that was added: ``manifest`` is ``None`` if that cannot be read, ``bytes`` are those on disk."""

    name: str
    folder: Path
    manifest: Manifest | None
    bytes: int


def checked_name(name: str) -> str:
    """The name itself.

    Raises:
        Refused: it cannot be one: it stands for a model that comes with specstep, or would be no name of a folder.
    """
    if name in TAKEN or _NAME.fullmatch(name) is None:
        raise Refused(f"--name {name!r}: use letters, digits, . _ and -, no more than 100, and not {', '.join(TAKEN)}")
    return name


def name_of(path: Path) -> str:
    """A name for a model after its file's."""
    return checked_name(re.sub(r"[^a-z0-9._-]+", "-", path.stem.lower()).strip("-._") or "model")


def added() -> list[Added]:
    """All models that were added, by name.

    Raises:
        ModelError: the place where they are kept cannot be read.
    """
    folder = models_dir()
    try:
        paths = sorted(folder.iterdir()) if folder.is_dir() else []
        return [_described(path) for path in paths if path.is_dir() and _NAME.fullmatch(path.name)]
    except OSError as error:
        raise ModelError(f"{error.filename or folder}: it cannot be read: {reason(error)}") from error


def folder_of(name: str) -> Path | None:
    """The folder of a model by its name, ``None`` if none of that name was added."""
    path = models_dir() / name
    return path if _NAME.fullmatch(name) and (path / MANIFEST).is_file() else None


def find(name: str) -> Added:
    """An added model, a damaged one too.

    Raises:
        Refused: none of that name was added.
    """
    models = {model.name: model for model in added()}
    if name not in models:
        known = ", ".join(models) or "none"
        raise Refused(f"no model {name!r} was added; there is {known} (see `specstep models list`)")
    return models[name]


def remove(name: str) -> Added:
    """Delete an added model.

    Raises:
        Refused: none of that name was added.
        ModelError: it cannot be deleted.
    """
    model = find(name)
    try:
        shutil.rmtree(model.folder)
    except OSError as error:
        raise ModelError(f"{model.folder}: cannot be removed: {error.strerror}") from error
    return model


def check_free(folder: Path, *, force: bool) -> None:
    """Check that a model may be put at ``folder``.

    Raises:
        Refused: there is something, and it is not to be replaced, or is no model.
        ModelError: nobody can look there.
    """
    try:
        if not folder.exists():
            return
        model = (folder / MANIFEST).is_file()
    except OSError as error:
        raise ModelError(f"{folder}: it cannot be read: {reason(error)}") from error
    if not model:
        raise Refused(f"{folder}: it is there and is no model of specstep: choose another place")
    if not force:
        raise Refused(f"{folder}: a model is there already: choose another --name, or replace it with --force")


def place(folder: Path, size: int, make: Callable[[Path], None]) -> None:
    """Let ``make`` fill a new folder and put it at ``folder``, in place of what is there; all of it or nothing.

    ``size`` is about how many bytes it will have.

    Raises:
        ModelError: there is no room, or it cannot be written there.
    """
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        free = shutil.disk_usage(folder.parent).free
        if free < size:
            raise ModelError(f"{folder.parent}: no room: about {in_words(size)} are needed, {in_words(free)} are free")
        _sweep(folder.parent)
        made = Path(tempfile.mkdtemp(prefix=_HALF_MADE, dir=folder.parent))
        try:
            make(made)
            made.chmod(0o777 & ~_umask())
            _swap(made, folder)
        finally:
            shutil.rmtree(made, ignore_errors=True)
    except OSError as error:
        full = error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
        why = f"no room: about {in_words(size)} are needed" if full else f"cannot be written: {error.strerror}"
        raise ModelError(f"{folder}: {why}") from error


def in_words(size: int) -> str:
    """Bytes in megabytes."""
    return f"{size / 1e6:,.1f} MB"


def _sweep(folder: Path) -> None:
    """Remove what was left half-made by a process that was killed, a day or more ago."""
    for path in (*folder.glob(f"{_HALF_MADE}*"), *folder.glob(f"{_REPLACED}*")):
        if time.time() - path.stat().st_mtime > _DAY:
            shutil.rmtree(path, ignore_errors=True)


def _swap(made: Path, folder: Path) -> None:
    """Put ``made`` where ``folder`` is; what was there goes only when the new one stands."""
    if not folder.exists():
        made.rename(folder)
        return
    old = Path(tempfile.mkdtemp(prefix=_REPLACED, dir=folder.parent))
    try:
        folder.rename(old / folder.name)
        try:
            made.rename(folder)
        except OSError:
            (old / folder.name).rename(folder)
            raise
    finally:
        shutil.rmtree(old, ignore_errors=True)


def _described(folder: Path) -> Added:
    try:
        manifest = msgspec.json.decode((folder / MANIFEST).read_bytes(), type=Manifest)
    except (OSError, msgspec.DecodeError):
        manifest = None
    return Added(folder.name, folder, manifest, sum(path.stat().st_size for path in folder.iterdir() if path.is_file()))


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
