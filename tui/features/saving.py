"""Saving the rounds of a live run as a trace."""

import datetime
from pathlib import Path

from engine.errors import SpecstepError
from tui.features.feature import Feature
from tui.live import save


class Saving(Feature):
    """Asks for a file, and writes no file over another."""

    name = "saving"

    def save(self) -> None:
        """Ask where to, and save the rounds made so far."""
        session = self.host.session
        if session is None:
            return
        if not session.source.live:
            self.host.say("this is a trace already: only the rounds of a live run can be saved")
            return
        session.pause()
        self.host.after()
        name = f"specstep-{datetime.datetime.now():%Y%m%d-%H%M%S}.msgpack"
        hint = f"Save the {len(session.source)} rounds made so far as a trace; escape leaves it."
        self.host.ask("file", hint, name, self._write)

    def _write(self, name: str) -> None:
        session = self.host.session
        if session is None:
            return
        path = Path(name.strip()).expanduser()
        if path.exists():
            raise SpecstepError(f"{path} is there already: give another name")
        save(session.source, path)
        self.host.say(f"saved {len(session.source)} rounds in {path}")
