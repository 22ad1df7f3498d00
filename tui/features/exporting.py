"""Export to a file of one's choice, and copy to the clipboard and a file of ours."""

from pathlib import Path

from engine.errors import SpecstepError
from engine.paths import copies_dir
from tui import layout
from tui.features.feature import Feature

_WIDTH, _HEIGHT, _ALL = 100, 24, 2000
"""Cells and lines of a pane as it is copied; of a list all lines."""


class Exporting(Feature):
    """Nothing is written over."""

    name = "export"

    def ask(self) -> None:
        """Ask for a file, and write into it what the end of its name says."""
        session = self.host.session
        if session is None:
            return
        session.pause()
        from tui.exporting import HINT, target_of, write  # noqa: PLC0415 (numpy: after the first paint)

        picture, index = self.host.picture(), max(session.moment.index, 0)
        source = session.source

        def answer(text: str) -> None:
            path = target_of(text)
            if path.suffix.lower() == ".json" and not len(source):
                raise SpecstepError("there is no round yet: .json is the round at the cursor")
            self.host.say(f"writing {path}")
            self.host.thread(
                lambda: write(path, source, min(index, len(source) - 1), picture),
                lambda _: self.host.say(f"written: {path}"),
                lambda error: self.host.say(str(error)),
            )

        self.host.ask("file", HINT, f"specstep-round{index}.svg", answer)

    def copy(self) -> None:
        """The focused pane as text, to the clipboard and to a file."""
        session = self.host.session
        if session is None:
            return
        name = layout.NAMES[self.host.active - 1]
        height = _ALL if self.host.active == layout.FINDINGS else _HEIGHT
        try:
            lines = layout.PAINTERS[self.host.active - 1](session, self.host.marks, _WIDTH, height)
        except SpecstepError as error:
            self.host.say(str(error))
            return
        text = "".join("".join(span.text for span in line).rstrip() + "\n" for line in lines)
        self.host.copy(text)
        try:
            kept = f"and {_short(_keep(text, f'{name.lower()}{max(session.moment.index, 0)}'))}"
        except (SpecstepError, OSError) as error:
            kept = f"only, not to a file: {error}"
        self.host.say(f"copied to the clipboard {kept}")


def _keep(text: str, name: str) -> Path:
    from engine.export import save  # noqa: PLC0415 (numpy)

    folder = copies_dir()
    folder.mkdir(parents=True, exist_ok=True)
    path, count = folder / f"{name}.txt", 1
    while path.exists():
        count += 1
        path = folder / f"{name}-{count}.txt"
    save(path, [text])
    return path


def _short(path: Path) -> str:
    home = Path.home()
    return f"~/{path.relative_to(home)}" if path.is_relative_to(home) else str(path)
