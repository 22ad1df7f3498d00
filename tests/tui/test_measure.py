"""What is painted takes the cells that it claims, by another measure than the program's, whatever the bytes hold."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from wcwidth import wcswidth

import recordings
from engine.records import Event, Round
from engine.trace.audit.finding import Finding
from engine.trace.reader import open_trace
from tests.tui.runs import Listed, drafted, plain
from tests.tui.screens import running
from tests.tui.test_panes import PAINTERS, at
from tests.tui.test_text import steers
from tui.lines import fit, width_of
from tui.marks import ASCII, UNICODE, Marks
from tui.moment import Phase
from tui.panes import text as text_pane
from tui.search import Search, query
from tui.text import Joiner, cells_of

MARKS = pytest.mark.parametrize("marks", [UNICODE, ASCII], ids=["unicode", "ascii"])
HARD = (
    "e\u0301\u0302\u0303\u0304",
    "\u2764\ufe0f",
    "\U0001f468\u200d\U0001f469\u200d\U0001f467",
    "\U0001f44d\U0001f3fd",
    "\U0001f1eb\U0001f1f7",
    "1\ufe0f\u20e3",
    "\u1112\u1161\u11ab",
    "\u0939\u093f\u0928\u094d\u0926\u0940",
    "\u0e01\u0e33\u0e48",
    "\u2630\u4dc0",
    "日本語\u3000",
    "\u202e[bold]x[/]\u2069",
    "\x1b]52;c;AAAA\x07\x9b2J\r\n\t\x00\x7f",
    "\U000e0041\U000e0100\ufeff\u2028\ufff9\ue000\ufdd0",
)
BYTES = (
    st.binary(max_size=6)
    | st.sampled_from([text.encode() for text in HARD])
    | st.sampled_from([text.encode()[1:] for text in HARD])
    | st.text(max_size=5).map(lambda text: text.encode(errors="surrogatepass"))
)


@MARKS
@pytest.mark.parametrize("planes", [range(0x3_0000), range(0xD_F000, 0x11_0000, 7)], ids=["used", "last"])
def test_every_character_there_is_takes_the_cells_that_its_cell_says(marks: Marks, planes: range) -> None:
    for code in planes:
        for cell in cells_of(f"a{chr(code)}", marks):
            assert cell.newline or wcswidth(cell.text) == cell.width > 0, hex(code)


@MARKS
@given(st.lists(BYTES, max_size=12))
def test_characters_take_no_other_room_side_by_side(marks: Marks, pieces: list[bytes]) -> None:
    joiner = Joiner(marks)
    cells = [cell for i, piece in enumerate(pieces) for cell in joiner.feed(i, piece).cells]
    cells += joiner.rest()

    assert wcswidth("".join(cell.text for cell in cells)) == sum(cell.width for cell in cells)


@MARKS
@pytest.mark.parametrize("name", PAINTERS)
@settings(max_examples=20, deadline=None)
@given(pieces=st.lists(BYTES, min_size=8, max_size=8), phase=st.sampled_from(Phase), width=st.integers(20, 130))
def test_every_painted_row_takes_the_cells_that_it_claims(
    name: str, marks: Marks, pieces: list[bytes], phase: Phase, width: int
) -> None:
    session = at(hostile(pieces), 1, phase)
    words = b"".join(pieces).decode(errors="surrogateescape")
    session.found.add([Finding("A1", each, "pos", words, words, words) for each in (1, 1, None)])
    session.bookmarks.set(1, words)
    session.search = Search(query(words or "x"), session.source.piece)
    session.search.feed([session.round(index) for index in range(4)])
    for line in PAINTERS[name](session, marks, width, 12):
        cut = fit(line, width, marks)
        text = "".join(span.text for span in cut)
        assert wcswidth(text) == width_of(cut) <= width
        assert not steers(text)
    assert wcswidth(text_pane.note(session, marks)) >= 0


@MARKS
@pytest.mark.parametrize("size", [(200, 50), (140, 40), (100, 30), (80, 24), (40, 12)])
async def test_on_the_screen_every_row_is_as_wide_as_the_terminal(size: tuple[int, int], marks: Marks) -> None:
    source = hostile([text.encode() for text in HARD])
    async with running(source, size, marks) as screen:
        for _ in range(6):
            await screen.press("s", "tab")
            assert [wcswidth(line) for line in screen.lines] == [size[0]] * size[1]
            assert not any(steers(line) for line in screen.lines)


async def test_a_character_of_which_half_is_rejected_leaves_its_neighbours_whole() -> None:
    with open_trace(Path(recordings.__file__).parent / "faults" / "split-character.msgpack") as trace:
        async with running(trace, (120, 40)) as screen:
            await screen.press("5", "g")
            assert "→ca✓ ca✓f✓‹C3›✗è→é" in screen.text
            assert "‹A8›" in screen.text
            assert [wcswidth(line) for line in screen.lines] == [120] * 40

            await screen.press("n")
            assert "ca caf→é✓ d✓‹C3›✗è·j→é" in screen.text

            await screen.press("n")
            assert "ca café d→é✓j✓✓à✓ v" in screen.text
            assert [wcswidth(line) for line in screen.lines] == [120] * 40


def hostile(pieces: list[bytes]) -> Listed:
    """A trace whose tokens, names and messages are these bytes."""
    words = b"".join(pieces).decode(errors="surrogateescape")
    count = len(pieces)

    def made(index: int, take: int) -> Round:
        ids = [(index + i) % count for i in range(6)]
        return drafted(
            index,
            take,
            t1=ids[0],
            drafts=tuple(ids[1:5]),
            targets=tuple(ids[1:6]),
            emitted=tuple(ids[: take + 1]),
            next=ids[5],
            draft_p=(0.5,) * 4,
            target_p=(0.5,) * 5,
            gap=(0.01,) * 5,
            top=(((ids[0], 1.0), (ids[1], 0.5)),) * 5,
            draft_top=(((ids[1], 1.0), (ids[2], 0.5)),) * 4,
            state={words: 3},
        )

    rounds = [made(0, 4), made(1, 1), made(2, 0), plain(3, reason=words, t1=3, emitted=(3,), next=4)]
    events = [Event(round=1, level="warning", message=words)]
    return Listed(rounds, pieces=dict(enumerate(pieces)), prompt=range(count), events=events)
