"""Whatever a trace holds, as text or as names, nothing of it steers the terminal, and every row has its width."""

from dataclasses import dataclass

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from engine.records import BaseInfo, DrafterInfo, End, Event, Round
from tests.tui.runs import Listed, drafted, plain
from tests.tui.screens import Screen, running
from tests.tui.test_text import steers
from tui import layout
from tui.lines import width_of
from tui.marks import ASCII, UNICODE, Marks
from tui.moment import Moment, Phase
from tui.session import Session

SIGNS = "\x1b[31m\x9b\u202e\x07[bold]日本\u200d👩\u0301\u0301\u0301\u0301[/bold]\r\n\x00\u2028\ufeff\x1b]52;c;aGk=\x07"
PIECES = (
    b"\x1b[31mred",
    b"\xe2\x82",
    b"\xac",
    "\u202egnp".encode(),
    b"[bold]x[/]",
    "👩\u200d👧".encode(),
    b"",
    b"\xff\xfe",
    b"\x9b31m\r\n",
    b"a" * 900,
)
SCREENS = (
    "d",
    "i",
    "O",
    "X",
    "v",
    "b",
    "B",
    "L",
    "o",
    "slash",
    "m",
    "apostrophe",
    "g",
    "w",
    "equals_sign",
    "6",
    "colon",
)
"""Keys that show something else, each left by escape."""


@dataclass(frozen=True)
class Wild:
    """What a trace may hold: names, and the bytes of ten tokens."""

    name: str
    pieces: tuple[bytes, ...]

    def source(self) -> Listed:
        rounds = [self._round(i) for i in range(10)]
        events = [Event(round=i, level=level, code=self.name, message=self.name) for i, level in self._levels()]
        listed = Listed(rounds, pieces=dict(enumerate(self.pieces)), prompt=range(10), events=events)
        listed.header = msgspec.structs.replace(
            listed.header,
            base=BaseInfo(name=self.name, vocab_size=100, dtype=self.name, sha256=self.name),
            drafter=DrafterInfo(kind=self.name, name=self.name),
            options={**listed.header.options, "form": self.name, self.name: self.name},
            device={"provider": self.name, "requested": [self.name], "placement": {self.name: 3}, "name": self.name},
            run={self.name: self.name, "model": {"layout": self.name, "kind": self.name}},
            writer={"name": self.name},
            created=self.name,
        )
        listed.end = End(reason=self.name)
        return listed

    def _levels(self) -> list[tuple[int | None, str]]:
        return [(0, "info"), (1, "warning"), (2, "fault"), (None, "warning")]

    def _round(self, i: int) -> Round:
        if i == 4:
            return plain(i, reason=self.name, form=self.name, t1=i, emitted=(i,))
        take, drafts = i % 5, tuple((i + j + 1) % 10 for j in range(4))
        targets = (*drafts[:take], *((i + j + 7) % 10 for j in range(5 - take)))
        return drafted(
            i,
            take,
            form=self.name if i % 3 == 0 else "one-pass",
            cut=self.name if i % 4 == 1 else None,
            t1=i,
            drafts=drafts,
            targets=targets,
            emitted=(i, *drafts[:take]),
            next=targets[take],
            gap=(0.01,) * 5,
            top=tuple(((token, 1.0), (0, 0.5)) for token in targets),
            draft_top=tuple(((token, 1.0), (0, 0.5)) for token in drafts),
            ms={"draft": 1.0, self.name: 2.0},
            state={self.name: self.name, "kv_len": 3},
        )


WILD = Wild(SIGNS, PIECES)


@given(
    name=st.text(max_size=12),
    pieces=st.tuples(*[st.binary(max_size=6) | st.text(max_size=4).map(lambda t: t.encode(errors="replace"))] * 10),
    at=st.integers(0, 9),
    phase=st.sampled_from(Phase),
    width=st.integers(20, 90),
    marks=st.sampled_from([UNICODE, ASCII]),
)
def test_no_pane_lets_out_what_steers_and_none_is_wider_than_it_claims(
    name: str, pieces: tuple[bytes, ...], at: int, phase: Phase, width: int, marks: Marks
) -> None:
    session = Session(Wild(name, pieces).source())
    session.series.take_in(10)
    session.moment = Moment(at, phase)

    for painter in layout.PAINTERS:
        for line in painter(session, marks, width, 12):
            text = "".join(span.text for span in line)
            assert not steers(text)
            assert cell_len(text) == width_of(line)
            assert not marks.plain_text or text.isascii()


@pytest.mark.parametrize("marks", [UNICODE, ASCII], ids=["unicode", "ascii"])
@pytest.mark.parametrize("size", [(150, 40), (80, 24), (40, 12)], ids=str)
async def test_no_screen_does(size: tuple[int, int], marks: Marks) -> None:
    async with running(WILD.source(), size, marks) as screen:
        for keys in ((), ("s",), ("s", "s", "s"), ("n",), ("e",)):
            await screen.press(*keys)
            check(screen, size[0], marks)
        for key in SCREENS:
            await screen.press(key)
            check(screen, size[0], marks)
            await screen.press("escape", "escape")


def check(screen: Screen, width: int, marks: Marks) -> None:
    for line in screen.lines:
        assert not steers(line)
        assert cell_len(line) == width
        assert not marks.plain_text or line.isascii()
