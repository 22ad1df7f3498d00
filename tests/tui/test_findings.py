"""The audit behind the screen: it runs by itself, and its findings are where one looks for them."""

from pathlib import Path

import pytest

import recordings
from engine.errors import TraceError
from engine.records import Round
from engine.trace.audit import Report, report
from engine.trace.reader import open_trace
from engine.trace.writer import TraceWriter
from tests.trace.clean import Toy, clean_trace
from tests.tui.runs import Listed, drafted, finished, live
from tests.tui.screens import Screen, running
from tests.tui.test_panes import at, shown
from tui.auditing import Auditing, audit_file
from tui.findings import Found
from tui.marks import ASCII, UNICODE
from tui.panes import findings, rounds
from tui.panes import round as round_pane
from tui.series import Fact

FOLDER = Path(recordings.__file__).parent
FAULTY = FOLDER / "faults" / "kv-off-by-one.msgpack"


def wrong_counts(at: int, total: int = 6) -> Listed:
    """Rounds of which one says that it consumed more than it emitted."""
    made, pos = [], 0
    for i in range(total):
        made.append(
            drafted(
                i, 1, pos=pos, consumed=pos + (9 if i == at else 2), t1=200 if i else 0, emitted=(200 if i else 0, 0)
            )
        )
        pos += 2
    return Listed(made)


async def audited(screen: Screen) -> None:
    await screen.until(lambda: screen.session.found.done or screen.session.found.broken)


def test_a_source_is_audited_as_far_as_it_has_grown() -> None:
    source = live()
    auditing = Auditing(source)
    assert auditing.go_on(100) == []
    assert not auditing.behind

    for _ in range(3):
        round_ = source.make()
        assert round_ is not None
        source.append(round_)
    assert auditing.behind
    auditing.go_on(2)
    assert auditing.rounds == 2
    auditing.go_on(2)
    assert (auditing.rounds, auditing.behind, auditing.done) == (3, False, False)

    finished(source)
    while auditing.behind:
        assert auditing.go_on(100) == []
    assert auditing.done


def test_a_file_is_audited_like_by_the_command_and_tells_on_the_way(tmp_path: Path) -> None:
    path = tmp_path / "long.msgpack"
    with TraceWriter(path) as writer:
        for record in clean_trace(Toy(max_tokens=2000)):
            writer.write(record)
    told: list[Report] = []
    audit_file(path, told.append, lambda: False)
    with open_trace(path) as trace:
        assert told[-1] == report(trace)
        assert [made.rounds for made in told[:-1]] == list(range(256, len(trace) + 1, 256))

    before = len(told)
    audit_file(path, told.append, lambda: True)
    assert len(told) == before


def test_findings_are_held_by_their_round() -> None:
    with open_trace(FAULTY) as trace:
        made = report(trace)
    found = Found()
    found.add(made.findings)

    assert found.told == f"{len(made.findings)} findings"
    assert {finding.rule for finding in found.at(0)} == {"A7", "A14"}
    assert found.at(9999) == ()
    found.choose(-5)
    assert found.chosen == 0
    found.choose(9999)
    assert found.chosen == len(made.findings) - 1


def test_the_list_follows_the_cursor() -> None:
    with open_trace(FAULTY) as trace:
        found = Found()
        found.add(report(trace).findings)
    found.follow(4)
    assert found.all[found.chosen].round == 4
    assert found.all[found.chosen - 1].round == 3
    found.choose(1)
    found.follow(4)
    assert found.all[found.chosen - 1].round == 4
    found.follow(9999)
    assert found.all[found.chosen].round == 4


def test_the_pane_says_what_was_run_when_there_is_nothing() -> None:
    session = at(Listed([drafted(0, 1)]), 0)
    assert "18 rules are being run" in shown(findings.paint(session, UNICODE, 70, 5))

    session.found.done, session.found.rounds = True, 15
    assert shown(findings.paint(session, UNICODE, 70, 5)) == "no findings: 18 rules ran over 15 rounds"


def test_the_chosen_finding_is_told_in_full_and_kept_in_sight() -> None:
    session = at(Listed([drafted(i, 1) for i in range(20)]), 0)
    with open_trace(FAULTY) as trace:
        session.found.add(report(trace).findings)
    for _ in range(len(session.found.all)):
        painted = findings.paint(session, ASCII, 60, 8)
        text = shown(painted)
        words = session.found.all[session.found.chosen].message.split()
        assert " ".join(words) in " ".join(text.split())
        assert 8 <= len(painted) <= 9
        assert text.count("\n>") + text.startswith(">") == 1
        session.found.choose(1)


def test_a_finding_is_marked_in_its_round_and_in_the_timeline() -> None:
    session = at(wrong_counts(at=2), 2)
    auditing = Auditing(session.source)
    for finding in auditing.go_on(100):
        session.found.add([finding])
        if finding.round is not None:
            session.series.mark(finding.round, Fact.FINDING)

    assert "! A7: round 2" in shown(round_pane.paint(session, UNICODE, 100, 30))
    session.moment = at(wrong_counts(at=2), 0).moment
    assert "! A7" not in shown(round_pane.paint(session, UNICODE, 100, 30))
    signs = shown(rounds.paint(session, UNICODE, 60, 5)).splitlines()[-1]
    assert signs[4] == "!"
    assert session.series.next_event(0) == 2


async def test_a_trace_is_audited_while_it_is_shown_and_enter_goes_to_a_finding() -> None:
    with open_trace(FAULTY) as trace:
        async with running(trace, (80, 24)) as screen:
            await audited(screen)
            assert f"! {screen.session.found.told}" in screen.lines[0]
            await screen.press("6", "escape")
            assert "1/41 enter goes" in screen.text

            await screen.press("down", "down", "enter")
            finding = screen.session.found.all[2]
            assert screen.session.moment.index == finding.round == 1
            assert "finding 3 of 41" in screen.text

            await screen.press("2")
            assert "A7: round 1" in screen.text or "more" in screen.text


async def test_the_mouse_chooses_a_finding_and_a_second_click_goes_there() -> None:
    with open_trace(FAULTY) as trace:
        async with running(trace, (120, 40)) as screen:
            await audited(screen)
            row = next(y for y, line in enumerate(screen.lines) if "A14   round 0" in line)
            await screen.pilot.click(offset=(70, row))
            await screen.settle()
            assert screen.session.found.chosen == 1
            assert screen.main.active == 6

            screen.session.jump(3)
            row = next(y for y, line in enumerate(screen.lines) if "A14   round 0" in line)
            await screen.pilot.click(offset=(70, row))
            await screen.settle()
            assert screen.session.moment.index == 0


async def test_events_stop_at_findings() -> None:
    async with running(wrong_counts(at=4), (120, 40)) as screen:
        await audited(screen)
        await screen.press("e")

        assert screen.session.moment.index == 4
        assert "finding" in screen.lines[-2]


async def test_a_clean_run_says_so() -> None:
    async with running(finished(live()), (120, 40)) as screen:
        await audited(screen)
        assert "no findings: 18 rules ran" in " ".join(screen.text.split())
        assert "!" not in screen.lines[0]


async def test_a_live_run_is_audited_round_by_round() -> None:
    async with running(live(), (120, 40)) as screen:
        await screen.press("3", "n")
        assert screen.session.found.rounds == 3
        assert "no findings so far" in screen.text


async def test_a_round_that_cannot_be_read_ends_the_audit_with_the_reason() -> None:
    class Damaged(Listed):
        def round(self, index: int) -> Round:
            if index == 3:
                raise TraceError("run.msgpack: byte 812 is not a record", 812)
            return super().round(index)

    async with running(Damaged([drafted(i, 1) for i in range(6)]), (120, 40)) as screen:
        await audited(screen)
        assert "audited up to here only" in screen.session.found.broken


@pytest.mark.parametrize("size", [(200, 50), (140, 40), (100, 30)])
async def test_the_list_leaves_room_for_the_others(size: tuple[int, int]) -> None:
    with open_trace(FAULTY) as trace:
        async with running(trace, size) as screen:
            await audited(screen)
            heights = [screen.main.pane(number).size.height for number in range(1, 7)]
            assert min(heights[:4]) >= 6
            assert heights[5] >= 3
