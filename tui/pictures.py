"""The README's pictures, taken of the screen itself over the recordings: ``python -m tui.pictures``."""

import argparse
import asyncio
from pathlib import Path
from typing import NamedTuple

import recordings
from engine.trace.reader import open_trace
from tui.app import SpecstepApp
from tui.marks import UNICODE
from tui.themes import NAMES

RECORDINGS = Path(recordings.__file__).parent
SETTLE = 1.3
"""Seconds after the last key before the picture is taken."""


WAIT = ""
"""In the place of a key: until what runs beside the screen is done."""


class Picture(NamedTuple):
    """A picture: its name, the recording it is of, the keys pressed, and the terminal's size."""

    name: str
    recording: str
    keys: tuple[str, ...]
    size: tuple[int, int]
    theme: str = NAMES[0]


PICTURES = (
    Picture("flip", "flip.msgpack", ("g", *"flip", "enter"), (140, 40)),
    Picture("into", "flip.msgpack", ("5", "n", "s", "s", "s"), (120, 34)),
    Picture("whatif", "flip.msgpack", ("w", "up", "up", "up"), (120, 40)),
    Picture("sweep", "flip.msgpack", ("w", "up", "up", "up", "v", "right"), (120, 24)),
    Picture("compare", "faults/hidden-stale.msgpack", ("equals_sign", "enter"), (120, 34)),
    Picture("check", "faults/hidden-stale.msgpack", ("M", "enter", WAIT, "z"), (120, 24)),
    Picture("small", "recovery.msgpack", ("8", "n", "2"), (80, 24)),
    Picture("light", "two-pass.msgpack", ("6", "n"), (120, 34), NAMES[1]),
)


async def take(picture: Picture, folder: Path) -> Path:
    """Open the recording, press the keys, and write the screen as SVG."""
    trace = RECORDINGS / picture.recording
    app = SpecstepApp(lambda: open_trace(trace), UNICODE, waiting=f"opening {trace.name}", theme=picture.theme)
    async with app.run_test(size=picture.size) as pilot:
        await pilot.pause(SETTLE)
        for key in picture.keys:
            await (pilot.press(key) if key else app.workers.wait_for_complete())
        await pilot.pause(SETTLE)
        target = folder / f"{picture.name}.svg"
        target.write_text(app.export_screenshot(title="specstep"), encoding="utf-8")
    return target


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=RECORDINGS / "screens")
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    for picture in PICTURES:
        asyncio.run(take(picture, args.out))


if __name__ == "__main__":
    main()
