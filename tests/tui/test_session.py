"""The cursor over the rounds: steps, phases, counts, events, playing, and rounds that are still to be made."""

import pytest

from engine.records import Event
from tests.tui.runs import Listed, drafted, finished, live, plain, sunk
from tui.goto import NoSuchPlace
from tui.live import LiveSource
from tui.moment import START, Moment, Phase
from tui.session import Session


def opened(source: Listed | LiveSource) -> Session:
    session = Session(source)
    session.series.take_in(len(source))
    return session


def serve(session: Session) -> int:
    """Make rounds as long as some are owed, as the screen does; how many were asked for."""
    source, asked = session.source, 0
    assert isinstance(source, LiveSource)
    while session.owed or source.spent:
        asked += 1
        round_ = source.make()
        if round_ is None:
            source.finish()
        else:
            source.append(round_)
        session.arrived()
    return asked


def test_a_trace_opens_at_its_first_round_and_a_live_run_before_it() -> None:
    assert opened(sunk()).moment == Moment(0)
    assert opened(live()).moment == START


def test_forward_and_back_stop_at_the_ends() -> None:
    session = opened(sunk())

    session.forward(100)
    assert session.moment == Moment(5)
    assert session.at_end
    session.back(2)
    assert session.moment == Moment(3)
    session.back(100)
    assert session.moment == Moment(0)
    assert session.note == ""
    session.back()
    assert session.note == "this is the first round"


def test_a_step_into_goes_phase_by_phase_and_out_goes_the_same_way_back() -> None:
    session = opened(Listed([drafted(0, 1), plain(1), plain(2, "zero-draft")]))
    way = [session.moment]
    for _ in range(5):
        session.into()
        way.append(session.moment)

    assert way == [
        Moment(0),
        Moment(1, Phase.VERIFY),
        Moment(1),
        Moment(2, Phase.DRAFT),
        Moment(2, Phase.VERIFY),
        Moment(2),
    ]
    for moment in reversed(way[:-1]):
        session.out()
        assert session.moment == moment
    for phase in (Phase.ACCEPT, Phase.VERIFY, Phase.DRAFT):
        session.out()
        assert session.moment == Moment(0, phase)
    session.out()
    assert session.moment == Moment(0, Phase.DRAFT)
    assert session.note


def test_forward_inside_a_round_goes_to_its_end() -> None:
    session = opened(Listed([drafted(i, 1) for i in range(3)]))
    session.into()

    session.forward()

    assert session.moment == Moment(1)


def test_what_is_settled_ends_before_the_round_one_is_inside_of() -> None:
    session = opened(Listed([drafted(i, 1) for i in range(3)]))
    session.forward()
    session.into()

    assert (session.moment.index, session.settled) == (2, 1)


def test_a_count_is_used_once_and_has_no_leading_zero() -> None:
    session = opened(sunk())
    for digit in "025":
        session.digit(digit)

    assert session.take_count() == 25
    assert session.take_count() is None


def test_a_count_does_not_grow_for_ever() -> None:
    session = opened(sunk())
    for digit in "1234567890" * 3:
        session.digit(digit)

    assert len(session.count) <= 6


def test_a_step_past_the_last_round_of_a_live_run_is_owed_and_paid_when_it_arrives() -> None:
    session = opened(live())

    session.forward()
    assert (session.moment, session.owed) == (START, 1)
    assert serve(session) == 1
    assert (session.moment, session.owed) == (Moment(0), 0)

    session.forward(4)
    assert session.owed == 4
    serve(session)
    assert session.moment == Moment(4)


def test_only_what_is_missing_is_made() -> None:
    session = opened(live())
    session.forward(5)
    serve(session)
    session.back(3)

    session.forward(5)

    assert session.moment == Moment(4)
    assert session.owed == 2


def test_a_step_into_a_round_that_is_not_made_yet_shows_its_first_phase() -> None:
    session = opened(live())

    session.into()
    serve(session)

    assert session.moment == Moment(0, Phase.DRAFT)
    assert session.revealed == 0
    session.into()
    assert session.owed == 0


def test_a_live_run_ends_with_its_last_round_and_owes_nothing_more() -> None:
    session = opened(live(max_tokens=12))

    session.forward(100)
    serve(session)

    assert session.ended
    assert session.at_end
    assert session.owed == 0
    assert session.source.end is not None
    assert session.source.end.reason == "max_tokens"


def test_an_interrupt_drops_what_is_owed_and_says_so() -> None:
    session = opened(live())
    session.forward(50)

    session.interrupt()

    assert session.owed == 0
    assert session.note == "interrupted"


def test_going_back_drops_what_is_owed() -> None:
    session = opened(live())
    session.forward(3)
    serve(session)
    session.forward(50)

    session.back()

    assert session.owed == 0
    assert session.moment == Moment(1)


def test_events_are_walked_in_both_directions() -> None:
    session = opened(sunk())

    session.event(1)
    assert session.moment == Moment(1)
    assert session.here() == "all drafts rejected"
    session.event(1)
    session.event(1)
    assert session.moment == Moment(3)
    assert "flip" in session.here()
    assert not session.event(1)
    assert session.moment == Moment(3)
    assert session.note == "no event after this round"
    session.event(-1)
    assert session.moment == Moment(2)


def test_messages_belong_to_their_round() -> None:
    said = Event(round=1, level="warning", message="odd")
    session = opened(Listed([drafted(0, 1), drafted(1, 1)], events=[said]))

    assert session.messages(1) == (said,)
    assert session.messages(0) == ()


def test_playing_goes_on_round_by_round_and_stops_at_the_end() -> None:
    session = opened(sunk())
    session.play()
    for _ in range(20):
        session.tick()

    assert session.at_end
    assert not session.playing
    session.play()
    assert not session.playing


def test_playing_a_live_run_never_asks_for_more_than_one_round_at_a_time() -> None:
    session = opened(live())
    session.play()

    session.tick()
    session.tick()

    assert session.owed == 1


def test_the_speed_has_a_floor_and_a_ceiling() -> None:
    session = opened(sunk())
    session.faster(-100)
    assert session.speed == 1
    assert session.note == "1 round a second is the least"
    session.faster(100)
    assert session.speed == 64
    assert session.note == "64 rounds a second is the most"
    session.faster(-1)
    assert session.note == "32 rounds a second when space runs it"


def test_before_the_first_round_there_is_nothing_to_go_back_from() -> None:
    session = Session(live())
    for go in (session.back, session.out):
        session.note = ""
        go()
        assert session.note == "there is no round yet to go back from"


@pytest.mark.parametrize(
    ("text", "index"),
    [
        ("4", 4),
        (" tok 4", 1),
        ("token 0", 0),
        ("t 0", 0),
        ("t 0.009 s", 2),
        ("50%", 2),
        ("100 %", 5),
        ("0%", 0),
        ("FLIP", 3),
        ("start", 0),
        ("end", 5),
    ],
)
def test_places_are_found(text: str, index: int) -> None:
    session = opened(sunk())

    session.go(text)

    assert session.moment == Moment(index)


@pytest.mark.parametrize("text", ["6", "tok 9", "t 9", "101%", "nowhere", "-1", "1.5", "flip 2"])
def test_places_that_are_not_there_are_refused_and_the_cursor_stays(text: str) -> None:
    session = opened(sunk())
    session.forward(2)

    with pytest.raises(NoSuchPlace):
        session.go(text)
    assert session.moment == Moment(2)


def test_no_flip_is_said_to_be_none() -> None:
    with pytest.raises(NoSuchPlace, match="no flip"):
        opened(Listed([drafted(0, 1)])).go("flip")


def test_a_finished_live_run_can_be_walked_again() -> None:
    session = opened(finished(live()))

    session.jump(0)
    session.forward(3)

    assert session.moment == Moment(3)
    assert session.owed == 0
