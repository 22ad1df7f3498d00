"""What the panes paint: exact words where they matter, safe and in measure whatever the trace holds."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.records import Event, Round
from tests.tui.runs import Listed, drafted, finished, live, plain, sunk
from tests.tui.test_text import steers
from tui import status
from tui.lines import Line, width_of
from tui.live import LiveSource
from tui.marks import ASCII, UNICODE, Marks, Role
from tui.moment import Moment, Phase
from tui.panes import cost, fallback, findings, rounds, text
from tui.panes import round as round_pane
from tui.panes.pane import Painter
from tui.series import Fact
from tui.session import Session

PAINTERS: dict[str, Painter] = {
    "text": text.paint,
    "round": round_pane.paint,
    "fallback": fallback.paint,
    "cost": cost.paint,
    "rounds": rounds.paint,
    "findings": findings.paint,
}
SIZES = ((38, 7), (58, 16), (78, 17), (60, 30))


def at(source: Listed | LiveSource, index: int, phase: Phase = Phase.COMMIT) -> Session:
    session = Session(source)
    session.series.take_in(len(source))
    session.moment = Moment(index, phase)
    return session


def shown(lines: list[Line]) -> str:
    return "\n".join("".join(span.text for span in line).rstrip() for line in lines)


def role_of(lines: list[Line], words: str) -> Role:
    return next(span.role for line in lines for span in line if words in span.text)


TOKENS = st.binary(max_size=6) | st.sampled_from((b"\x1b[2J", "\u202e".encode(), "日".encode(), b"[b]", b"\n", b"\xe2"))


@pytest.mark.parametrize("marks", [UNICODE, ASCII], ids=["unicode", "ascii"])
@pytest.mark.parametrize("name", PAINTERS)
@settings(max_examples=25, deadline=None)
@given(pieces=st.lists(TOKENS, min_size=6, max_size=6), words=st.text(max_size=12), phase=st.sampled_from(Phase))
def test_whatever_a_trace_holds_it_is_painted_safely(
    name: str, marks: Marks, pieces: list[bytes], words: str, phase: Phase
) -> None:
    made = [
        drafted(0, 1, state={words: words}, ms={words: 1.0}, cut=words, top=(((1, 1.0),),) * 5),
        plain(1, reason=words),
    ]
    source = Listed(
        made,
        pieces={**dict(enumerate(pieces)), 100: pieces[0], 200: pieces[1]},
        prompt=range(6),
        events=[Event(round=0, level="warning", message=words)],
    )
    for width, height in SIZES:
        for index in (0, 1):
            session = at(source, index, phase if index == 0 else Phase.COMMIT)
            lines = PAINTERS[name](session, marks, width, height)
            assert not any(steers(span.text) for line in lines for span in line)
            if marks.plain_text:
                assert all(span.text.isascii() for line in lines for span in line)


@pytest.mark.parametrize("width", [38, 44, 58, 78, 120])
@pytest.mark.parametrize("name", [*PAINTERS])
def test_no_line_is_wider_than_the_pane(name: str, width: int) -> None:
    source = finished(live())
    for index in range(0, len(source), 3):
        for phase in Phase:
            lines = PAINTERS[name](at(source, index, phase), UNICODE, width, 16)
            assert max(map(width_of, lines)) <= width


def test_a_rejection_shows_the_draft_beside_what_the_base_chose() -> None:
    round_ = drafted(
        0,
        1,
        3,
        targets=(0, 201, 202, 203),
        draft_p=(0.91, 0.4, 0.3),
        target_p=(0.97, 0.62, 0.5, 0.5),
        gap=(4.2, 0.05, 1.0, 1.0),
    )
    source = Listed([round_], pieces={0: b" sum", 1: b"[", 2: b"x", 100: b" total", 200: b" =", 201: b"("})
    lines = round_pane.paint(at(source, 0), UNICODE, 58, 20)

    assert shown(lines[1:8]) == "\n".join(
        (
            '1 of 3 drafts accepted, then the base chose "(" over "[":',
            "2 tokens out of one pass.",
            "",
            "   pos drafted      id    p   base         id    p   gap",
            "→   10 ␣total      100        carried from the prompt",
            "✓   11 ␣sum          0  .91   ␣sum          0  .97   4.2",
            "✗   12 [             1  .40   (           201  .62  0.05≈",
        )
    )


def test_each_phase_shows_only_what_is_known_then() -> None:
    round_ = drafted(0, 1, 3, target_p=(0.97, 0.62, 0.5, 0.5))
    source = Listed([round_])

    drafting = shown(round_pane.paint(at(source, 0, Phase.DRAFT), UNICODE, 78, 20))
    assert "not asked yet" in drafting
    assert "␣t200" not in drafting
    assert "verify 3.00" not in drafting

    verifying = shown(round_pane.paint(at(source, 0, Phase.VERIFY), UNICODE, 78, 20))
    assert "␣t200" in verifying
    assert "verify 3.00" in verifying
    assert UNICODE.accepted not in verifying
    assert UNICODE.rejected not in verifying

    accepting = shown(round_pane.paint(at(source, 0, Phase.ACCEPT), UNICODE, 78, 20))
    assert UNICODE.accepted in accepting
    assert UNICODE.rejected in accepting
    assert "next round" not in accepting

    assert "next round" in shown(round_pane.paint(at(source, 0), UNICODE, 78, 20))


def test_the_text_holds_the_drafts_in_their_place_with_their_verdicts() -> None:
    source = Listed([drafted(0, 4), drafted(1, 1, 3)], prompt=(7, 8))

    assert shown(text.paint(at(source, 1), UNICODE, 78, 5)) == " t7 t8 t100 t0 t1 t2 t3→ t100✓ t0✗ t1· t2"
    assert shown(text.paint(at(source, 1, Phase.DRAFT), UNICODE, 78, 5)) == " t7 t8 t100 t0 t1 t2 t3→ t100· t0· t1· t2"


def test_the_text_shows_the_next_token_while_more_can_come() -> None:
    source = Listed([drafted(0, 1, 2), drafted(1, 0)])

    assert shown(text.paint(at(source, 0), UNICODE, 78, 5)).endswith("✗ t1→ t200")


def test_how_a_token_came_is_seen_without_colour() -> None:
    source = Listed([drafted(0, 2), plain(1), plain(2), plain(3)])
    lines = text.paint(at(source, 3), UNICODE, 78, 5)

    assert role_of(lines, "t0") is Role.HISTORY
    assert shown(lines).count(UNICODE.plain) == 2


def test_a_long_text_is_painted_from_nearby_only() -> None:
    asked: list[int] = []

    class Watched(Listed):
        def round(self, index: int) -> Round:
            asked.append(index)
            return super().round(index)

    session = Session(Watched([drafted(i, 3) for i in range(5000)]))
    session.moment = Moment(4000)

    lines = text.paint(session, UNICODE, 60, 20)

    assert len(lines) >= 20
    assert min(asked) > 3500


def test_lines_of_the_text_stay_where_they_are_from_round_to_round() -> None:
    source = Listed([drafted(i, 3) for i in range(400)])
    before, after = (text.paint(at(source, index), UNICODE, 60, 12) for index in (300, 301))

    assert before[:-4] == after[: len(before) - 4]


def test_the_fallback_says_where_drafting_was_given_up() -> None:
    lines = fallback.paint(at(sunk(), 5), UNICODE, 44, 14)

    assert "▲ flip after round 3  the mean was below 2" in shown(lines)
    assert "window 1 1 1 (3 rounds)  mean 1.00" in shown(lines)
    assert role_of(lines, UNICODE.flip) is Role.FLIP
    assert role_of(lines, " 2.0┤") is Role.BAR


@pytest.mark.parametrize(("width", "says"), [(24, "+24"), (34, "+24"), (40, "24 more plain"), (90, "24 more plain")])
def test_plain_rounds_that_are_not_plotted_are_counted_and_the_cursor_stands_after_the_curve(
    width: int, says: str
) -> None:
    source = Listed([*(drafted(i, 0) for i in range(12)), *(plain(i) for i in range(12, 40))], below=2.0)
    axis = next(line for line in shown(fallback.paint(at(source, 39), UNICODE, width, 14)).splitlines() if "└" in line)
    assert axis.rstrip().endswith(f"▸^ {says}")


@pytest.mark.parametrize("width", range(12, 60))
def test_the_curve_ends_over_the_last_drafted_round_at_any_width(width: int) -> None:
    source = Listed([*(drafted(i, 2) for i in range(30)), *(plain(i) for i in range(30, 50))], below=2.0)
    lines = shown(fallback.paint(at(source, 0), UNICODE, width, 14)).splitlines()
    axis = next(line for line in lines if "└" in line)
    assert abs(len(lines[0]) - axis.index("▲")) <= 1


@pytest.mark.parametrize(
    ("takes", "says"),
    [
        ((0, 0), "there is no verdict on fewer than 3 rounds"),
        ((3, 0, 2), "the mean has not sunk below 1.8"),
        ((0, 0, 0, 0), "though the mean is below 1.8"),
    ],
)
def test_the_fallback_says_why_drafting_goes_on(takes: tuple[int, ...], says: str) -> None:
    source = Listed([drafted(i, take) for i, take in enumerate(takes)], below=1.8, reason=None)
    lines = shown(fallback.paint(at(source, len(takes) - 1), UNICODE, 60, 14))
    assert f"drafting  {says}" in lines


def test_the_fallback_is_that_of_the_cursor_not_of_the_end() -> None:
    lines = shown(fallback.paint(at(sunk(), 1), UNICODE, 60, 14))

    assert "window 4 1 (2 of 3 rounds)  mean 2.50" in lines
    assert "the flip comes after round 3" in lines


def test_an_unfinished_live_round_is_not_given_away() -> None:
    source = live(takes=(5,))
    for _ in range(2):
        round_ = source.make()
        assert round_ is not None
        source.append(round_)
    whole = shown(rounds.paint(at(source, 1), UNICODE, 40, 3))
    inside = shown(rounds.paint(at(source, 1, Phase.VERIFY), UNICODE, 40, 3))

    assert whole.splitlines()[0].split() == ["█", "█"]
    assert inside.splitlines()[-2].split() == ["█", "·"]


def test_the_cost_holds_medians_of_drafted_and_plain_rounds_beside_this_one() -> None:
    source = Listed([drafted(0, 1), drafted(1, 1, ms={"draft": 9.0, "verify": 9.0}), drafted(2, 1), plain(3)])
    lines = shown(cost.paint(at(source, 1), UNICODE, 60, 20)).splitlines()

    assert [line.split()[-3:] for line in lines[1:5]] == [
        ["1.00", "–", "9.00"],
        ["–", "2.00", "–"],
        ["3.00", "–", "9.00"],
        ["4.00", "2.00", "18.0"],
    ]


@pytest.mark.parametrize("name", PAINTERS)
def test_an_empty_pane_says_why(name: str) -> None:
    empty = Listed([], reason=None)
    empty.prefill = None
    painted = shown(PAINTERS[name](at(empty, -1), UNICODE, 60, 10))

    assert len(painted) > 20


def test_a_trace_of_counts_has_no_tokens_but_a_screen() -> None:
    counts = [Round(index=i, form="one-pass", n_drafts=4, take=i % 4, n_emitted=i % 4 + 1) for i in range(6)]
    session = at(Listed(counts), 3)

    assert "counts only" in shown(round_pane.paint(session, UNICODE, 60, 20))
    assert "no times" in shown(cost.paint(session, UNICODE, 60, 20))
    for painter in PAINTERS.values():
        assert painter(session, UNICODE, 60, 20)


def test_the_timeline_goes_where_one_points() -> None:
    few, many = at(sunk(), 0), at(Listed([drafted(i, 1) for i in range(1000)]), 500)

    assert [rounds.round_at(few, x, 0, 40, 3) for x in (0, 1, 2, 10, 11, 12)] == [0, 0, 1, 5, 5, None]
    start, stop = rounds.shown(many, 40)
    assert rounds.round_at(many, 39, 0, 40, 3) == stop - 1 == start + 39
    assert rounds.round_at(many, 20, 2, 40, 3) == 500


@pytest.mark.parametrize(
    ("session", "says"),
    [
        (at(sunk(), 5), "end of trace  max_tokens is reached"),
        (at(Listed([drafted(0, 1)], reason="stop"), 0), "end of trace  a stop token came"),
        (at(Listed([drafted(0, 1)], reason="unknown"), 0), "end of trace  its log does not say why the run ended"),
        (at(Listed([drafted(0, 1)], reason=None), 0), "end of trace  it has no end record"),
        (
            at(Listed([drafted(0, 1)], reason="fault", events=[Event(round=0, level="fault", message="NaN")]), 0),
            "fault  NaN",
        ),
        (at(sunk(), 0), "paused  at the first round"),
        (at(sunk(), 1), "paused  all drafts rejected"),
        (at(sunk(), 2, Phase.VERIFY), "paused  inside the round"),
        (at(live(), -1), "paused  at the start: n makes a round"),
    ],
)
def test_it_always_says_why_it_stands_still(session: Session, says: str) -> None:
    line = status.why(session, "", UNICODE, 80)

    assert says in "".join(span.text for span in line)
    assert UNICODE.ellipsis not in line[-1].text


@pytest.mark.parametrize("width", [40, 60, 80, 120])
def test_the_header_never_cuts_the_place_in_the_run(width: int) -> None:
    line = "".join(span.text for span in status.header(at(finished(live()), 7), UNICODE, width))

    assert len(line) == width
    assert "round 7/" in line
    assert " s " in line[-4:]


def test_a_word_of_the_header_is_left_out_before_it_is_cut() -> None:
    session = at(finished(live()), 7)
    for width in range(60, 140):
        assert UNICODE.ellipsis not in "".join(span.text for span in status.header(session, UNICODE, width))


@pytest.mark.parametrize("name", PAINTERS)
@pytest.mark.parametrize("index", [60, 99])
def test_a_round_that_is_shown_before_the_whole_run_was_read_is_painted(name: str, index: int) -> None:
    session = Session(Listed([drafted(i, i % 5) for i in range(100)]))
    session.series.take_in(10)
    session.go(str(index))

    assert session.moment.index == index
    assert shown(PAINTERS[name](session, UNICODE, 60, 20))
    assert "reading 10%" in "".join(span.text for span in status.header(session, UNICODE, 100))


def test_the_overview_of_a_long_run_shows_the_flip_and_a_finding_wherever_they_are() -> None:
    rounds_ = [drafted(i, i % 3) for i in range(500)] + [plain(500 + i) for i in range(100)]
    session = at(Listed(rounds_), 10)
    session.series.mark(321, Fact.FINDING)

    overview = shown(rounds.paint(session, UNICODE, 60, 5)).splitlines()[-1]
    assert overview.index("!") == 32
    assert overview.index("▲") == 50
    assert overview.count("!") == overview.count("▲") == 1


@pytest.mark.parametrize(
    ("phase", "says", "hides"),
    [
        (Phase.DRAFT, ("held    10 positions",), ("walk", "kept", "after them")),
        (Phase.VERIFY, ("held    10 → 14 positions, 4 of them not yet kept", "after them"), ("walk", "rolled")),
        (Phase.ACCEPT, ("walk    1 ✓  2 ✗  stops, 1 not looked at", "not needed"), ("rolled",)),
        (Phase.COMMIT, ("held    10 → 12 positions  kept 10-11  rolled back 12-13",), ("walk", "not yet")),
    ],
)
def test_a_step_into_a_round_says_what_is_held_compared_kept_and_rolled_back(
    phase: Phase, says: tuple[str, ...], hides: tuple[str, ...]
) -> None:
    painted = shown(round_pane.paint(at(Listed([drafted(0, 1, 3)]), 0, phase), UNICODE, 78, 30))
    assert all(words in painted for words in says)
    assert not any(words in painted for words in hides)


def test_a_round_that_is_all_right_rolls_nothing_back_and_the_row_behind_decides() -> None:
    source = Listed([drafted(0, 3, 3)])
    accepting = shown(round_pane.paint(at(source, 0, Phase.ACCEPT), UNICODE, 78, 30))
    assert "walk    1 ✓  2 ✓  3 ✓  to the end" in accepting
    assert "␣t200" in next(line for line in accepting.splitlines() if "after them" in line)
    assert "rolled back nothing" in shown(round_pane.paint(at(source, 0), UNICODE, 78, 30))
